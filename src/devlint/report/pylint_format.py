"""One line a finding as pylint's parseable output has it: `path:row: [CODE] message`."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding
from devlint.report.context import Context, in_cell
from devlint.safety.escaping import line


def render(findings: Sequence[Finding], context: Context) -> str:
    return "".join(f"{line(_line(finding, context))}\n" for finding in findings)


def _line(finding: Finding, context: Context) -> str:
    span = finding.span
    place = f"{context.relative_path(finding.filename)}:{span.of_file[0]}"
    return f"{place}: [{finding.code}] {in_cell(span)}{finding.message}"
