"""All findings as one JSON array."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.config.rulebook import page_url
from devlint.model.findings import Finding, Safety, Span
from devlint.report.context import Context, severity
from devlint.safety.escaping import json_text


def render(findings: Sequence[Finding], context: Context) -> str:
    found: object = [as_object(finding) for finding in findings]
    if context.summary.shard is not None:  # for `devlint merge`, which makes one array of all
        found = {"shard": dict(context.summary.shard), "findings": found}
    return json_text(found, indent=2) + "\n"


def as_object(finding: Finding) -> dict[str, object]:
    """A finding as plain values; rows and columns are 1-based, ends exclusive. In a notebook, rows
    are those of the cell. `fixable` is what `--fix` repairs by itself."""
    fix = finding.fix
    return {
        "filename": finding.filename,
        "cell": _cell(finding.span),
        "location": _start(finding.span),
        "end_location": _end(finding.span),
        "code": finding.code,
        "name": finding.name,
        "level": severity(finding.level),
        "confidence": finding.score,
        "message": finding.message,
        "help": finding.help or None,
        "url": page_url(finding.name),
        "trace": [
            {
                "message": step.message,
                "filename": step.filename or finding.filename,
                "cell": _cell(step.span),
                "location": _start(step.span),
                "end_location": _end(step.span),
            }
            for step in finding.trace
        ],
        "derivation": list(finding.sorts),
        "fixable": fix is not None and fix.safety is Safety.SAFE,
        "fix": None
        if fix is None
        else {
            "applicability": fix.safety.value,
            "message": fix.message,
            "filename": fix.filename or finding.filename,
            "edits": [
                {
                    "content": edit.content,
                    "cell": _cell(edit.span),
                    "location": _start(edit.span),
                    "end_location": _end(edit.span),
                }
                for edit in fix.edits
            ],
        },
    }


def _cell(span: Span) -> int | None:
    return None if span.cell is None else span.cell.number


def _start(span: Span) -> dict[str, int]:
    return {"row": span.own_row, "column": span.column}


def _end(span: Span) -> dict[str, int]:
    return {"row": span.own_end_row, "column": span.end_column}
