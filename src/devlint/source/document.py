"""One source file as LibCST reads it: exact places of what is reported there, and edits."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from devlint.model.findings import Edit, Span
from devlint.model.reports import Located, Rewrite, Side
from devlint.model.spans import LineIndex
from devlint.source.below import Lines
from devlint.source.concrete import REFUSED, tree_of
from devlint.source.depth import is_deep, too_long
from devlint.source.errors import SourceError
from devlint.source.exact import Exact
from devlint.source.parsing import parsed, too_long_error
from devlint.source.room import in_large_stack, with_room
from devlint.source.scopes import Scopes
from devlint.source.script import Script

_SOMETHING = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from its `#` to the end of its row; row and column are 1-based."""

    row: int
    column: int
    text: str
    start: int
    alone: bool
    """Nothing but blanks stands before it."""


@dataclass(frozen=True)
class Document:
    """A file that was read. `text` keeps the line breaks of the file; offsets refer to it.

    It takes nodes of the intermediate form of the same text, from whichever run of `lower`.
    """

    filename: str
    text: str
    tree: cst.Module
    script: Script
    read: str
    """What LibCST has read: the text, or that with blanks where nobody asks for anything."""

    @cached_property
    def index(self) -> LineIndex:
        """Rows and columns of offsets."""
        return LineIndex(self.text)

    @cached_property
    def exact(self) -> Exact:
        """Where constructs stand, found when the first one is asked for.

        Raises `SourceError` where Python itself gives LibCST no room for that: Python 3.12 bounds
        the recursion through its own functions, and no setting changes that.
        """
        try:
            index = self.index if self.read is self.text else LineIndex(self.read)
            return with_room(lambda: Exact(self.tree, index))
        except RecursionError:
            span = self.index.span(0, 0)
            raise SourceError("nested too deeply", span, "syntax") from None

    def locate(self, node: Located) -> Span:
        """What to underline for a node; for what stands in no tree, the span that it has."""
        if isinstance(node.origin, Span):
            return node.origin
        return self.index.span(*self.exact.range(node))

    def anchor(self, node: Located, side: Side) -> int:
        """The offset of an end of a node, outside of the parentheses around it."""
        if isinstance(node.origin, Span):
            return node.origin.start if side == "start" else node.origin.end
        return self.exact.outer(node)[side == "end"]

    def in_one_function(self, nodes: Iterable[Located]) -> bool:
        """Whether nodes stand in the body of one function, or all outside of functions."""
        return len({self.exact.body_around(node) for node in nodes}) <= 1

    def scopes_of(self, names: Iterable[str], node: Located) -> list[object]:
        """What binds each of some names where a node stands: a function, the file, or nothing."""
        row = self.locate(node).row
        return [self.scopes.scope_of(name, row) for name in names]

    def in_one_class(self, nodes: Iterable[Located]) -> bool:
        """Whether nodes stand in methods of one class."""
        return len({self.scopes.class_around(self.locate(node).row) for node in nodes}) <= 1

    def is_bound(self, name: str, rewrite: Rewrite) -> bool:
        """Whether a name can be typed where a rewrite starts."""
        return self.scopes.is_bound(name, self.row_of(rewrite))

    def row_of(self, rewrite: Rewrite) -> int:
        """The row of a rewrite, or the one below which its line is put."""
        row = self.locate(rewrite.start.node).row
        return row if rewrite.part is None else self._lines.row_above(rewrite, row) or row

    @cached_property
    def scopes(self) -> Scopes:
        """Which names can be typed where."""
        return Scopes(parsed(self.text))

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.index, self.scopes, self.statement_rows, self.statement_after)

    def edits(self, rewrites: Iterable[Rewrite]) -> list[Edit] | None:
        """Rewrites in terms of offsets, in the order of the text; None where there is no place for
        one of them."""
        each = list(dict.fromkeys(rewrites))
        below = [(self.locate(r.start.node).row, r) for r in each if r.part is not None]
        lines = self._lines.edits(below)
        if lines is None:
            return None
        found = [*lines, *(self._edit(rewrite) for rewrite in each if rewrite.part is None)]
        return sorted(found, key=lambda edit: edit.span.start)

    def _edit(self, rewrite: Rewrite) -> Edit:
        """A rewrite in terms of offsets.

        Parentheses around a node belong to it, so that `.cpu()` after `(a + b)` follows the
        parenthesis. Only where a rewrite goes from one end of a part to the same end of the
        whole, the parentheses around the whole stay.
        """
        start, end = rewrite.start, rewrite.end
        if rewrite.cast is not None:
            node, text = rewrite.cast
            behind = self.exact.behind_casts(node)
            if behind is not None:
                return Edit(self.index.span(behind, behind), text)
        first, last = self.anchor(start.node, start.side), self.anchor(end.node, end.side)
        if start.node is not end.node and start.side == end.side:
            if end.side == "end":
                last = self.locate(end.node).end
            else:
                first = self.locate(start.node).start
        if (
            not rewrite.text
            and isinstance(start.node.origin, Span)
            and self.text.startswith("#", first)
        ):
            first, last = self._around_comment(first, last)
        text = rewrite.text
        if rewrite.alone:
            text = self._as_statement(text, self.locate(start.node), start.side)
        return Edit(self.index.span(first, last), text)

    def _as_statement(self, text: str, beside: Span, side: Side) -> str:
        """A statement before or after another one, in a row of its own if that has one."""
        head = self.text[self.index.row_bounds(beside.row)[0] : beside.start]
        tail = self.text[beside.end : self.index.row_bounds(beside.end_row)[1]].lstrip()
        if head.strip() or (side == "end" and tail[:1] not in ("", "#")):
            return f"{text}; " if side == "start" else f"; {text}"
        newline = self.tree.default_newline
        return f"{text}{newline}{head}" if side == "start" else f"{newline}{head}{text}"

    def _around_comment(self, first: int, last: int) -> tuple[int, int]:
        """What goes with a comment that is removed: its whole row, or the blanks beside it."""
        row, _ = self.index.place(first)
        row_start, row_end = self.index.row_bounds(row)
        after = _SOMETHING.search(self.text, last, row_end)
        if after is not None:  # another comment follows in the row
            return first, after.start()
        before = self.text[row_start:first].rstrip()
        if before:
            return row_start + len(before), row_end
        if row == self.index.rows:
            return row_start, row_end
        return row_start, self.index.row_bounds(row + 1)[0]

    @cached_property
    def comments(self) -> tuple[Comment, ...]:
        """All comments, in the order of the file."""
        found = []
        for start, end in self.exact.positions.comments():
            row, column = self.index.place(start)
            row_start, _ = self.index.row_bounds(row)
            alone = not self.text[row_start:start].strip()
            found.append(Comment(row, column, self.text[start:end], start, alone))
        return tuple(sorted(found, key=lambda comment: comment.start))

    def comment_on(self, row: int) -> Comment | None:
        """The comment at the end of a row, or on a row of its own."""
        at = bisect_left(self.comments, row, key=lambda comment: comment.row)
        found = self.comments[at] if at < len(self.comments) else None
        return found if found is not None and found.row == row else None

    @cached_property
    def statements(self) -> tuple[tuple[int, int], ...]:
        """First and last row of every simple statement and every header, in order."""
        place = self.index.place
        spans = self.exact.positions.statements()
        return tuple(sorted({(place(start)[0], place(end)[0]) for start, end in spans}))

    def statement_rows(self, row: int) -> tuple[int, int]:
        """First and last row of the innermost statement or header on a row; the row itself
        where there is none."""
        return self.enclosing_statement(row) or (row, row)

    def enclosing_statement(self, row: int) -> tuple[int, int] | None:
        """The same, or None where no statement is on the row (a comment, a blank row)."""
        return self._innermost.get(row)

    @cached_property
    def _innermost(self) -> dict[int, tuple[int, int]]:
        """The innermost statement or header on each row, the first one where they are alike."""
        found: dict[int, tuple[int, int]] = {}
        for first, last in sorted(self.statements, key=lambda rows: (rows[1] - rows[0], rows[0])):
            for row in range(first, last + 1):
                found.setdefault(row, (first, last))
        return found

    def statement_after(self, row: int) -> tuple[int, int] | None:
        """First and last row of the first statement or header that starts below a row."""
        at = bisect_left(self.statements, (row + 1, 0))
        return self.statements[at] if at < len(self.statements) else None


# --- parsing -------------------------------------------------------------------------------


def parse(script: Script, filename: str, read: str | None = None) -> Document:
    """The document of a text that the running Python can parse, `read` in its place by LibCST.
    Raises `SourceError` for what is too long for LibCST, and for the little that it refuses."""
    text = script.text
    excess = too_long(text)
    if excess is not None:
        raise too_long_error(text, excess)
    deep = is_deep(text.encode("utf-8", "surrogatepass"))
    if read is not None and read != text and not deep:
        try:
            tree = tree_of(read)
        except REFUSED:
            return parse(script, filename)
        return Document(filename, text, tree, script, read)
    try:
        tree = in_large_stack(lambda: tree_of(text)) if deep else tree_of(text)
    except REFUSED as error:
        # Rare: `class A(metaclass=M, *bases)`.
        index, start = LineIndex(text), 0
        if isinstance(error, cst.ParserSyntaxError):
            start = index.offset(error.raw_line, error.raw_column + 1)
        reason = "valid for this Python, but LibCST, which devlint reads files with, refuses it"
        raise SourceError(reason, index.span(start, start), "unreadable") from None
    return Document(filename, text, tree, script, text)
