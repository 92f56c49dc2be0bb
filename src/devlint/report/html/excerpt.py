"""Source with lanes beside it and what there is to say of its rows below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from devlint.model.findings import Finding, Span
from devlint.model.spans import LineIndex
from devlint.report.changes import cell_of
from devlint.report.html.lanes import Cell, Lane, clash, drawn, kind, label, lanes, meeting
from devlint.report.html.markup import Mark, code, prose, text

_HEAD, _TAIL = 3, 2  # rows shown at both ends of a span over many rows
_AROUND = 2  # rows shown above and below one that something is said of
_NEAR = 2  # rows between two that are shown rather than left out

Name = Callable[[str], str]
"""How a file is shown; "" is the finding's own."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is said of a span. `css` is the class of its mark; `lane` counts from 1, 0 for none."""

    span: Span
    words: str
    css: str
    lane: int = 0
    device: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one file, or of one cell of a notebook. `filename` is "" for the finding's own."""

    filename: str
    heading: str
    source: LineIndex
    notes: tuple[Note, ...]
    above: int
    """How many rows of the text stand above the cell, where it is one of a notebook."""

    def rows(self) -> list[int]:
        """The rows that are shown."""
        rows: set[int] = set()
        in_cell = any(cell_of(note.span) for note in self.notes)
        for note in self.notes:
            first, last = note.span.row, _last_row(note.span)
            if last - first < _HEAD + _TAIL + 1:
                rows.update(range(first, last + 1))
            else:
                rows.update(range(first, first + _HEAD), range(last - _TAIL + 1, last + 1))
        around = {row - near for row in rows for near in range(1, _AROUND + 1)}
        if not in_cell:  # where a cell ends isn't known here
            around |= {row + near for row in rows for near in range(1, _AROUND + 1)}
        last = self.source.rows - (not self.source.row_text(self.source.rows))
        rows |= {row for row in around if self.above < row <= last}
        shown = sorted(rows)
        for before, after in pairwise(shown):
            if after - before - 1 <= _NEAR:
                rows.update(range(before, after))
        return self._unpadded(sorted(rows))

    def _unpadded(self, rows: list[int]) -> list[int]:
        """Rows without the empty ones around them, but for those that something is said of."""

        def tells(row: int) -> bool:
            marked = any(note.span.row <= row <= _last_row(note.span) for note in self.notes)
            return marked or bool(self.source.row_text(row).strip())

        told = [index for index, row in enumerate(rows) if tells(row)]
        return rows[told[0] : told[-1] + 1] if told else rows


def _last_row(span: Span) -> int:
    """A span that ends before the first column of a row doesn't reach into that row."""
    return span.end_row - 1 if span.end_column == 1 and span.end_row > span.row else span.end_row


def blocks(
    finding: Finding, found: Sequence[Lane], sources: Mapping[str, LineIndex], name: Name
) -> list[Block]:
    """The rows that tell of a finding: those of other files first, then its own. `sources` has the
    files that can be read, its own as ""; `name` tells how a file is shown."""
    numbers = {lane.value: number for number, lane in enumerate(found, start=1)}
    stops = {(id(stop.step)): stop.device for lane in found for stop in lane.stops}
    groups: dict[tuple[str, int], list[Note]] = {}
    for step in finding.trace:
        lane = numbers.get(step.value, 0)
        note = Note(step.span, step.message, "step", lane, stops.get(id(step), ""))
        groups.setdefault((step.filename, cell_of(step.span)), []).append(note)
    words = " meets ".join(f"`{lane.value}` on {label(lane.device).strip('`')}" for lane in found)
    at = meeting(finding)
    collide = words if clash(found) else ""
    own = Note(finding.span, collide if at == finding.span else "", "hit")
    groups.setdefault(("", cell_of(finding.span)), []).insert(0, own)
    if collide and at != finding.span:
        groups.setdefault(("", cell_of(at)), []).append(Note(at, collide, "hit"))
    made = []
    for (filename, cell), notes in sorted(groups.items(), key=lambda each: not each[0][0]):
        source = sources.get(filename)
        if source is not None:
            heading = f"{name(filename)}, cell {cell}" if cell else name(filename)
            above = notes[0].span.row - notes[0].span.own_row
            made.append(Block(filename, heading, source, tuple(notes), above))
    return made


