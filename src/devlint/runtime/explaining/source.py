"""The source text of the function that a frame runs: the failing expression, its statements."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from types import CodeType

from devlint.runtime.explaining.definitions import definition_of, parsed
from devlint.runtime.explaining.stack import Spot

TO_DEVICES = frozenset({"to", "cuda", "cpu", "xpu"})
"""Methods that are there to move a tensor or a module."""

MOVES = TO_DEVICES | {"type", "type_as"}
"""Methods after which a tensor may be elsewhere."""

MAKERS = frozenset(
    "arange as_tensor asarray bartlett_window blackman_window empty eye from_numpy full"
    " hamming_window hann_window kaiser_window linspace logspace ones rand randint randn randperm"
    " range scalar_tensor tensor tril_indices triu_indices zeros Tensor FloatTensor DoubleTensor"
    " HalfTensor LongTensor IntTensor BoolTensor".split()
)
"""Functions of torch that make a tensor on the CPU unless they are told another device."""

ELSEWHERE = MOVES | MAKERS | frozenset({"numpy", "load"})
"""Methods and functions whose result may be elsewhere than what they are given."""

_Span = tuple[int, int, int, int]
"""First and last line, first and last column in bytes."""


@dataclass(frozen=True)
class Source:
    """The text of the function that runs at a spot, or of the module."""

    spot: Spot

    @cached_property
    def tree(self) -> ast.Module | None:
        """With the lines of the file, and its columns."""
        return definition_of(self.spot.code)

    def text_of(self, node: ast.AST) -> str:
        """A part as it is written, on one line."""
        if (span := _span(node)) is not None:
            text = _cut(self.spot.file, span)
            if text:
                return " ".join(text.split())
        return ast.unparse(node)

    # --- what fails

    @cached_property
    def failing(self) -> ast.AST | None:
        """What was being evaluated: an expression from Python 3.11 on, before it the statement."""
        span = _position(self.spot)
        if span is None:
            return self._work_of_statement()
        if self.tree is None:
            return _parsed_alone(self.spot.file, span)
        return self._node_at(span)

    def _node_at(self, span: _Span) -> ast.AST | None:
        chained = None
        for node in self.nodes:
            found = _span(node)
            if found == span and not isinstance(node, ast.Expr):
                if isinstance(getattr(node, "ctx", None), ast.Store):
                    return self.statement  # the value is an operand as well as the target
                return node
            # Of a call in a chain over several lines Python tells no more than `name(...)`.
            if found is not None and found[1::2] == span[1::2] and isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute) and node.func.end_lineno == span[0]:
                    chained = node
        return chained

    def _work_of_statement(self) -> ast.AST | None:
        """A statement without what only hands on its value."""
        found = self.statement
        if isinstance(found, (ast.Return, ast.Expr)):
            return found.value
        if isinstance(found, ast.Assign) and isinstance(found.targets[0], (ast.Name, ast.Tuple)):
            return found.value
        return found

    @cached_property
    def statement(self) -> ast.stmt | None:
        """The innermost statement that the line of the spot is in."""
        return self.statement_at(self.spot.line)

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that a line is in."""
        found: ast.stmt | None = None
        for node in self.nodes:
            if isinstance(node, ast.stmt) and node.lineno <= line:
                if line <= (node.end_lineno or node.lineno):
                    if found is None or node.lineno >= found.lineno:
                        found = node
        return found

    @property
    def is_in_expression(self) -> bool:
        """Whether what fails is a part of something that a statement before it can't stand for."""
        if self.spot.code.co_name.startswith("<") and self.spot.code.co_name != "<module>":
            return True
        return any(
            isinstance(node, _EXPRESSION_SCOPES) and any(n is self.failing for n in ast.walk(node))
            for node in self.nodes
        )

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """All of the function, without those of the functions inside."""
        return [] if self.tree is None else _own_nodes(self.tree, self.spot.code)

    # --- what stands before

    def discarded_move(self, written: str) -> ast.Call | None:
        """The call above that moves the value so written, and whose result is thrown away."""
        found = None
        for node in self.nodes:
            if isinstance(node, ast.Expr) and node.lineno < self.spot.line:
                call = node.value
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    if call.func.attr in MOVES and self.text_of(call.func.value) == written:
                        found = call
        if found is None or self._is_bound_between(written, found.lineno):
            return None
        return found

    def _is_bound_between(self, written: str, line: int) -> bool:
        return any(
            isinstance(getattr(node, "ctx", None), ast.Store)
            and self.text_of(node) == written
            and line < getattr(node, "lineno", 0) < self.spot.line
            for node in self.nodes
        )


@lru_cache(maxsize=256)
def _own_nodes(tree: ast.AST, code: CodeType) -> Sequence[ast.AST]:
    """All nodes of a function, or of a module, without those of the functions inside."""
    waiting, found = [tree], list[ast.AST]()
    while waiting:
        node = waiting.pop()
        found.append(node)
        inner = isinstance(node, _FUNCTIONS) and not is_of(node, code)
        waiting += head(node) if inner else ast.iter_child_nodes(node)
    return found


_EXPRESSION_SCOPES = (
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.IfExp, ast.BoolOp
)  # fmt: skip
"""What runs its parts in other places, at other times, or not at all."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_of(node: ast.AST, code: CodeType) -> bool:
    """Whether a definition is the one that a code object was made from."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
        return False
    return code.co_firstlineno in (node.lineno, *(d.lineno for d in node.decorator_list))


def _span(node: ast.AST) -> _Span | None:
    if not isinstance(node, (ast.expr, ast.stmt)):
        return None
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _cut(file: str, span: _Span) -> str:
    """The text of a span, without its indentation."""
    first, last, start, end = span
    lines = [line.encode() for line in linecache.getlines(file)[first - 1 : last]]
    if len(lines) != last - first + 1:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b"".join(lines).decode(errors="replace")


def _position(spot: Spot) -> _Span | None:
    """What the instruction of a spot stands for."""
    positions = getattr(spot.code, "co_positions", None)  # from Python 3.11 on
    if positions is None or spot.instruction < 0:
        return None
    found = next(islice(positions(), spot.instruction // 2, None), None)
    if found is None:
        return None
    first, last, start, end = found
    if first is None or last is None or start is None or end is None:
        return None
    return first, last, start, end


def _parsed_alone(file: str, span: _Span) -> ast.AST | None:
    """The node of a span in a function that is too long to be parsed."""
    first, _, start, _ = span
    text = _cut(file, span)
    tree = parsed(f"({text})") if text else None
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    node = tree.body[0].value
    for part in ast.walk(node):
        if isinstance(part, (ast.expr, ast.keyword)):
            # The bracket stands before the first line only.
            if part.lineno == 1:
                part.col_offset += start - 1
            if part.end_lineno == 1 and part.end_col_offset is not None:
                part.end_col_offset += start - 1
    ast.increment_lineno(node, first - 1)
    return node


def parameters(code: CodeType) -> tuple[str, ...]:
    flags = code.co_flags
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[: count + bool(flags & 0x04) + bool(flags & 0x08)]


def binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, (ast.Store, ast.Del))
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return node.name == name
    return isinstance(node, ast.MatchMapping) and node.rest == name


def head(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node; of a compound statement those before the colon."""
    for field, value in ast.iter_fields(node):
        if field in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(value, list):
                continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part


def may_be_elsewhere(value: ast.AST) -> bool:
    """Whether an expression has a call in it that moves a tensor, or makes one anew."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ELSEWHERE | {"item", "tolist"} or any(
                k.arg == "device" for k in node.keywords
            ):
                return True
    return False
