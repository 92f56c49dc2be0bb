"""Places of nodes that were lowered from Python's own tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from devlint.model.findings import Span
from devlint.model.spans import LineIndex


@dataclass(frozen=True, eq=False)
class File:
    """The file that nodes come from: the `origin` of its module."""

    path: str
    text: str = field(repr=False)

    @cached_property
    def index(self) -> LineIndex:
        """Rows and columns of offsets."""
        return LineIndex(self.text)


Spot = tuple[str, int, int, int, int]
"""The path of the file, the first row and column, the last row and column; rows count from 1 and
columns from 0, in bytes of UTF-8, as `ast` has them. The `origin` of a node. A plain
tuple: an object with names for these takes four times as long to make, and each node has one. Of
text and numbers only: Python's garbage collector doesn't look at such tuples again."""


def spot(node: Any, path: str) -> Spot:
    """Where a node of `ast` stands."""
    return (path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def between(first: Any, last: Any, path: str) -> Spot:
    """From the start of one node of `ast` to the end of another."""
    return (path, first.lineno, first.col_offset, last.end_lineno, last.end_col_offset)


def path_of(origin: object) -> str | None:
    """The path of the file that an `origin` is in; None for what comes from no file."""
    return origin[0] if isinstance(origin, tuple) else None


def span_of(origin: object, file: File) -> Span | None:
    """The span of an `origin` in its own file; None for what comes from no file.

    It is as good as `ast` knows: parentheses around an expression are left out, those of a
    tuple too where they are; a compound statement is its header, about; in f-strings, Pythons
    before 3.12 are at a loss.
    """
    place = offsets_of(origin, file.index)
    return None if place is None else file.index.span(*place)


def offsets_of(origin: object, index: LineIndex) -> tuple[int, int] | None:
    """The same as offsets into the text of an index."""
    if not isinstance(origin, tuple):
        return None
    _, row, column, end_row, end_column = origin
    start = index.offset(row, index.from_utf8_column(row, column + 1))
    end = index.offset(end_row, index.from_utf8_column(end_row, end_column + 1))
    return start, max(start, end)
