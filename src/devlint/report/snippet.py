"""Draws source lines with carets and labels below them.

     3 | x = torch.ones(3, device="cuda")
       |     ---------------------------- made on cuda here
     4 | z = x + y
       |     ^^^^^ used together here

A label within one line is underlined. One over several lines gets a bar at their left. All
labels of a file share one drawing; lines between them that are far from any are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from devlint.model.findings import Span
from devlint.model.spans import LineIndex
from devlint.report.cells import Canvas, Row
from devlint.report.text import Line
from devlint.safety.escaping import shown as escaped

_NEAR = 2  # lines between two labelled lines that are shown rather than left out
_HEAD, _TAIL = 3, 2  # lines shown at both ends of a span over many lines


@dataclass(frozen=True, slots=True)
class Label:
    """A span to mark. The primary one is what the finding is about; `style` is its colour."""

    span: Span
    text: str
    style: str
    primary: bool = False


@dataclass(frozen=True, slots=True)
class _Mark:
    """What stands below one line: from cell `start` to before cell `end`."""

    start: int
    end: int
    text: str
    style: str
    primary: bool
    bar: int = -1
    """The bar whose end this is, or -1."""
    opens: bool = False
    """The mark is the start of a bar, which has no text."""

    @property
    def sign(self) -> str:
        return "^" if self.primary else "-"


def draw(source: LineIndex, labels: Sequence[Label], digits: int, above: int = 0) -> list[Line]:
    """The drawing, without what stands above and below it.

    `source` is the whole file; `digits` is the width of the row numbers, which count from the row
    behind the first `above` ones.
    """
    labels = _merged(labels)
    rows = _rows_shown(labels)
    bars = _bars(labels)
    width = max((bars[label] + 1 for label in bars), default=0)
    drawn: list[Line] = []
    previous = 0
    for row in rows:
        if previous and row > previous + 1:
            drawn.append([*gap(digits), *_bar_cells(_alive(bars, previous, row), width)])
        text = source.row_text(row) if row <= source.rows else ""
        drawn += _draw_row(row, text, labels, bars, digits, width, above)
        previous = row
    return drawn


def gutter(digits: int, row: int | None = None, sign: str = "|") -> Line:
    """What stands left of a drawn line."""
    return [(f"{'' if row is None else row:>{digits}} {sign}", "gutter")]


def gap(digits: int) -> Line:
    """What stands in the place of lines left out."""
    return [("..." + " " * (digits - 1), "gutter")]


def _merged(labels: Sequence[Label]) -> list[Label]:
    """One label a span, the primary one first: texts joined, the oldest step first."""
    merged: dict[tuple[int, int, int, int], Label] = {}
    for label in labels:
        span = label.span
        key = (span.row, span.column, span.end_row, span.end_column)
        known = merged.get(key)
        if known is None:
            merged[key] = label
            continue
        texts = dict.fromkeys(text for text in (known.text, label.text) if text)
        leading = label if label.primary else known
        merged[key] = Label(span, "; ".join(texts), leading.style, leading.primary)
    return sorted(merged.values(), key=lambda label: not label.primary)


def _rows_shown(labels: Sequence[Label]) -> list[int]:
    rows: set[int] = set()
    for label in labels:
        first, last = label.span.row, _last_row(label.span)
        if last - first < _HEAD + _TAIL + 1:
            rows.update(range(first, last + 1))
        else:
            rows.update(range(first, first + _HEAD), range(last - _TAIL + 1, last + 1))
    shown = sorted(rows)
    for before, after in pairwise(shown):
        if after - before - 1 <= _NEAR:
            rows.update(range(before, after))
    return sorted(rows)


def _last_row(span: Span) -> int:
    """A span that ends before the first column of a row doesn't reach into that row."""
    return span.end_row - 1 if span.end_column == 1 and span.end_row > span.row else span.end_row


def _bars(labels: Sequence[Label]) -> dict[Label, int]:
    """The place, from the left, of the bar of each label over several lines; outer ones first."""
    bars: dict[Label, int] = {}
    tall = [label for label in labels if _last_row(label.span) > label.span.row]
    for label in sorted(tall, key=lambda label: (label.span.start, -label.span.end)):
        taken = {
            place
            for other, place in bars.items()
            if _last_row(other.span) >= label.span.row and other.span.row <= _last_row(label.span)
        }
        bars[label] = next(place for place in range(len(bars) + 1) if place not in taken)
    return bars


