"""What a run has collected, in the formats of the linter's reports."""

from __future__ import annotations

import linecache
from pathlib import Path

from devlint.model.findings import Finding, Level, Span
from devlint.report import Summary, render
from devlint.report.json_format import as_object
from devlint.runtime.collected import Collection, Mismatch, how_often
from devlint.safety.escaping import json_text

FORMATS = ("text", "json", "sarif", "junit")


def rendered(output_format: str, collection: Collection, root: Path) -> str:
    """A collection in one of `FORMATS`; paths in SARIF and JUnit are relative to a root.

    JSON has the fields of the linter's findings, and those of `Mismatch` that these lack.
    """
    if output_format == "text":
        return collection.text()
    found = [(_finding(mismatch, count), mismatch, count) for mismatch, count in collection]
    if output_format != "json":
        findings = [finding for finding, *_ in found]
        return render(output_format, findings, Summary(root=root), False, _source)
    objects = [
        {
            **as_object(finding),
            "message": mismatch.message,
            "count": count,
            "outcome": mismatch.outcome,
            "explanation": mismatch.explanation,
            "repair": mismatch.fix,
            "module": mismatch.module,
            "argument": mismatch.argument,
            "devices": mismatch.devices,
        }
        for finding, mismatch, count in found
    ]
    return json_text(objects, indent=2) + "\n"


def _finding(mismatch: Mismatch, count: int) -> Finding:
    return Finding(
        filename=mismatch.file,
        code=mismatch.code,
        name=mismatch.rule,
        message=f"{mismatch.message} ({how_often(mismatch, count)})",
        level=Level.ERROR,
        span=_span(mismatch.file, mismatch.line),
        help=mismatch.fix,
    )


def _span(file: str, line: int) -> Span:
    """A line of a file, without its indentation; its first place where there is no source."""
    lines = linecache.getlines(file)
    before = sum(map(len, lines[: line - 1]))
    text = lines[line - 1].rstrip() if line <= len(lines) else ""
    start, end = len(text) - len(text.lstrip()), len(text)
    return Span(before + start, before + end, line, start + 1, line, end + 1)


def _source(file: str) -> str | None:
    return "".join(linecache.getlines(file)) or None
