"""The lines that a fix removes and adds, as every format for people shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from devlint.model.findings import Edit, Fix, Span
from devlint.model.spans import LineIndex, apply_edits
from devlint.report.cells import AROUND


@dataclass(frozen=True, slots=True)
class Row:
    """A line that is removed or added, as `sign` says. It has the row before or after the fix, and
    differs from `column` on."""

    sign: str
    row: int
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """What a fix does to neighbouring lines. `cell` is the number of their cell, 0 in what is no
    notebook."""

    cell: int
    rows: tuple[Row, ...]


def hunks(source: LineIndex, fix: Fix) -> list[Hunk]:
    """What a fix does to a text; nothing where that has changed since it was linted."""
    found: list[Hunk] = []
    moved, cell = 0, 0
    for edits in _neighbours(fix.edits):
        at = edits[0].span
        if cell_of(at) != cell:
            moved, cell = 0, cell_of(at)
        first, last = at.row, edits[-1].span.end_row
        start = max(source.row_bounds(first)[0], at.start - AROUND)
        end = min(source.row_bounds(last)[1], edits[-1].span.end + AROUND)
        block = source.text[start:end]
        try:
            changed = apply_edits(block, [_shifted(edit, start) for edit in edits])
        except ValueError:  # the file has changed since it was linted
            return []
        old, new = _rows(block), _rows(changed)
        same = _common(old, new)
        tail = _common(old[same:][::-1], new[same:][::-1])
        column = 1 + _common("".join(old[same : same + 1]), "".join(new[same : same + 1]))
        row = at.own_row + same
        rows = [
            Row(sign, number, line, column)
            for sign, begin, lines in (
                ("-", row, old[same : len(old) - tail]),
                ("+", row + moved, new[same : len(new) - tail]),
            )
            for number, line in enumerate(lines, start=begin)
        ]
        found.append(Hunk(cell, tuple(rows)))
        moved += len(new) - len(old)
    return found


def cell_of(span: Span) -> int:
    """The number of a span's cell; 0 in what is no notebook."""
    return 0 if span.cell is None else span.cell.number


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many items two sequences share at their start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(old), len(new)))


def _rows(block: str) -> list[str]:
    """The rows of a block; none where nothing is left of it."""
    index = LineIndex(block)
    return [index.row_text(row) for row in range(1, index.rows + 1)] if block else []


def _neighbours(edits: Sequence[Edit]) -> list[list[Edit]]:
    """Edits grouped so that those of one group touch the same or neighbouring lines."""
    groups: list[list[Edit]] = []
    for edit in sorted(edits, key=lambda edit: edit.span.start):
        last = groups[-1][-1].span if groups else None
        if (
            last is not None
            and edit.span.row <= last.end_row + 1
            and cell_of(edit.span) == cell_of(last)
        ):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def _shifted(edit: Edit, offset: int) -> Edit:
    span = edit.span
    moved = Span(
        span.start - offset, span.end - offset,
        span.row, span.column, span.end_row, span.end_column,
    )  # fmt: skip
    return Edit(moved, edit.content)