def _alive(bars: dict[Label, int], before: int, after: int) -> dict[int, str]:
    """The bars that run from row `before` to row `after`: their places and styles."""
    return {
        place: label.style
        for label, place in bars.items()
        if label.span.row <= before and _last_row(label.span) >= after
    }


def _bar_cells(alive: dict[int, str], width: int) -> Line:
    """One blank, then two cells a bar."""
    line: Line = [(" ", "")]
    for place in range(width):
        line += [("|", alive[place]) if place in alive else (" ", ""), (" ", "")]
    return line


def _draw_row(
    row: int,
    text: str,
    labels: Sequence[Label],
    bars: dict[Label, int],
    digits: int,
    width: int,
    above: int,
) -> list[Line]:
    """A source line and what stands below it."""
    alive = _alive(bars, row - 1, row)
    spans: list[tuple[Label, int, int, bool]] = []  # label, columns, whether a bar starts here
    slashes: dict[int, str] = {}
    for label in labels:
        span, last = label.span, _last_row(label.span)
        end = span.end_column if last == span.end_row else len(text) + 1
        if label not in bars:
            if span.row == row:
                spans.append((label, span.column, end, False))
        elif last == row:
            spans.append((label, max(end - 1, 1), end, False))
        elif span.row == row:
            if text[: span.column - 1].strip():
                spans.append((label, span.column, span.column + 1, True))
            else:
                slashes[bars[label]] = label.style
    shown = Row(text, [(start, end) for _, start, end, _ in spans])
    marks = [
        _Mark(
            *shown.cells(start, end),
            "" if opens else escaped(label.text),
            label.style,
            label.primary,
            bars.get(label, -1),
            opens,
        )
        for label, start, end, opens in spans
    ]
    margin = _bar_cells(alive, width)
    for place, style in slashes.items():
        margin[1 + 2 * place] = ("/", style)
    lines: list[Line] = [[*gutter(digits, row - above), *margin, *shown.line]]
    below = {**alive, **slashes}
    # Ends and starts of bars get lines of their own, so that their arms cross no label.
    for mark in sorted((m for m in marks if m.bar >= 0), key=lambda m: (m.opens, -m.bar)):
        lines.append(_arm(mark, below, digits, width))
        if mark.opens:
            below[mark.bar] = mark.style
        else:
            below.pop(mark.bar, None)
    short = [mark for mark in marks if mark.bar < 0]
    beside = [*gutter(digits), *_bar_cells({**alive, **slashes}, width)]
    lines[1:1] = [[*beside, *line] for line in _underlines(short)]
    return lines


def _arm(mark: _Mark, alive: dict[int, str], digits: int, width: int) -> Line:
    """`|____^ text`, the end of a bar, or ` ____^`, its start."""
    cells = _bar_cells(alive, width)
    at = 1 + 2 * mark.bar
    if mark.opens:
        cells[at] = (" ", "")
    for index in range(at + 1, len(cells)):
        if cells[index][0] == " ":
            cells[index] = ("_", mark.style)
    arm = "_" * mark.start + mark.sign
    text = f" {mark.text}" if mark.text else ""
    return [*gutter(digits), *cells, (arm + text, mark.style)]


def _underlines(marks: Sequence[_Mark]) -> list[Line]:
    """Underlines and their texts: the last one beside its underline, the others below theirs."""
    canvas = Canvas()
    for mark in sorted(marks, key=lambda mark: (mark.start - mark.end, mark.primary)):
        canvas.put(0, mark.start, mark.sign * (mark.end - mark.start), mark.style)
    texts = sorted((m for m in marks if m.text), key=lambda m: (m.start, -m.end), reverse=True)
    if texts and all(mark.end <= texts[0].end for mark in marks):
        last = texts.pop(0)
        canvas.put(0, last.end + 1, last.text, last.style)
    rows = {mark: row for row, mark in enumerate(texts, start=2)}
    for mark, row in rows.items():
        # Texts of marks that start on one cell stand below each other, under one connector.
        highest = min(rows[other] for other in texts if other.start == mark.start)
        for above in range(1, highest):
            canvas.put(above, mark.start, "|", mark.style)
        canvas.put(row, mark.start, mark.text, mark.style)
    return canvas.lines()
