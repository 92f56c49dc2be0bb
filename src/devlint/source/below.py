"""Lines that are put below a statement which binds a name: `x, y = x.to(device), y.to(device)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from devlint.model.findings import Edit
from devlint.model.reports import Part, Rewrite
from devlint.model.spans import LineIndex
from devlint.source.scopes import Scopes

Rows = tuple[int, int]
_NAME = "device"
_WIDEST = 88
"""Characters of a line that moves several things."""


@dataclass(frozen=True)
class Lines:
    """Where lines can be put in a text, by its statements and the names that they bind."""

    index: LineIndex
    scopes: Scopes
    statement_rows: Callable[[int], Rows]
    statement_after: Callable[[int], Rows | None]

    def row_above(self, rewrite: Rewrite, row: int) -> int | None:
        """The row of the statement below which the line of a rewrite belongs whose node stands on a
        row; None where that binds no such name."""
        assert rewrite.part is not None
        name = rewrite.part.name
        if rewrite.start.side != "below":
            found = self.scopes.binder(name, row)
            loops = rewrite.start.side == "loop"
            return None if loops and found and not self.scopes.is_header(found) else found
        first, _ = self.statement_rows(row)
        return first if self.scopes.binds(first, name) else None

    def edits(self, rewrites: Iterable[tuple[int, Rewrite]]) -> list[Edit] | None:
        """The edits of rewrites, each with the row of its node, of which the first decides where a
        thing goes; None where a line has no place."""
        moved: dict[int, str] = {}
        lines: dict[tuple[int, str], dict[Part, str]] = {}
        headers: dict[int, int] = {}
        for row, rewrite in rewrites:
            above, part = self.row_above(rewrite, row), rewrite.part
            if above is None or part is None:
                return None
            after = self._after_value(above, part) if rewrite.start.side == "binding" else None
            if after is not None:
                moved.setdefault(after, f".to({rewrite.text})")
                continue
            below = self._below(above)
            if below is None or (rewrite.start.side != "below" and below[0] > self._start(row)):
                return None
            headers[below[0]] = above
            lines.setdefault(below, {}).setdefault(part, rewrite.text)
        found = [Edit(self.index.span(after, after), text) for after, text in moved.items()]
        for (end, indent), moves in lines.items():
            named = self._named_above(headers[end], set(moves.values()))
            if named is not None:
                found.append(named)
                moves = dict.fromkeys(moves, _NAME)
            text = "".join(
                f"\n{indent}{line}" for line in _written(list(moves.items()), len(indent))
            )
            found.append(Edit(self.index.span(end, end), text))
        return found

    def _named_above(self, row: int, devices: set[str]) -> Edit | None:
        """`device = next(model.parameters()).device` above a loop, for what moves its batches; None
        where a device is short, or where the name has another meaning."""
        if len(devices) > 1 or not self.scopes.is_loop(row) or self.scopes.scope_of(_NAME, row):
            return None
        (device,) = devices
        if "(" not in device:
            return None
        first, _ = self.statement_rows(row)
        indent = _indent(self.index.row_text(first))
        start = self._start(first) + len(indent)
        return Edit(self.index.span(start, start), f"{_NAME} = {device}\n{indent}")

    def _after_value(self, row: int, part: Part) -> int | None:
        """Where `.to()` can follow the value that a row assigns."""
        end = None if not _is_name(part) else self.scopes.value_end(row, part.name)
        if end is None:
            return None
        start, _ = self.index.row_bounds(end[0])
        return start + len(self.index.row_text(end[0]).encode()[: end[1]].decode())

    def _start(self, row: int) -> int:
        return self.index.row_bounds(row)[0]

    def _below(self, row: int) -> tuple[int, str] | None:
        """The end of the row below which a line can stand, and its indentation; None where the
        statement on a row shares that with what comes after it, as the body of a loop may."""
        first, last = self.statement_rows(row)
        indent = _indent(self.index.row_text(first))
        if self.scopes.is_header(first):
            following = self.statement_after(last)
            inside = "" if following is None else _indent(self.index.row_text(following[0]))
            if len(inside) <= len(indent):
                return None
            indent = inside
        while self.scopes.is_move(last + 1, indent):
            last += 1
        return self.index.row_bounds(last)[1], indent


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip(" \t\f"))]


def _written(moves: list[tuple[Part, str]], indent: int) -> list[str]:
    """The lines that move parts: one for all names, if it isn't too long."""
    written = [(part.text, part.moved(device)) for part, device in moves]
    names = [each for each, (part, _) in zip(written, moves, strict=True) if _is_name(part)]
    one = f"{', '.join(name for name, _ in names)} = {', '.join(value for _, value in names)}"
    if len(names) < 2 or indent + len(one) > _WIDEST:
        return [part.line(device) for part, device in moves]
    return [one, *(part.line(device) for part, device in moves if not _is_name(part))]


def _is_name(part: Part) -> bool:
    return part.text == part.name and not part.each
