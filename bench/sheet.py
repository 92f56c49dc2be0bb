"""Findings for somebody to judge: what devlint says, the code around, and room for a verdict."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import labels

BEFORE, AFTER = 30, 12
"""How many lines around a finding are shown: what matters mostly stands above."""


def choose(
    findings: Iterable[labels.Record],
    known: dict[labels.Key, labels.Label],
    codes: tuple[str, ...] = labels.PROVING,
    *,
    once: bool = False,
) -> list[labels.Record]:
    """Findings of these prefixes without a label; with `once`, those that one reader has judged.

    Of several on one line with one code, the first.
    """
    chosen: dict[labels.Key, labels.Record] = {}
    for finding in findings:
        label = known.get(labels.key_of(finding))
        open_one = label is not None and len(label.readers) == 1 if once else label is None
        if open_one and str(finding["code"]).startswith(codes):
            chosen.setdefault(labels.key_of(finding), finding)
    return list(chosen.values())


def sample(findings: list[labels.Record], size: int, seed: int) -> list[labels.Record]:
    """At most `size` of them, drawn at random, in their order; all where `size` is 0."""
    if not 0 < size < len(findings):
        return findings
    numbers = random.Random(seed).sample(range(len(findings)), size)
    return [findings[number] for number in sorted(numbers)]


def write(
    findings: Iterable[labels.Record], text_of: Callable[[labels.Record], str], path: Path
) -> None:
    """A JSON array with an object for each finding, whose `verdict` and `reason` are to fill in."""
    entries = [_entry(finding, text_of(finding)) for finding in findings]
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def _entry(finding: labels.Record, text: str) -> labels.Record:
    names = ("package", "version", "path", "line", "code", "name", "confidence", "message")
    told = {name: finding[name] for name in names if name in finding}
    line = int(str(finding["line"]))
    trace = finding.get("trace") or []
    assert isinstance(trace, list)
    steps = [f"{step['location']['row']}: {step['message']}" for step in trace]
    return {
        **told,
        "verdict": "",
        "reason": "",
        "trace": steps,
        "around": around(text, line),
    }


def around(text: str, line: int) -> list[str]:
    """The numbered lines around a 1-based line, which is marked."""
    rows = text.splitlines()
    first = max(0, line - 1 - BEFORE)
    return [
        f"{'>' if number == line else ' '} {number:5} {row}"
        for number, row in enumerate(rows[first : line + AFTER], first + 1)
    ]
