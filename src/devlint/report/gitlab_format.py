"""GitLab's Code Quality report."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding, Span
from devlint.report.context import Context, in_cell, severity
from devlint.safety.escaping import json_text, markdown

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(findings: Sequence[Finding], context: Context) -> str:
    marks = context.fingerprints(findings)
    issues = [
        {
            "type": "issue",
            "description": markdown(f"{finding.code}: {in_cell(finding.span)}{finding.message}"),
            "check_name": finding.code,
            "categories": ["Bug Risk"],
            "fingerprint": mark,
            "severity": _SEVERITIES[severity(finding.level)],
            "location": {
                "path": context.relative_path(finding.filename),
                **_lines(finding.span),
            },
        }
        for finding, mark in zip(findings, marks, strict=True)
    ]
    return json_text(issues, indent=2) + "\n"


def _lines(span: Span) -> dict[str, object]:
    row, column, end_row, end_column = span.of_file
    return {
        "lines": {"begin": row, "end": end_row},
        "positions": {
            "begin": {"line": row, "column": column},
            "end": {"line": end_row, "column": end_column},
        },
    }
