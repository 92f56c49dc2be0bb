"""How often each rule fired."""

from __future__ import annotations

from collections.abc import Sequence

from devlint.model.findings import Finding
from devlint.report.context import count_fixable
from devlint.report.text import Line, level_style, paint
from devlint.safety.escaping import json_text


def table(findings: Sequence[Finding], as_json: bool, color: bool) -> str:
    """A table, or a JSON array, of the rules that fired, the most frequent first."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    groups = sorted(by_code.values(), key=lambda group: (-len(group), group[0].code))
    if as_json:
        return json_text([_row(group) for group in groups], indent=2) + "\n"
    width = max((len(str(len(group))) for group in groups), default=1)
    return paint([_line(group, width) for group in groups], color)


def _row(group: Sequence[Finding]) -> dict[str, object]:
    safe, unsafe = count_fixable(group)
    return {
        "code": group[0].code,
        "name": group[0].name,
        "count": len(group),
        "fixable": safe,
        "fixable_unsafe": unsafe,
    }


def _line(group: Sequence[Finding], width: int) -> Line:
    safe, _ = count_fixable(group)
    return [
        (f"{len(group):>{width}}", "strong"),
        ("  ", ""),
        (group[0].code, level_style(group[0].level)),
        (f"  [{'*' if safe else ' '}] ", "help"),
        (group[0].name, ""),
    ]
