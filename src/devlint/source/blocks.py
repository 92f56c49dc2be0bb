"""A text of which some blocks are Python, such as a file of Markdown.

The Python stands in the rows in which it stands in the file; all other rows are empty. So only
columns are others, where a block is indented or quoted. What is known of a finding is told in terms
of the file, and so are its edits, with the indent or the sign of a quote before each row that they
add: every other byte of the file stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from devlint.model.findings import Edit, Finding, Fix, Span
from devlint.model.spans import LineIndex, apply_edits
from devlint.source.encoding import Decoded, newline_of
from devlint.source.errors import SourceError
from devlint.source.script import Part

_BREAK = re.compile(r"\r\n?|\n")
OWN_EXAMPLES = "The blocks may not be meant to run one after the other."


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a block: its number in the file, the offset and the column (from 0) at which its
    text begins there, and the text."""

    number: int
    start: int
    column: int
    text: str

    def behind(self, size: int) -> Row:
        """What is behind its first characters."""
        return Row(self.number, self.start + size, self.column + size, self.text[size:])

    def holding(self, text: str) -> Row:
        """The row with another text as what is Python of it."""
        return Row(self.number, self.start, self.column, text)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Python. `before` is what a row begins with in the file, `same` are the rows that
    are Python as they stand there, which alone may be changed; and unless it `grows`, none may be
    added."""

    rows: Sequence[Row]
    before: str
    same: frozenset[int]
    grows: bool = True

    @property
    def text(self) -> str:
        """What Python reads."""
        return "".join(f"{row.text}\n" for row in self.rows)

    @property
    def first(self) -> int:
        """The number of its first row."""
        return self.rows[0].number

    @property
    def last(self) -> int:
        """The number of its last row."""
        return self.rows[-1].number


class Blocks:
    """A `Script` of blocks: a file of Markdown, once it is read.

    `modules` are those that share their names; `count` tells how many blocks of an edited file are
    Python.
    """

    def __init__(
        self,
        file: Decoded,
        index: LineIndex,
        blocks: Sequence[Block],
        modules: Sequence[Sequence[Block]],
        count: Callable[[str], int],
    ) -> None:
        self._file = file
        self._index = index
        self._count = count
        self.blocks = tuple(blocks)
        self._modules = modules
        self._rows = {row.number: (row, block) for block in blocks for row in block.rows}
        numbers = range(1, index.rows + 1)
        nothing = Row(0, 0, 0, "")
        self.text = "".join(f"{self._rows.get(n, (nothing,))[0].text}\n" for n in numbers)
        self._own_index = LineIndex(self.text)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks that continue each other, together."""
        return tuple(
            Part(
                "".join(block.text for block in module),
                tuple(row.number for block in module for row in block.rows),
            )
            for module in self._modules
        )

    @property
    def shown(self) -> str:
        """The file."""
        return self._file.text

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """None: what isn't Python is passed by."""
        return ()

    # --- where things are

    def column_of(self, row: int, column: int) -> int:
        """The column in `text` for one of the file."""
        found = self._rows.get(row)
        return column if found is None else max(column - found[0].column, 1)

    def placed(self, finding: Finding) -> Finding:
        """A finding in terms of the file, which says where it hangs on blocks that may be examples
        of their own."""
        trace = tuple(
            step if step.filename else replace(step, span=self._placed(step.span))
            for step in finding.trace
        )
        own = [finding.span, *(step.span for step in finding.trace if not step.filename)]
        remedy = finding.help
        if len({id(self._rows[span.row][1]) for span in own if span.row in self._rows}) > 1:
            remedy = f"{remedy}. {OWN_EXAMPLES}" if remedy else OWN_EXAMPLES
        fix = None if finding.fix is None else self._placed_fix(finding.fix)
        return replace(finding, span=self._placed(finding.span), trace=trace, fix=fix, help=remedy)

    def _placed_fix(self, fix: Fix) -> Fix | None:
        """A fix in terms of the file; None where it would change what isn't Python there."""
        if fix.filename:
            return fix
        try:
            return replace(fix, edits=tuple(map(self.placed_edit, fix.edits)))
        except ValueError:
            return None

    def _placed(self, span: Span) -> Span:
        start = self._offset(span.row, span.column)
        return self._index.span(start, max(start, self._offset(span.end_row, span.end_column)))

    def _offset(self, row: int, column: int) -> int:
        found = self._rows.get(row)
        return self._index.row_bounds(row)[0] if found is None else found[0].start + column - 1

    # --- edits

    def placed_edit(self, edit: Edit) -> Edit:
        """An edit of the text as one of the file."""
        span = self._own_index.span(edit.span.start, edit.span.end)
        content = "\n".join(_BREAK.split(edit.content))
        if span.row not in self._rows:
            raise ValueError("it would change what isn't Python")
        block = self._rows[span.row][1]
        whole = span.column == 1 and not content
        end_row, end_column = span.end_row, span.end_column
        if end_row == block.last + 1 and end_column == 1:  # with the line break of the last row
            end_row, end_column = block.last, len(self._rows[block.last][0].text) + 1
            content = content.removesuffix("\n")
        if end_row > block.last:
            raise ValueError("it would reach over several blocks")
        if not all(row in block.same for row in range(span.row, end_row + 1)):
            raise ValueError("it would change what isn't Python")
        if not block.grows and ("\n" in content or end_row > span.row):
            raise ValueError("the input of a console has a prompt in each line")
        start, end = self._offset(span.row, span.column), self._offset(end_row, end_column)
        if whole and (end_row, end_column) != (span.end_row, span.end_column):
            start, end = self._whole_rows(span.row, end_row)
        follows = end < self._index.row_bounds(end_row)[1]
        return Edit(self._index.span(start, end), self._written(content, block, follows))

    def _written(self, content: str, block: Block, follows: bool) -> str:
        """A text as it stands in the file, where text of its last row `follows` or doesn't."""
        first, *added = content.split("\n")
        end = self._index.row_bounds(block.first)[1]
        newline = newline_of(self._file.text[end : end + 2])
        bare, last = block.before.rstrip(), len(added) - 1
        return first + "".join(
            newline + (block.before if row or (number == last and follows) else bare) + row
            for number, row in enumerate(added)
        )

    def _whole_rows(self, first: int, last: int) -> tuple[int, int]:
        """From the start of a row of the file to the end of another, with one line break."""
        end = self._index.row_bounds(last)[1]
        return self._index.row_bounds(first)[0], max(end, self._index.row_bounds(last + 1)[0])

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after some edits, as `Script` has it."""
        text = apply_edits(self._file.text, edits)
        if self._count(text) < len(self.blocks):
            raise ValueError("a block would no longer parse")
        return self._file.encode(text)
