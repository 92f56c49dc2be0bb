"""Text as a terminal's cells: a row of source cut to its labels, and rows to write on."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.report.text import TAB, Line, cell_width
from devlint.safety.escaping import pieces

WIDTH = 140
"""The most cells of a source line that are shown; longer lines are cut around the labels."""

_LEAD = 24  # cells kept before the first label of a line that is cut
AROUND = 500
"""Characters at either side of a place that are looked at, however long the line is."""


class Canvas:
    """Rows of cells, each with a style, that later writing covers."""

    def __init__(self) -> None:
        self._rows: list[dict[int, tuple[str, str]]] = []

    def put(self, row: int, column: int, text: str, style: str) -> None:
        while len(self._rows) <= row:
            self._rows.append({})
        for character in text:
            width = cell_width(character)
            if width == 0 and column - 1 in self._rows[row]:
                before, own = self._rows[row][column - 1]
                self._rows[row][column - 1] = (before + character, own)
                continue
            self._rows[row][column] = (character, style)
            for covered in range(column + 1, column + width):
                self._rows[row][covered] = ("", style)
            column += max(width, 1)

    def lines(self) -> list[Line]:
        return [
            [row.get(column, (" ", "")) for column in range(max(row, default=-1) + 1)]
            for row in self._rows
        ]


class Row:
    """A source line, cut to `WIDTH` cells around its labels."""

    def __init__(self, text: str, spans: Sequence[tuple[int, int]]) -> None:
        # What is shown lies around the first label, the primary one.
        self._start = max(0, (spans[0][0] if spans else 1) - 1 - AROUND)
        self._cells: list[str] = []  # one entry a cell; "" for the right half of a wide one
        self._offsets: list[int] = []  # the cell on which each character starts
        near = text[self._start : self._start + 2 * AROUND]
        if near.isascii() and near.isprintable() and "##" not in near:
            self._cells, self._offsets, near = list(near), list(range(len(near))), ""
        for character, shown in zip(near, pieces(near), strict=True):
            self._offsets.append(len(self._cells))
            if character == "\t":
                self._cells.extend(" " * TAB)
            elif shown != character:
                self._cells.extend(shown)
            elif width := cell_width(character):
                self._cells.extend((shown, *[""] * (width - 1)))
            elif self._cells:
                self._cells[-1] += shown
        self._offsets.append(len(self._cells))
        self._first, self._last = self._window([self._offset(start) for start, _ in spans])

    def _offset(self, column: int) -> int:
        """The cell on which a 1-based column starts, in what is looked at of the line."""
        index = max(column - 1 - self._start, 0)
        if index < len(self._offsets):
            return self._offsets[index]
        return self._offsets[-1] + (index - len(self._offsets) + 1)

    def _window(self, starts: Sequence[int]) -> tuple[int, int]:
        length = len(self._cells)
        if length <= WIDTH:
            return 0, max(length, max(starts, default=0) + 1)
        # The first label given, which is the primary one, is shown in any case.
        first = starts[0] if starts else 0
        near = min((s for s in starts if first - s < WIDTH - 2 * _LEAD), default=first)
        left = max(0, min(near, first) - _LEAD)
        left = 0 if left <= 1 else min(left, length - WIDTH)
        return left, left + WIDTH

    @property
    def line(self) -> Line:
        shown = self._cells[self._first : self._last]
        if self._first:
            shown[0] = "…"
            if len(shown) > 1 and shown[1] == "":
                shown[1] = " "
        if self._last < len(self._cells):
            # The left half of a wide character can't stand without its right half.
            if shown[-1] == "" and len(shown) > 1:
                shown[-2] = " "
            shown[-1] = "…"
        return [("".join(shown), "")]

    def cells(self, start: int, end: int) -> tuple[int, int]:
        """Where columns `start` to before `end` are shown: at least one cell."""
        left = min(max(self._offset(start), self._first), self._last - 1)
        right = min(max(self._offset(end), left + 1), max(self._last, left + 1))
        return left - self._first, right - self._first


def excerpt(text: str, column: int) -> str:
    """A line as it is shown, cut around a 1-based column where it is too long."""
    [(shown, _)] = Row(text, [(column, column)]).line
    return shown
