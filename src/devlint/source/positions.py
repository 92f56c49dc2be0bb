"""Exact positions of LibCST nodes, without LibCST's metadata.

LibCST keeps no positions: they follow from writing the tree out again. `Positions` does that
once for a whole file, counting characters instead of keeping text, when the first position is
asked for. A file without findings never pays for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

Range = tuple[int, int]

_WITH_HEADER = frozenset(
    {
        cst.ClassDef,
        cst.Else,
        cst.ExceptHandler,
        cst.ExceptStarHandler,
        cst.Finally,
        cst.For,
        cst.FunctionDef,
        cst.If,
        cst.Match,
        cst.MatchCase,
        cst.Try,
        cst.TryStar,
        cst.While,
        cst.With,
    }
)

# Nodes that record no position of their own while they are written.
_PLAIN = frozenset(
    {
        cst.Comment,
        cst.CompFor,
        cst.FormattedStringText,
        cst.ImportStar,
        cst.IndentedBlock,
        cst.Index,
        cst.LeftParen,
        cst.Parameters,
        cst.RightParen,
        cst.SimpleStatementSuite,
        cst.Slice,
        cst.TemplatedStringText,
        cst.TypeParam,
        cst.TypeParameters,
    }
)


class Positions:
    """The ranges of all nodes of a tree, as offsets into the text it was parsed from."""

    def __init__(self, tree: cst.Module, text: str) -> None:
        """Raises `RecursionError` for very deep trees."""
        self._text = text
        counter = _Counter(tree.default_indent, tree.default_newline)
        tree._codegen(counter)
        written = "".join(counter.tokens)
        if written == text:
            self._exact, self._plain = counter.exact, counter.plain
        else:
            moved = _Moved(written, text)
            self._exact = {node: moved.range(span) for node, span in counter.exact.items()}
            self._plain = {node: moved.range(span) for node, span in counter.plain.items()}

    def range(self, origin: cst.CSTNode) -> Range:
        """What to underline: parentheses around an expression and blanks are left out.

        Those of a tuple or a generator expression belong to it. Compound statements give their
        header up to the colon, `def` up to the end of its parameters, and the name of a class
        is a node of its own.
        """
        kind = type(origin)
        if isinstance(origin, cst.FunctionDef):
            return self._exact[origin][0], self._plain[origin.params][1] + 1
        if kind in _WITH_HEADER:
            return self._exact[origin][0], self._header_end(origin)
        if isinstance(origin, (cst.Tuple, cst.GeneratorExp)) and origin.lpar:
            return self._plain[origin.lpar[-1]][0], self._plain[origin.rpar[0]][1]
        if isinstance(origin, cst.Param):
            return self._parameter(origin)
        if kind is cst.CompFor or kind is cst.Slice:
            return self._trimmed(self._plain[origin])
        found = self._exact.get(origin)
        return self._plain[origin] if found is None else found

    def _parameter(self, node: cst.Param) -> Range:
        start, end = self._exact[node]  # LibCST's ends with the name
        if node.annotation is not None:
            end = self.outer(node.annotation.annotation)[1]
        if node.default is not None:
            end = self.outer(node.default)[1]
        return start, end

    def outer(self, origin: cst.CSTNode) -> Range:
        """The range of a node with all parentheses around it."""
        opening = getattr(origin, "lpar", None)
        if isinstance(origin, cst.BaseExpression) and opening:
            return self._plain[opening[0]][0], self._plain[origin.rpar[-1]][1]
        return self.range(origin)

    def nodes(self) -> Iterator[cst.CSTNode]:
        """All nodes that have a range, those within others before these."""
        yield from self._exact
        yield from self._plain

    def start(self, node: cst.CSTNode) -> int:
        """The offset of the first character of a node, parentheses around it left out."""
        return self._exact[node][0]

    def body_around(self, place: Range) -> Range | None:
        """The innermost body of a function or lambda around a place, if any."""
        start, end = place
        bodies, outer = self._bodies
        at = bisect_right(bodies, (start, len(self._text) + 1)) - 1
        while at >= 0 and bodies[at][1] < end:
            at = outer[at]
        return bodies[at] if at >= 0 else None

    @cached_property
    def _bodies(self) -> tuple[list[Range], list[int]]:
        """The bodies of functions and lambdas by their places, and which of them each stands in;
        -1 for none."""
        functions = (n for n in self._exact if isinstance(n, (cst.FunctionDef, cst.Lambda)))
        bodies = sorted({self.outer(function.body) for function in functions}, key=_outer_first)
        outer: list[int] = []
        for number, (_, end) in enumerate(bodies):
            around = number - 1
            while around >= 0 and bodies[around][1] < end:
                around = outer[around]
            outer.append(around)
        return bodies, outer

    def comments(self) -> list[Range]:
        """The ranges of all comments, in the order of the file."""
        return [span for node, span in self._plain.items() if type(node) is cst.Comment]

    def statements(self) -> list[Range]:
        """The ranges of all simple statements and of all headers of compound statements.

        The header of a decorated function or class starts with its first decorator.
        """
        found: list[Range] = []
        for node, (start, end) in self._exact.items():
            if type(node) in _WITH_HEADER:
                decorators = getattr(node, "decorators", ())
                first = self._exact[decorators[0]][0] if decorators else start
                found.append((first, self._header_end(node)))
            elif isinstance(node, cst.BaseSmallStatement):
                found.append((start, end))
        return found

    def _header_end(self, node: Any) -> int:
        if isinstance(node, cst.Match):
            # Only blanks and a continued line can stand before the colon.
            return self._text.index(":", self.outer(node.subject)[1]) + 1
        end = self._plain[node.body][0]
        while end and self._text[end - 1] in _BLANK:  # where LibCST writes blanks otherwise
            end -= 1
        return end

    def _trimmed(self, span: Range) -> Range:
        start, end = span
        text = self._text[start:end]
        return start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))


def _outer_first(span: Range) -> Range:
    return span[0], -span[1]


class _Moved:
    """Places in a text of which LibCST writes the blanks otherwise: it loses form feeds and
    continued lines before a statement."""

    def __init__(self, written: str, text: str) -> None:
        """Raises `ValueError` where more than blanks differs."""
        self._written, self._text = _solid(written), _solid(text)
        if [written[at] for at in self._written] != [text[at] for at in self._text]:
            raise ValueError("LibCST doesn't write the text that it has read")
        self._end = len(text)

    def range(self, span: Range) -> Range:
        """From the first to the last of the same characters that aren't blank."""
        first, after = (bisect_left(self._written, offset) for offset in span)
        start = self._text[first] if first < len(self._text) else self._end
        return start, max(start, self._text[after - 1] + 1 if after else 0)


_BLANK = " \t\f\r\n\\"


def _solid(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if character not in _BLANK]


class _Counter(CodegenState):
    """Writes a tree out, and counts."""

    __slots__ = ("exact", "offset", "plain", "starts")

    def __init__(self, default_indent: str, default_newline: str) -> None:
        super().__init__(default_indent, default_newline)
        self.offset = 0
        self.starts: list[int] = []
        self.exact: dict[cst.CSTNode, Range] = {}
        self.plain: dict[cst.CSTNode, Range] = {}

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.starts.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self.starts.pop()
        if type(node) in _PLAIN:
            self.plain[node] = (start, self.offset)

    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> Any:
        return _Recording(self, node)


class _Recording:
    """The context manager around the writing of one node."""

    __slots__ = ("counter", "node", "start")

    def __init__(self, counter: _Counter, node: cst.CSTNode) -> None:
        self.counter = counter
        self.node = node

    def __enter__(self) -> None:
        self.start = self.counter.offset

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.counter.exact[self.node] = (self.start, self.counter.offset)
