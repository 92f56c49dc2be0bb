"""The texts that an editor has open, and places in them as it counts them.

pygls keeps texts as well, but ends rows where `str.splitlines` does, at form feeds too, which the
protocol doesn't: its edits would change other rows than the editor's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from lsprotocol import types as lsp

from devlint.model.spans import LineIndex, utf8_length, utf16_length
from devlint.source.encoding import encoded

MARK = "\ufeff"
"""A byte order mark, which is no part of the text that is linted."""


@dataclass(frozen=True, slots=True)
class Units:
    """What columns are counted in: what editor and server have agreed on."""

    encoding: str = lsp.PositionEncodingKind.Utf16.value

    def length(self, text: str) -> int:
        """How many of them a text takes."""
        if self.encoding == lsp.PositionEncodingKind.Utf8:
            return utf8_length(text)
        return len(text) if self.encoding == lsp.PositionEncodingKind.Utf32 else utf16_length(text)

    def column(self, index: LineIndex, row: int, character: int) -> int:
        """The column in code points, from 1, of a place in a row."""
        text = index.row_text(row)
        if text.isascii() or self.encoding == lsp.PositionEncodingKind.Utf32:
            return min(character, len(text)) + 1
        if self.encoding == lsp.PositionEncodingKind.Utf8:
            return index.from_utf8_column(row, character + 1)
        return index.from_utf16_column(row, character + 1)


@dataclass(frozen=True)
class Document:
    """One text, as it is in the editor: a file, or a cell of a notebook."""

    uri: str
    language: str
    version: int | None
    """None where it isn't open."""
    text: str

    @cached_property
    def index(self) -> LineIndex:
        """Where its rows are."""
        return LineIndex(self.text)

    @cached_property
    def data(self) -> bytes:
        """What the file will hold."""
        return encoded(self.text)

    def changed(
        self, changes: Iterable[lsp.TextDocumentContentChangeEvent], version: int, units: Units
    ) -> Document:
        """The text after some changes, each of the text that the one before has left."""
        text = self.text
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                index = self.index if text is self.text else LineIndex(text)
                start = offset_of(index, change.range.start, units)
                end = offset_of(index, change.range.end, units)
                text = text[:start] + change.text + text[max(start, end) :]
            else:
                text = change.text
        return replace(self, version=version, text=text)

    def place(self, position: lsp.Position, units: Units) -> tuple[int, int]:
        """The row and column, from 1 and in code points, of a position."""
        row = position.line + 1
        return row, units.column(self.index, row, position.character) - self._shift(row)

    def range(self, start: tuple[int, int], end: tuple[int, int], units: Units) -> lsp.Range:
        """The range between two rows and columns."""
        return lsp.Range(self._position(*start, units), self._position(*end, units))

    def range_of(self, start: int, end: int, units: Units) -> lsp.Range:
        """The range between two offsets of the text."""
        places = [self.index.place(start), self.index.place(end)]
        first, last = (
            lsp.Position(row - 1, units.length(self.index.row_text(row)[: column - 1]))
            for row, column in places
        )
        return lsp.Range(first, last)

    def _position(self, row: int, column: int, units: Units) -> lsp.Position:
        row = min(row, self.index.rows)
        before = self.index.row_text(row)[: column - 1 + self._shift(row)]
        return lsp.Position(row - 1, units.length(before))

    def _shift(self, row: int) -> int:
        return int(row == 1 and self.text.startswith(MARK))


def offset_of(index: LineIndex, position: lsp.Position, units: Units) -> int:
    """The offset of a position; the end of the text where it lies below."""
    row = position.line + 1
    if row > index.rows:
        return len(index.text)
    return index.offset(row, units.column(index, row, position.character))
