"""A file of which several pieces are Python, such as the cells of a notebook, as one module.

The module is the text of the pieces, one below the other. Each knows where its characters stand in
the file, so that findings are told where a reader looks for them, and an edit changes only those
characters: every other byte of the file stays as it is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

from devlint.model.findings import CellSpan, Edit, Finding, Span
from devlint.model.spans import LineIndex, apply_edits
from devlint.source.encoding import Decoded, newline_of, with_newlines
from devlint.source.errors import SourceError
from devlint.source.magics import Masked
from devlint.source.script import Part

_ESCAPED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
"""What stands for one character in a string of JSON."""

OTHER_ORDER = "The cells may have been run in another order than they stand in."


@dataclass(frozen=True, slots=True)
class Piece:
    """A string of JSON: the offsets of its ends in the file, without quotes, and its text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of Python: its number among all cells, and the strings that make its text.

    `at` is where they would stand in the file if there were any, and `gap` what stands between
    the quotes of two of them; "" where there can be only one. `count` says as the how many-th cell
    it was run, None where that isn't known. `error` has a span of the cell's own text.
    """

    number: int
    pieces: tuple[Piece, ...]
    at: int
    gap: str
    count: int | None
    python: Masked
    error: SourceError | None = None

    @property
    def text(self) -> str:
        """What stands in it."""
        return "".join(piece.text for piece in self.pieces)


class Cells:
    """A `Script` of cells: a notebook, once it is read."""

    def __init__(self, file: Decoded, cells: Iterable[Cell]) -> None:
        self._file = file
        self.cells = tuple(cells)
        self.text = "".join(f"{cell.python.text}\n" for cell in self.cells)
        sizes = (len(cell.python.text) + 1 for cell in self.cells)
        self._starts = [0, *accumulate(sizes)][: len(self.cells)]
        self._counts = {cell.number: cell.count for cell in self.cells}
        self._units: dict[Piece, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._newlines: dict[int, str] = {}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The cells are one module."""
        return (Part(self.text),)

    @cached_property
    def shown(self) -> str:
        """The text with what is masked in it."""
        return "".join(f"{cell.text}\n" for cell in self.cells)

    @cached_property
    def errors(self) -> tuple[SourceError, ...]:
        """Why cells are left out that aren't Python."""
        return tuple(
            SourceError(cell.error.reason, self._moved(cell.error.span, start), cell.error.kind)
            for cell, start in zip(self.cells, self._starts, strict=True)
            if cell.error is not None
        )

    @cached_property
    def _index(self) -> LineIndex:
        return LineIndex(self.text)

    @cached_property
    def _file_index(self) -> LineIndex:
        return LineIndex(self._file.text)

    @cached_property
    def _first_rows(self) -> list[int]:
        return [self._index.place(start)[0] for start in self._starts]

    def _moved(self, span: Span, by: int) -> Span:
        return self._index.span(span.start + by, span.end + by)

    # --- where things are

    def cell_of(self, row: int) -> tuple[int, int]:
        """The number of the cell that a row of the text is in, and which row of it that is."""
        at = max(bisect_right(self._first_rows, row) - 1, 0)
        return self.cells[at].number, row - self._first_rows[at] + 1

    def row_of(self, number: int, row: int) -> int | None:
        """The row of the text for a row of a cell; None where there is none."""
        for at, cell in enumerate(self.cells):
            if cell.number == number:
                found = self._first_rows[at] + row - 1
                return found if self.cell_of(found)[0] == number <= self._index.rows else None
        return None

    def placed(self, finding: Finding) -> Finding:
        """A finding that knows in which cells its spans are, and says where it hangs on an order
        in which cells may not have been run."""
        trace = tuple(
            step if step.filename else replace(step, span=self._placed(step.span))
            for step in finding.trace
        )
        fix = finding.fix
        if fix is not None and not fix.filename:
            edits = tuple(Edit(self._placed(edit.span), edit.content) for edit in fix.edits)
            fix = replace(fix, edits=edits)
        span = self._placed(finding.span)
        spans = [span, *(step.span for step in trace if not step.filename)]
        remedy = finding.help
        if not self._in_order({each.cell.number for each in spans if each.cell is not None}):
            remedy = f"{remedy}. {OTHER_ORDER}" if remedy else OTHER_ORDER
        return replace(finding, span=span, trace=trace, fix=fix, help=remedy)

    def _in_order(self, numbers: set[int]) -> bool:
        """Whether cells were run one after the other, by what the notebook says."""
        if len(numbers) < 2:
            return True
        counts = [self._counts[number] for number in sorted(numbers)]
        known = [count for count in counts if count is not None]
        return len(known) == len(counts) and all(a < b for a, b in pairwise(known))

    def _placed(self, span: Span) -> Span:
        at = self._cell_at(span.start)
        cell, start, first = self.cells[at], self._starts[at], self._first_rows[at]
        begins = self._in_file(cell, span.start - start)
        ends = self._in_file(cell, span.end - start, at_end=span.end > span.start)
        own = CellSpan(
            cell.number,
            span.row - first + 1,
            span.end_row - first + 1,
            *self._file_index.place(begins),
            *self._file_index.place(max(begins, ends)),
        )
        return replace(span, cell=own)

    def _cell_at(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0)

    def _in_file(self, cell: Cell, offset: int, at_end: bool = False) -> int:
        """The offset in the file of one in a cell. Between two strings, it is the start of the
        second one, or with `at_end` the end of the first one."""
        if not cell.pieces:
            return cell.at
        ends = self._ends.get(cell.number)
        if ends is None:
            ends = self._ends[cell.number] = [*accumulate(len(each.text) for each in cell.pieces)]
        number = (bisect_left if at_end else bisect_right)(ends, offset)
        number = min(number, len(cell.pieces) - 1)
        piece = cell.pieces[number]
        within = min(max(offset - ends[number] + len(piece.text), 0), len(piece.text))
        if piece.end - piece.start == len(piece.text):
            return piece.start + within
        if piece not in self._units:
            starts = [
                found.start()
                for found in _ESCAPED.finditer(self._file.text, piece.start, piece.end)
            ]
            self._units[piece] = [*starts, piece.end]
        return self._units[piece][within]

    # --- edits

    def placed_edit(self, edit: Edit) -> Edit:
        """The edit itself: that its span is one of cells is seen in `edited`."""
        return edit

    def column_of(self, row: int, column: int) -> int:
        """The column itself: that of a cell."""
        return column

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after some edits, as `Script` has it."""
        return self._file.encode(apply_edits(self._file.text, [self._edit(each) for each in edits]))

    def _edit(self, edit: Edit) -> Edit:
        """An edit of the text as one of the file."""
        if not self.cells:
            raise ValueError("there is no cell to change")
        at = self._cell_at(edit.span.start)
        cell, origin = self.cells[at], self._starts[at]
        start, end, content = edit.span.start - origin, edit.span.end - origin, edit.content
        size = len(cell.python.text)
        if max(start, end) == size + 1:  # with the line break between this cell and the next one
            start, end, content = min(start, size), size, content.removesuffix("\n")
        if end > size:
            raise ValueError("it would reach over several cells")
        guarded = cell.python.guarded  # which stand in order, one behind the other
        nearest = guarded[max(bisect_left(guarded, (end, -1)) - 1, 0) :][:1]
        if any(start < last and end > first for first, last in nearest):
            raise ValueError("it would change what only IPython reads")
        if not cell.pieces:
            raise ValueError("the cell is empty")
        content = with_newlines(Edit(edit.span, content), self._newline(cell)).content
        first, last = self._in_file(cell, start), self._in_file(cell, end)
        index = self._file_index
        return Edit(index.span(first, last), self._written(cell, content, end == size))

    def _newline(self, cell: Cell) -> str:
        if cell.number not in self._newlines:
            self._newlines[cell.number] = newline_of(cell.text)
        return self._newlines[cell.number]

    def _written(self, cell: Cell, content: str, is_last: bool) -> str:
        """A text as it stands in strings of JSON: one for each line, where the cell has several."""
        ascii_only = self._file.text.isascii()
        lines = re.findall(r"[^\n]*\n|[^\n]+", content) if cell.gap else [content]
        between = f'"{cell.gap}"'
        written = between.join(json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in lines)
        return written + between if cell.gap and content.endswith("\n") and not is_last else written
