"""Offsets, rows and columns in code points, UTF-16 units and UTF-8 bytes; edits of a string.

Rows end as Python and LibCST see it: at \\n, \\r\\n and \\r, and nowhere else. A form feed or a
U+2028, at which `str.splitlines` would split, is an ordinary character here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, count
from operator import add

from devlint.model.findings import Edit, Span

_BREAK = re.compile(r"\r\n?|\n")


def _rows(text: str) -> tuple[list[int], list[int]]:
    """Where the rows of a text start, and where they end without their line breaks."""
    if "\r" not in text:  # three times as fast as to look for breaks of all kinds
        ends = list(map(add, accumulate(map(len, text.split("\n"))), count()))
        return [0, *map((1).__add__, ends[:-1])], ends
    breaks = [match.span() for match in _BREAK.finditer(text)]
    return [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(text)]


class LineIndex:
    """Where the rows of a text start. Offsets are 0-based, rows and columns 1-based.

    Offsets outside the text count as its nearest end, and columns beyond a row as the end of
    that row, its line break left out.
    """

    __slots__ = ("_ends", "_last", "_last_bytes", "_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts, self._ends = _rows(text)
        self._last = (0, "")  # the row whose text was asked for, which may be long, and that text
        self._last_bytes: tuple[int, list[int]] = (0, [])

    @property
    def rows(self) -> int:
        """The number of rows; a line break at the end of the text opens one more, empty row."""
        return len(self._starts)

    def place(self, offset: int) -> tuple[int, int]:
        """The row and the column, in code points, of an offset."""
        offset = min(max(offset, 0), len(self.text))
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1

    def offset(self, row: int, column: int) -> int:
        """The offset of a row and a column in code points."""
        start, end = self.row_bounds(row)
        return min(start + max(column - 1, 0), end)

    def row_bounds(self, row: int) -> tuple[int, int]:
        """The offsets of the start and the end of a row, its line break left out."""
        row = min(max(row, 1), len(self._starts))
        return self._starts[row - 1], self._ends[row - 1]

    def row_text(self, row: int) -> str:
        """The text of a row without its line break."""
        if self._last[0] != row:
            start, end = self.row_bounds(row)
            self._last = (row, self.text[start:end])
        return self._last[1]

    def span(self, start: int, end: int) -> Span:
        """A `findings.Span` from two offsets."""
        row, column = self.place(start)
        end_row, end_column = self.place(end)
        return Span(start, end, row, column, end_row, end_column)

    def utf16_column(self, row: int, column: int) -> int:
        """The 1-based column in UTF-16 units of a column in code points."""
        return 1 + utf16_length(self.row_text(row)[: column - 1])

    def utf8_column(self, row: int, column: int) -> int:
        """The 1-based column in UTF-8 bytes of a column in code points."""
        return 1 + utf8_length(self.row_text(row)[: column - 1])

    def from_utf16_column(self, row: int, column: int) -> int:
        """The column in code points of a 1-based column in UTF-16 units.

        A column in the middle of a surrogate pair gives the character of that pair.
        """
        units, text = column - 1, self.row_text(row)
        for index, character in enumerate(text):
            units -= utf16_length(character)
            if units < 0:
                return index + 1
        return len(text) + 1

    def from_utf8_column(self, row: int, column: int) -> int:
        """The column in code points of a 1-based column in UTF-8 bytes.

        A column in the middle of a character gives that character.
        """
        text = self.row_text(row)
        if text.isascii():
            return min(column, len(text) + 1)
        return bisect_right(self._bytes_of(row), column - 1)

    def _bytes_of(self, row: int) -> list[int]:
        """The byte at which each character of a row starts, and the one behind them all."""
        if self._last_bytes[0] != row:
            lengths = map(utf8_length, self.row_text(row))
            self._last_bytes = (row, [0, *accumulate(lengths)])
        return self._last_bytes[1]


def utf16_length(text: str) -> int:
    """How many UTF-16 units a text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_length(text: str) -> int:
    """How many bytes a text takes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, whose spans refer to the text before any of them.

    Insertions at one place keep their order. Raises ValueError where two edits overlap, and
    where one lies outside the text.
    """
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        start, end = edit.span.start, edit.span.end
        if not 0 <= start <= end <= len(text):
            raise ValueError(f"an edit of {start}..{end} lies outside a text of {len(text)}")
        if start < position:
            raise ValueError(f"two edits overlap at row {edit.span.row}")
        pieces.append(text[position:start])
        pieces.append(edit.content)
        position = end
    pieces.append(text[position:])
    return "".join(pieces)
