"""Damaged files of every kind: a short series of what `bench/fuzz.py` does for hours."""

from __future__ import annotations

import signal

import fuzz
import pytest
from fuzz import Case, attempt

CASES = 250


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of POSIX")
@pytest.mark.parametrize("part", range(5))
def test_no_damage_does_harm(part: int) -> None:
    numbers = range(part, CASES, 5)
    problems = {number: attempt(Case(0, number)).problem for number in numbers}
    assert {number: problem for number, problem in problems.items() if problem} == {}


def test_all_kinds_are_tried_and_a_case_can_be_made_again() -> None:
    first, again = ([attempt(Case(0, number)) for number in range(20)] for _ in range(2))
    assert {verdict.kind for verdict in first} == set(fuzz.KINDS)
    assert [verdict.kind for verdict in first] == [verdict.kind for verdict in again]


def test_harm_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    def hang(*_: object) -> None:
        while True:
            pass

    trials = dict.fromkeys(fuzz.KINDS, explode)
    monkeypatch.setattr(fuzz, "_TRIALS", trials)
    assert attempt(Case(0, 1)).problem == "ZeroDivisionError: by zero"
    monkeypatch.setattr(fuzz, "_TRIALS", dict.fromkeys(fuzz.KINDS, hang))
    monkeypatch.setattr(fuzz, "LIMIT", 0.2)
    assert attempt(Case(0, 1)).problem == "it took more than 0 s"
