"""Findings as JSON and back: how the cache keeps them and how processes hand them over.

Arrays without keys: a warm run reads thousands of them. The filename is left out, since the same
file may be called otherwise by the next run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from devlint.model.findings import (
    CellSpan,
    Confidence,
    Coverage,
    Edit,
    Finding,
    Fix,
    Level,
    Safety,
    Span,
    Step,
)


def encode(findings: Sequence[Finding]) -> str:
    """Findings of one file as JSON; "" for none."""
    if not findings:
        return ""
    rows = [_finding(finding) for finding in findings]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def decode(text: str, filename: str) -> list[Finding]:
    """The findings that `encode` wrote. Raises `ValueError` or `TypeError` for anything else."""
    if not text:
        return []
    return [_read(filename, *row) for row in json.loads(text)]


def _read(filename: str, *row: Any) -> Finding:
    code, name, message, level, span, trace, fix, remedy, statement, sure, sorts, score = row
    return Finding(
        filename=filename,
        code=code,
        name=name,
        message=message,
        level=Level(level),
        span=_read_span(span),
        trace=tuple(_read_step(*step) for step in trace),
        fix=None if fix is None else _read_fix(*fix),
        help=remedy,
        statement=(statement[0], statement[1]),
        confidence=Confidence(sure),
        sorts=tuple(sorts),
        score=score,
    )


def _shown(path: str) -> str:
    """Relative to the current folder where it lies below it."""
    return path.removeprefix(os.path.join(os.getcwd(), ""))


def _finding(finding: Finding) -> list[Any]:
    return [
        finding.code,
        finding.name,
        finding.message,
        finding.level.value,
        _span(finding.span),
        [_step(step) for step in finding.trace],
        None if finding.fix is None else _fix(finding.fix),
        finding.help,
        finding.statement,
        finding.confidence.value,
        finding.sorts,
        finding.score,
    ]


def _step(step: Step) -> list[Any]:
    return [_span(step.span), step.message, step.filename, step.value, step.device]


def _read_step(span: list[int], message: str, path: str, value: str, device: str) -> Step:
    return Step(_read_span(span), message, _shown(path), value, device)


def _fix(fix: Fix) -> list[Any]:
    edits = [[_span(edit.span), edit.content] for edit in fix.edits]
    return [fix.message, fix.safety.value, edits, fix.filename]


def _read_fix(message: str, safety: str, edits: list[Any], path: str) -> Fix:
    read = tuple(Edit(_read_span(span), content) for span, content in edits)
    return Fix(message, Safety(safety), read, _shown(path))


def _span(span: Span) -> list[int]:
    row = [span.start, span.end, span.row, span.column, span.end_row, span.end_column]
    return row if span.cell is None else [*row, *astuple(span.cell)]


def _read_span(row: list[int]) -> Span:
    start, end, first, column, last, end_column, *cell = row
    return Span(start, end, first, column, last, end_column, CellSpan(*cell) if cell else None)


def encode_coverage(coverage: Coverage) -> str:
    """How much of a file is decided, as JSON; "" where nothing meets."""
    if not coverage.meetings:
        return ""
    row = [coverage.decided, coverage.unknown]
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def decode_coverage(text: str) -> Coverage:
    """What `encode_coverage` wrote. Raises `ValueError` or `TypeError` for anything else."""
    if not text:
        return Coverage()
    decided, unknown = json.loads(text)
    return Coverage(decided, tuple((cause, count) for cause, count in unknown))


def encode_counts(counts: Mapping[str, int]) -> str:
    """How many findings are withheld, by what withholds them, as JSON; "" for none."""
    return json.dumps(dict(counts), separators=(",", ":")) if counts else ""


def decode_counts(text: str) -> dict[str, int]:
    """What `encode_counts` wrote. Raises `ValueError` for anything else."""
    return dict(json.loads(text)) if text else {}
