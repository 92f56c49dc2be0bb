"""A text without the functions in which nothing is reported, for LibCST to read the rest.

Blanks stand in their place, so rows and offsets stay what they are. LibCST takes most of the time
of a file in which something is found, and what it is asked for stands in few functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from devlint.model import ir
from devlint.source.magics import blank

_ROW = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


def sparse(text: str, module: ir.Module, rows: Collection[int]) -> str:
    """A text with blanks for what is defined at its top level, or in its classes, where none of
    these rows is."""
    lines = _ROW.findall(text)
    for first, after in _idle(module.body, len(lines) + 1, frozenset(rows)):
        lines[first - 1 : after - 1] = map(blank, lines[first - 1 : after - 1])
    return "".join(lines)


def _idle(body: ir.Body, end: int, rows: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The first row of each definition that has none of some rows, and the row where the next
    statement begins."""
    starts = [*map(_start, body), end]
    for statement, (first, after) in zip(body, pairwise(starts), strict=True):
        if not isinstance(statement, (ir.Function, ir.Class)) or first >= after:
            continue
        if rows.isdisjoint(range(first, after)):
            yield first, after
        elif isinstance(statement, ir.Class):
            inner = [*_idle(statement.body, after, rows)]
            if len(inner) < len(statement.body):  # something has to be left of it
                yield from inner


def _start(statement: ir.Stmt) -> int:
    decorators: Sequence[ir.Expr] = getattr(statement, "decorators", ())
    spots: list[Any] = [each.origin for each in (statement, *decorators)]
    return min(int(spot[1]) for spot in spots)
