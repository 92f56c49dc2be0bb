"""bench/oracle.py: what tests on a device say of findings."""

from __future__ import annotations

import oracle


def place(*lines: int) -> oracle.Place:
    named = frozenset(("a.py", line) for line in lines)
    return oracle.Place("a.py", lines[0], "DEV203", "", named)


def test_findings_beside_causes_and_lines_that_ran() -> None:
    findings = [place(10, 12), place(20), place(30), place(40)]
    causes = [place(13, 12), place(50)]
    ran = {("a.py", 20): True, ("a.py", 30): False, ("b.py", 40): True}
    found = [(each.line, outcome) for each, outcome in oracle.labels(findings, causes, ran)]
    assert found == [(10, "raised"), (20, "ran"), (30, "host"), (40, "not run"), (50, "missed")]


def test_a_reader_s_reasons_are_kept() -> None:
    label = oracle.Label("package", "1.0", "a.py", 3, "DEV203", "missed", "text")
    before = [oracle.Label("package", "1.0", "a.py", 3, "DEV203", "missed", "", "in a callback")]
    (kept,) = oracle.with_reasons([label], before)
    assert (kept.message, kept.reason) == ("text", "in a callback")
    assert oracle.with_reasons([label], []) == [label]
