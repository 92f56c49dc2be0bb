"""The figures of `bench/suites.py`, from runs and labels that are made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
import suites

SUITE = suites.Suite("package", "1.0", "seen", ("tests",))
REAL, FALSE = ("package/a.py", 3), ("package/b.py", 5)


def line(test: str, outcome: str, *places: suites.Place, reason: str = "") -> dict[str, Any]:
    """What the witness writes of a test."""
    causes = [{"file": file, "line": at} for file, at in places]
    return {"test": test, "outcome": outcome, "causes": causes, "reason": reason}


def label(place: suites.Place, first: str, second: str | None) -> str:
    file, at = place
    said = {"file": file, "line": at, "reader1": first, "reader2": second}
    return json.dumps({"package": "package", "version": "1.0", **said})


@pytest.fixture
def run() -> suites.Run:
    names = ["passes", "meets", "meets both", "left", "fails", "gone"]
    plain = [line(name, "passed") for name in names]
    plain += [line("fails anyway", "failed"), line("skipped anyway", "skipped")]
    there = [
        line("passes", "passed"),
        line("meets", "cause", REAL),
        line("meets both", "cause", FALSE, REAL),
        line("left", "left", reason="compares devices"),
        line("fails", "failed"),
        line("fails anyway", "cause", FALSE),
        line("skipped anyway", "passed"),
    ]
    return suites.compared(SUITE, plain, there, (2.0, 3.0))


def test_only_tests_that_pass_on_the_cpu_count(run: suites.Run) -> None:
    assert (run.plain, run.passed, run.failed) == (6, 1, ("fails", "gone"))
    assert run.left == {"compares devices": 1}
    assert run.causes == {REAL: 1, FALSE: 1}


@pytest.mark.parametrize("second", ["real", None])
def test_the_marks_take_a_cause_for_real_that_all_readers_do(
    run: suites.Run, second: str | None
) -> None:
    labels = [label(REAL, "real", second), label(FALSE, "real", "false")]
    found = suites.marks([run], suites.real_causes(labels))
    assert found == suites.Marks(right=2 / 6, left=1 / 6, real=1 / 2, time=1.5)


def test_a_cause_that_nobody_has_labelled_is_not_real(run: suites.Run) -> None:
    found = suites.marks([run], suites.real_causes([]))
    assert (found.right, found.real) == (1 / 6, 0)


def test_a_run_is_kept_and_read_again(run: suites.Run) -> None:
    assert suites.Run.of_line(run.as_line()) == run


def test_the_table_has_a_line_for_each_package(run: suites.Run) -> None:
    shown = suites.table([run], {"package": {REAL}})
    assert "| package 1.0 | 6 | 1 | 1 | 1 | 1 | 2 | 2, 1 | 1.50 |" in shown.splitlines()
