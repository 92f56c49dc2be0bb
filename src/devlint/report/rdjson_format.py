"""Reviewdog's diagnostic format: columns count bytes of UTF-8, and a fix is one suggestion."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.config.rulebook import HOMEPAGE, page_url
from devlint.model.findings import Finding, Fix, Span
from devlint.model.spans import LineIndex
from devlint.report.context import Context, in_cell, severity
from devlint.safety.escaping import json_text

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}

Json = dict[str, object]


def render(findings: Sequence[Finding], context: Context) -> str:
    sources: dict[str, LineIndex | None] = {}
    for name in dict.fromkeys(finding.filename for finding in findings):
        text = context.sources(name)
        sources[name] = None if text is None else LineIndex(text)
    result = {
        "source": {"name": "devlint", "url": HOMEPAGE},
        "diagnostics": [
            _diagnostic(finding, sources[finding.filename], context) for finding in findings
        ],
    }
    return json_text(result, indent=2) + "\n"


def _diagnostic(finding: Finding, source: LineIndex | None, context: Context) -> Json:
    message = in_cell(finding.span) + finding.message
    diagnostic: Json = {
        "message": f"{message}\n{finding.help}" if finding.help else message,
        "location": {
            "path": context.relative_path(finding.filename),
            "range": _range(finding.span, source),
        },
        "severity": _SEVERITIES[severity(finding.level)],
        "code": {"value": finding.code, "url": page_url(finding.name)},
    }
    suggestion = None if finding.fix is None else _suggestion(finding.fix, source)
    return diagnostic if suggestion is None else {**diagnostic, "suggestions": [suggestion]}


def _suggestion(fix: Fix, source: LineIndex | None) -> Json | None:
    """All edits of a fix as one, since each suggestion can be taken alone. None in a notebook,
    where a cell's text isn't the file's, where the file has gone or changed, and for another file.
    """
    edits = sorted(fix.edits, key=lambda edit: edit.span.start)
    if fix.filename or source is None or not edits or edits[0].span.cell is not None:
        return None
    first, last = edits[0].span, edits[-1].span
    if last.end > len(source.text):
        return None
    parts, at = [], first.start
    for edit in edits:
        parts += [source.text[at : edit.span.start], edit.content]
        at = edit.span.end
    whole = Span(first.start, last.end, first.row, first.column, last.end_row, last.end_column)
    return {"range": _range(whole, source), "text": "".join(parts)}


def _range(span: Span, source: LineIndex | None) -> Json:
    """Where a span is in the file: whole lines where the bytes before it aren't known."""
    row, column, end_row, end_column = span.of_file
    if source is None or span.cell is not None:
        return {"start": {"line": row}, "end": {"line": end_row}}
    return {
        "start": {"line": row, "column": source.utf8_column(row, column)},
        "end": {"line": end_row, "column": source.utf8_column(end_row, end_column)},
    }
