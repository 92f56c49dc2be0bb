"""One line a finding: `path:row:column: CODE [*] message`, which every editor understands."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding, Safety
from devlint.report.closing import closing
from devlint.report.context import Context
from devlint.report.text import Line, level_style, paint


def render(findings: Sequence[Finding], context: Context) -> str:
    lines = [_line(finding) for finding in findings]
    return paint([*lines, *closing(findings, context.summary)], context.color)


def _line(finding: Finding) -> Line:
    return [
        (finding.filename, "strong"),
        (f":{finding.span.place}: ", "dim"),
        *verdict(finding),
    ]


def verdict(finding: Finding) -> Line:
    """`CODE [*] message`, where `[*]` marks a finding that `--fix` repairs."""
    safe = finding.fix is not None and finding.fix.safety is Safety.SAFE
    return [
        (finding.code, level_style(finding.level)),
        (" [*]" if safe else "", "help"),
        (f" {finding.message}", ""),
    ]
