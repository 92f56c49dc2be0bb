"""GitHub's workflow commands, which show findings beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding
from devlint.report.context import Context, Failure, severity
from devlint.safety.escaping import workflow_data, workflow_property

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(findings: Sequence[Finding], context: Context) -> str:
    lines = [_finding(finding, context) for finding in findings]
    lines += [_failure(failure, context) for failure in context.summary.failures]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, context: Context) -> str:
    span = finding.span
    row, column, end_row, end_column = span.of_file
    where = {
        "file": context.relative_path(finding.filename),
        "line": str(row),
        "endLine": str(end_row),
    }
    if row == end_row:
        # Columns that belong to two rows are refused: GitHub wants the end behind the start.
        where |= {"col": str(column), "endColumn": str(end_column)}
    where["title"] = f"{finding.code} {finding.name}"
    place = f"{where['file']}:{span.place}"
    message = f"{place}: {finding.code} {finding.message}"
    return _command(_COMMANDS[severity(finding.level)], where, message)


def _failure(failure: Failure, context: Context) -> str:
    where = {"title": "devlint"}
    if failure.filename:
        where = {"file": context.relative_path(failure.filename), **where}
    return _command("error", where, failure.reason)


def _command(command: str, properties: dict[str, str], message: str) -> str:
    pairs = ",".join(f"{key}={workflow_property(value)}" for key, value in properties.items())
    return f"::{command} {pairs}::{workflow_data(message)}"
