"""Findings below the name of their file, places aligned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from devlint.model.findings import Finding, Span
from devlint.report.closing import closing
from devlint.report.concise_format import verdict
from devlint.report.context import Context
from devlint.report.text import Line, paint


def render(findings: Sequence[Finding], context: Context) -> str:
    lines: list[Line] = []
    for filename, group in groupby(findings, key=lambda finding: finding.filename):
        here = list(group)
        rows = max(len(_row(finding.span)) for finding in here)
        columns = max(len(str(finding.span.column)) for finding in here)
        lines.append([(f"{filename}:", "strong")])
        for finding in here:
            place = f"{_row(finding.span):>{rows}}:{finding.span.column:<{columns}}"
            lines.append([(f"  {place}  ", "dim"), *verdict(finding)])
        lines.append([])
    return paint([*lines, *closing(findings, context.summary)], context.color)


def _row(span: Span) -> str:
    """`7`, or `cell 3:7`."""
    return span.place.rpartition(":")[0]
