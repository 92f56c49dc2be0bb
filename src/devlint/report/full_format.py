"""The diagnostic for people: the source, what to look at, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Confidence, Finding, Fix, Safety
from devlint.model.spans import LineIndex
from devlint.report.cells import excerpt
from devlint.report.changes import cell_of, hunks
from devlint.report.closing import closing
from devlint.report.context import Context, severity
from devlint.report.snippet import Label, draw, gap, gutter
from devlint.report.text import Line, level_style, paint


def render(findings: Sequence[Finding], context: Context) -> str:
    lines: list[Line] = []
    filename: str | None = None
    source: LineIndex | None = None
    for finding in findings:
        if finding.filename != filename:
            filename = finding.filename
            text = context.sources(filename)
            source = None if text is None else LineIndex(text)
        other = source
        if finding.fix is not None and finding.fix.filename:
            text = context.sources(finding.fix.filename)
            other = None if text is None else LineIndex(text)
        lines += [*_diagnostic(finding, source, other, context.links), []]
    return paint([*lines, *closing(findings, context.summary)], context.color)


def _diagnostic(
    finding: Finding, source: LineIndex | None, fixed: LineIndex | None, links: bool
) -> list[Line]:
    """A finding with the source of its file, and of the file that its fix changes."""
    style = level_style(finding.level)
    linked = f"{style} {_page_url(finding.name)}" if links else style
    span = finding.span
    digits = _digits(finding)
    lines: list[Line] = [
        [
            (f"{severity(finding.level)}[", style),
            (finding.code, linked),
            ("]", style),
            (f" {finding.name}: {finding.message}", "strong"),
        ],
        [
            (" " * digits + "--> ", "gutter"),
            (f"{finding.filename}:{span.place}", ""),
        ],
    ]
    notes = _notes(finding, digits)
    if source is not None:
        for number, labels in enumerate(_by_cell(_labels(finding))):
            at = labels[0].span
            if number:
                lines.append(_elsewhere(f"{finding.filename}:{at.place}", digits))
            lines.append(gutter(digits))
            lines += draw(source, labels, digits, at.row - at.own_row)
        if notes:
            lines.append(gutter(digits))
    lines += notes
    if fixed is not None and finding.fix is not None:
        lines += _diff(fixed, finding.fix, digits, finding)
    return lines


def _page_url(name: str) -> str:
    from devlint.config.rulebook import page_url  # output that isn't a terminal's has no links

    return page_url(name)


def _digits(finding: Finding) -> int:
    spans = [finding.span, *(step.span for step in finding.trace if not step.filename)]
    spans += [edit.span for edit in finding.fix.edits] if finding.fix else []
    added = sum(edit.content.count("\n") for edit in finding.fix.edits) if finding.fix else 0
    return len(str(max(span.own_end_row for span in spans) + added))


def _by_cell(labels: Sequence[Label]) -> list[list[Label]]:
    """Labels of one cell of a notebook each, the primary one's first; all of another file."""
    groups: dict[int, list[Label]] = {}
    for label in labels:
        groups.setdefault(cell_of(label.span), []).append(label)
    first, *others = groups
    return [groups[number] for number in (first, *sorted(others))]


def _elsewhere(place: str, digits: int) -> Line:
    return [(" " * digits + "--> ", "gutter"), (place, "")]


def _labels(finding: Finding) -> list[Label]:
    primary = Label(finding.span, "", level_style(finding.level), primary=True)
    own = (step for step in finding.trace if not step.filename)
    return [primary, *(Label(step.span, step.message, "label") for step in own)]


def _notes(finding: Finding, digits: int) -> list[Line]:
    notes = [
        ("note", f"{step.message}, in {step.filename}:{step.span.row}:{step.span.column}")
        for step in finding.trace
        if step.filename
    ]
    if finding.confidence is Confidence.MEDIUM:
        notes.append(("confidence", f"{finding.score} %, only a run decides one of the devices"))
    if finding.help:
        notes.append(("help", finding.help))
    if finding.fix is not None:
        safe = finding.fix.safety is Safety.SAFE
        flags = "safe, --fix" if safe else "unsafe, --fix --unsafe-fixes"
        there = f", in {finding.fix.filename}" if finding.fix.filename else ""
        notes.append(("fix", f"{finding.fix.message}{there} ({flags})"))
    return [
        [(" " * (digits + 1) + "= ", "gutter"), (f"{word}:", "help"), (f" {text}", "")]
        for word, text in notes
    ]


def _diff(source: LineIndex, fix: Fix, digits: int, finding: Finding) -> list[Line]:
    """The lines that a fix removes and adds, each with its row before or after the fix."""
    lines: list[Line] = []
    cell = 0 if fix.filename else cell_of(finding.span)
    for hunk in hunks(source, fix):
        if hunk.cell != cell:
            cell = hunk.cell
            lines += [_elsewhere(f"{finding.filename}:cell {cell}", digits), gutter(digits)]
        else:
            lines.append(gap(digits) if lines else gutter(digits))
        for row in hunk.rows:
            shown = f"{row.sign} {excerpt(row.text, row.column)}"
            style = "removed" if row.sign == "-" else "added"
            lines.append([(f"{row.row:>{digits}} ", "gutter"), (shown, style)])
    return lines
