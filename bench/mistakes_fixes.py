"""Does to a program what a fix says, as somebody would who has read it.

A fix is a line of Python behind some words: a statement that moves a value, a statement that takes
the place of another one, or an expression that is to stand where it stands now without its device.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Files = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A line of a program."""

    file: str
    line: int


_MOVES = ("to", "cpu", "cuda", "detach")
_SHOWN = re.compile(r"([\w./-]+\.py):(\d+)")


def places(texts: Sequence[str]) -> list[Place]:
    """The lines that some texts name, in order and once each."""
    found = (Place(m[1], int(m[2])) for text in texts for m in _SHOWN.finditer(text))
    return list(dict.fromkeys(found))


def code_of(fix: str) -> str:
    """What a fix has behind its words; empty where it's words only."""
    for start in [0, *(m.end() for m in re.finditer(r": ", fix))]:
        text = re.sub(r"  +\[DEV\d+\]$", "", fix[start:]).strip()
        told = _parsed(text) if text else None
        is_word = isinstance(told, ast.Expr) and isinstance(told.value, (ast.Name, ast.Constant))
        if told is not None and not is_word:
            return text
    return ""


def _parsed(text: str) -> ast.stmt | None:
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    if len(body) != 1 or isinstance(body[0], ast.AnnAssign):
        return None
    return body[0]


def is_same(told: str, expected: str) -> bool:
    """Whether a fix is one that was expected, or the piece of it that is to be changed.

    `...` stands for anything, on either side; all ways to name a device count as one, and so do
    all names that a comprehension can give to what it goes through.
    """
    mine, theirs = _parsed(told), _parsed(expected)
    for tree in (mine, theirs):
        for node in () if tree is None else ast.walk(tree):
            _rename(node)
    if mine is None or theirs is None:
        return False
    wanted = mine.value if isinstance(mine, ast.Expr) else mine
    if isinstance(wanted, ast.Name):
        return False
    whole = theirs.value if isinstance(theirs, ast.Expr) else theirs
    if _alike(wanted, whole):
        return True
    is_piece = isinstance(wanted, ast.Call) and ast.unparse(wanted) != _bare(wanted)
    return is_piece and any(
        _alike(wanted, node) for node in ast.walk(theirs) if isinstance(node, ast.Call)
    )


def _rename(node: ast.AST) -> None:
    """Give the names of a comprehension numbers."""
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        stored = [
            part.id
            for each in node.generators
            for part in ast.walk(each.target)
            if isinstance(part, ast.Name)
        ]
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in stored:
                part.id = f"_{stored.index(part.id)}"


def _alike(one: Any, other: Any) -> bool:
    if _is_any(one) or _is_any(other):
        return True
    if isinstance(one, ast.Call) and isinstance(other, ast.Call):
        first, second = _call(one), _call(other)
        if set(first) != set(second):
            return False
        return all(_alike(first[key], second[key]) for key in first)
    if isinstance(one, ast.AST) and type(one) is type(other):
        return all(_alike(getattr(one, n, None), getattr(other, n, None)) for n in one._fields)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other) if not isinstance(one, ast.AST) else False


def _call(node: ast.Call) -> dict[object, object]:
    """A call's function and arguments; what only matters to a buffer's files is left out."""
    parts: dict[object, object] = {k.arg: k.value for k in node.keywords if k.arg != "persistent"}
    parts.update(enumerate(node.args))
    parts["function"] = node.func
    moves = isinstance(node.func, ast.Attribute) and node.func.attr in ("cpu", "cuda")
    if moves and not node.args and not node.keywords:
        assert isinstance(node.func, ast.Attribute)
        kept = ast.Attribute(node.func.value, "to", ast.Load())
        parts.update({"function": kept, 0: ast.Constant(node.func.attr)})
    return parts


