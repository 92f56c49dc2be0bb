"""Azure Pipelines' logging commands, which show findings beside the log of a build."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding
from devlint.report.context import Context, Failure, in_cell, severity
from devlint.safety.escaping import azure_data, azure_property

_TYPES = {"error": "error", "warning": "warning", "note": "warning"}
"""There are no others."""


def render(findings: Sequence[Finding], context: Context) -> str:
    lines = [_finding(finding, context) for finding in findings]
    lines += [_failure(failure, context) for failure in context.summary.failures]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, context: Context) -> str:
    row, column, *_ = finding.span.of_file
    properties = {
        "type": _TYPES[severity(finding.level)],
        "sourcepath": context.relative_path(finding.filename),
        "linenumber": str(row),
        "columnnumber": str(column),
        "code": finding.code,
    }
    return _command(properties, in_cell(finding.span) + finding.message)


def _failure(failure: Failure, context: Context) -> str:
    where = {"sourcepath": context.relative_path(failure.filename)} if failure.filename else {}
    return _command({"type": "error", **where}, failure.reason)


def _command(properties: dict[str, str], message: str) -> str:
    pairs = "".join(f"{key}={azure_property(value)};" for key, value in properties.items())
    return f"##vso[task.logissue {pairs}]{azure_data(message)}"