def excerpt(
    finding: Finding, sources: Mapping[str, LineIndex], name: Name, missing: Iterable[str]
) -> str:
    """The source that a finding is about. `missing` are the names of files that can't be read."""
    found = lanes(finding)
    parts = blocks(finding, found, sources, name)
    rows = [(part, part.rows()) for part in parts]
    ordered = [(part.filename, row) for part, shown_rows in rows for row in shown_rows]
    places = {each: place for place, each in enumerate(ordered)}
    drawing = drawn(found, meeting(finding), places)
    html = [_legend(found)] if found else []
    said = '<p class="gone">The source of {} can\'t be read any more.</p>\n'
    html += [said.format(text(gone)) for gone in missing]
    several = len(parts) > 1
    for part, shown_rows in rows:
        if several:
            html.append(f'<p class="where">{text(part.heading)}</p>\n')
        html.append(
            f'<div class="excerpt" role="group" aria-label="Source of {text(part.heading)}">\n'
        )
        previous = 0
        for row in shown_rows:
            cells = drawing.at(places[part.filename, row])
            if previous and row > previous + 1:
                passing = "".join(map(_passing_above, cells))
                html.append(
                    f'<div class="row gap">{_lanes(passing)}<span class="no">⋯</span></div>\n'
                )
            html += _row(part, row, cells)
            previous = row
        html.append("</div>\n")
    return "".join(html)


def _legend(found: Sequence[Lane]) -> str:
    items = []
    for number, lane in enumerate(found, start=1):
        chips = " → ".join(chip(device) for device in lane.devices)
        items.append(f"<li>{_number(number)} <code>{text(lane.value)}</code> {chips}</li>")
    return f'<ul class="legend" aria-label="Values and where they are">{"".join(items)}</ul>\n'


def chip(device: str) -> str:
    """A device, in its colour and by its name."""
    return f'<span class="chip {kind(device)}">{text(label(device).strip("`"))}</span>'


def _number(lane: int) -> str:
    return f'<b class="lane-no" aria-hidden="true">{lane}</b>'


def _row(part: Block, row: int, cells: Sequence[Cell]) -> Iterator[str]:
    line = part.source.row_text(row) if row <= part.source.rows else ""
    marks = list(_marks(part.notes, row, line))
    own = next((note.span.row for note in part.notes if note.css == "hit"), 0)
    drawn_cells = "".join(_cell(cell, number) for number, cell in enumerate(cells, start=1))
    heard = '<span class="sr">reported: </span>' if row == own else ""
    hit = " hit" if any(name == "hit" for _, _, name in marks) else ""
    yield (
        f'<div class="row{hit}">{_lanes(drawn_cells)}<span class="no">{row - part.above}</span>'
        f'{heard}<code class="src">{code(line, marks)}</code></div>\n'
    )
    below = "".join(map(_passing_below, cells))
    for note in part.notes:
        if note.words and _last_row(note.span) == row:
            what = ""
            if note.lane:
                what = f"{_number(note.lane)} {chip(note.device)} "
            yield (
                f'<div class="row say {note.css}">{_lanes(below)}<span class="no"></span>'
                f"<span>{what}{prose(note.words)}</span></div>\n"
            )


def _marks(notes: Iterable[Note], row: int, line: str) -> Iterator[Mark]:
    """The marks in a row, the finding's own first."""
    for note in sorted(notes, key=lambda note: note.css != "hit"):
        span, last = note.span, _last_row(note.span)
        if span.row <= row <= last:
            blank = len(line) - len(line.lstrip())
            start = span.column if row == span.row else blank + 1
            end = span.end_column if row == span.end_row else len(line) + 1
            yield start, end, note.css


def _lanes(cells: str) -> str:
    return f'<span class="lanes" aria-hidden="true">{cells}</span>' if cells else ""


def _cell(cell: Cell, number: int) -> str:
    node = ""
    if cell.node:
        sign = "✕" if cell.node.startswith("clash") else str(number)
        node = f'<b class="{cell.node}">{sign}</b>'
    return f'<i class="{_classes(cell.above, cell.below)}">{node}</i>'


def _classes(above: str, below: str) -> str:
    return " ".join([f"u-{above}"] * bool(above) + [f"d-{below}"] * bool(below))


def _passing_below(cell: Cell) -> str:
    return f'<i class="{_classes(cell.below, cell.below)}"></i>'


def _passing_above(cell: Cell) -> str:
    return f'<i class="{_classes(cell.above, cell.above)}"></i>'
