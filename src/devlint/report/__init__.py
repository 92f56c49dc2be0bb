"""Findings as text: one module a format, imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from devlint.model.findings import OUTPUT_FORMATS, Finding
from devlint.report.closing import fixed_lines, left_out
from devlint.report.context import Context, Sources, Summary

__all__ = [
    "WITH_CLOSING",
    "Context",
    "Sources",
    "Summary",
    "fixes",
    "left_out",
    "painted_diffs",
    "render",
    "statistics",
]

WITH_CLOSING = ("full", "concise", "grouped")
"""The formats for people, which end with a line on the run as a whole."""


def render(
    output_format: str,
    findings: Sequence[Finding],
    summary: Summary,
    color: bool,
    sources: Sources,
    links: bool = False,
) -> str:
    """Findings in one of `OUTPUT_FORMATS`, sorted by place, ending in a newline unless empty.

    `sources` gives a file's text, or None where it is gone. Only formats that a terminal shows
    heed `color`, and with it `links`. Raises `ValueError` for an unknown format.
    """
    if output_format not in OUTPUT_FORMATS:
        known = ", ".join(OUTPUT_FORMATS)
        raise ValueError(f"unknown output format {output_format!r}; known are {known}")
    module = importlib.import_module(f"{__name__}.{output_format.replace('-', '_')}_format")
    ordered = sorted(findings, key=_place)
    text: str = module.render(ordered, Context(summary, color, sources, links))
    return text


def statistics(output_format: str, findings: Sequence[Finding], color: bool = False) -> str:
    """How often each rule fired, most frequent first; JSON for the JSON formats."""
    from devlint.report.counts import table

    return table(findings, as_json=output_format in ("json", "json-lines", "rdjson"), color=color)


def fixes(summary: Summary, only_shown: bool = False) -> str:
    """A list of what was fixed, or would be, by file and rule; "" where it isn't asked for."""
    from devlint.report.text import paint

    if not summary.fixes:
        return ""
    return paint(fixed_lines(summary.fixes, "Would fix" if only_shown else "Fixed"), color=False)


def painted_diffs(diffs: Sequence[bytes]) -> str:
    """Diffs in colour, for a terminal."""
    from devlint.report.diffs import painted

    return painted(diffs)


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    span = finding.span
    return finding.filename, span.row, span.column, finding.code, finding.message
