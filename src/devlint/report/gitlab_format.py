"""GitLab's Code Quality report."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.escaping import json_text, markdown
from devlint.model.findings import Finding, Span
from devlint.report.context import Context, severity

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(findings: Sequence[Finding], context: Context) -> str:
    marks = context.fingerprints(findings)
    issues = [
        {
            "type": "issue",
            "description": markdown(f"{finding.code}: {finding.message}"),
            "check_name": finding.code,
            "categories": ["Bug Risk"],
            "fingerprint": mark,
            "severity": _SEVERITIES[severity(finding.level)],
            "location": {
                "path": context.relative_path(finding.filename),
                "lines": {"begin": finding.span.row, "end": finding.span.end_row},
                "positions": _positions(finding.span),
            },
        }
        for finding, mark in zip(findings, marks, strict=True)
    ]
    return json_text(issues, indent=2) + "\n"


def _positions(span: Span) -> dict[str, dict[str, int]]:
    return {
        "begin": {"line": span.row, "column": span.column},
        "end": {"line": span.end_row, "column": span.end_column},
    }