def _is_any(node: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def applied(files: Files, code: str, where: Sequence[Place]) -> Iterator[dict[str, str]]:
    """The program's files with a fix in them, for each way in which it can be meant."""
    statement = _parsed(code)
    if statement is None:
        return
    ways = (_replaced_statement, _replaced_expression, _inserted)
    for way in ways:
        for place in where:
            if place.file not in files:
                continue
            for text in way(files[place.file], statement, code, place.line):
                if text != files[place.file]:
                    yield {**files, place.file: text}


def _statement_at(text: str, line: int) -> ast.stmt | None:
    """The innermost statement that a line is part of."""
    best = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if best is None or node.lineno >= best.lineno:
                best = node
    return best


def _offset(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    head = lines[line - 1].encode()[:column].decode()
    return sum(map(len, lines[: line - 1])) + len(head)


def _with(text: str, node: ast.stmt | ast.expr, code: str) -> str:
    start = _offset(text, node.lineno, node.col_offset)
    end = _offset(text, node.end_lineno or node.lineno, node.end_col_offset or 0)
    return text[:start] + code + text[end:]


def _replaced_statement(text: str, told: ast.stmt, code: str, line: int) -> Iterator[str]:
    """With the statement that has the same target replaced, or the same call without a target."""
    old = _statement_at(text, line)
    if old is None:
        return
    target = _target(told)
    if target is not None and target == _target(old) and not _reads(told, target):
        yield _with(text, old, _filled(told, old) or code)
    elif isinstance(told, ast.Assign) and isinstance(old, ast.Expr):
        if ast.dump(told.value) == ast.dump(old.value):
            yield _with(text, old, code)


def _filled(told: ast.stmt, old: ast.stmt) -> str:
    """A fix with the value that its `...` stands for; empty where it has none."""
    if not isinstance(old, ast.Assign) or not any(_is_any(n) for n in ast.walk(told)):
        return ""

    class Filled(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            return old.value if node.value is ... else node

    return ast.unparse(Filled().visit(copy.deepcopy(told)))


def _target(node: ast.stmt) -> str | None:
    """What a statement gives a value: a name, an attribute, or the buffer that it registers."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return ast.unparse(node.targets[0])
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr == "register_buffer" and call.args:
            name = call.args[0]
            if isinstance(name, ast.Constant):
                return f"{ast.unparse(call.func.value)}.{name.value}"
    return None


def _reads(node: ast.stmt, name: str) -> bool:
    value = node.value if isinstance(node, ast.Assign) else None
    parts = () if value is None else ast.walk(value)
    return any(isinstance(n, ast.expr) and ast.unparse(n) == name for n in parts)


class _Bare(ast.NodeTransformer):
    """Takes from an expression all that says where it is to be."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            return node.func.value
        node.keywords = [k for k in node.keywords if k.arg not in ("device", "map_location")]
        return node


def bare(text: str) -> str:
    """An expression without what says where it is to be."""
    told = _parsed(f"({text})") if text else None
    return _bare(told.value) if isinstance(told, ast.Expr) else text


def _bare(node: ast.expr) -> str:
    return ast.unparse(_Bare().visit(copy.deepcopy(node)))


def _replaced_expression(text: str, told: ast.stmt, code: str, line: int) -> Iterator[str]:
    """With an expression replaced that is the same but for where it is to be."""
    if not isinstance(told, ast.Expr):
        return
    old = _statement_at(text, line)
    if old is None:
        return
    wanted = _bare(told.value)
    nodes = [n for n in ast.walk(old) if isinstance(n, ast.expr)]
    for same in (_bare, ast.unparse):
        for node in nodes:
            if same(node) == wanted and ast.unparse(node) != ast.unparse(told.value):
                if isinstance(getattr(node, "ctx", None), ast.Store):
                    continue
                yield _with(text, node, code)


def _inserted(text: str, told: ast.stmt, code: str, line: int) -> Iterator[str]:
    """With a statement before the one that a line is part of; not one that has a gap."""
    if any(_is_any(node) for node in ast.walk(told)):
        return
    call = told.value if isinstance(told, ast.Expr) else None
    in_place = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    if not isinstance(told, ast.Assign) and not (
        in_place and call.func.attr in ("to", "cuda", "cpu", "load_state_dict")
    ):
        return
    old = _statement_at(text, line)
    if old is None:
        return
    lines = text.splitlines(keepends=True)
    first = lines[old.lineno - 1]
    indent = first[: len(first) - len(first.lstrip())]
    if first.lstrip().startswith(("for ", "while ", "def ", "class ", "with ", "@")):
        if old.lineno != line:
            return
    lines.insert(old.lineno - 1, f"{indent}{code}\n")
    yield "".join(lines)
