"""A program before and after a transformation: its text, its tree, and where its rows have gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from devlint.model.spans import LineIndex
from devlint.source.positions import Positions

MAIN = "example.py"

Edit = tuple[int, int, str]
"""The offsets between which a text is replaced, and by what."""


class Program:
    """A text, with LibCST's tree of it. Raises `cst.ParserSyntaxError`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.tree = cst.parse_module(text)
        self.index = LineIndex(text)

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.tree, self.text)

    def row(self, node: cst.CSTNode) -> int:
        """The first row of a statement, that of its first decorator."""
        decorators: Sequence[cst.CSTNode] = getattr(node, "decorators", ())
        if decorators:
            return self.row(decorators[0])
        if isinstance(node, cst.SimpleStatementLine):
            return self.row(node.body[0])
        return self.index.place(self.positions.start(node))[0]

    def last_row(self, node: cst.CSTNode) -> int:
        """The last row of a statement, without the comments and blank lines after it."""
        if isinstance(node, cst.SimpleStatementLine):
            return self.last_row(node.body[-1])
        body = _last_body(node)
        if isinstance(body, cst.IndentedBlock):
            return self.last_row(body.body[-1])
        last = node if body is None else body.body[-1]
        _, end = self.positions.range(last)
        return self.index.place(max(end - 1, 0))[0]

    def source(self, node: cst.CSTNode) -> str:
        """The text of an expression."""
        start, end = self.positions.outer(node)
        return self.text[start:end]

    @cached_property
    def inner_rows(self) -> frozenset[int]:
        """The rows that begin inside of a string."""
        inside: set[int] = set()
        for node in self.positions.nodes():
            if isinstance(node, (cst.SimpleString, cst.FormattedString)):
                first, last = (self.index.place(at)[0] for at in self.positions.range(node))
                inside.update(range(first + 1, last + 1))
        return frozenset(inside)


def _last_body(node: cst.CSTNode) -> cst.BaseSuite | None:
    """The last of the bodies of a compound statement."""
    if isinstance(node, cst.Match):
        return node.cases[-1].body
    found: cst.BaseSuite | None = getattr(node, "body", None)
    if not isinstance(found, cst.BaseSuite):
        return None
    if isinstance(node, (cst.Try, cst.TryStar)):
        parts = [*node.handlers, node.orelse, node.finalbody]
        return [part for part in parts if part is not None][-1].body
    orelse = getattr(node, "orelse", None)
    return found if orelse is None else _last_body(orelse)


@dataclass(frozen=True)
class Line:
    """A line of a transformed program, and the row where it stood before; 0 for a new one."""

    text: str
    row: int = 0


Changed = dict[str, list[Line]]
"""A transformed program: its files, by name."""


def unchanged(program: Program) -> list[Line]:
    return [Line(text, row) for row, text in enumerate(program.lines, start=1)]


def edited(program: Program, edits: Iterable[Edit]) -> list[Line]:
    """The lines after edits, none of which adds or removes a line."""
    text = program.text
    for start, end, new in sorted(set(edits), reverse=True):
        assert "\n" not in text[start:end] + new
        text = text[:start] + new + text[end:]
    return [Line(line, row) for row, line in enumerate(text.split("\n"), start=1)]


def joined(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)
