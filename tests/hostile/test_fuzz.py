"""Damaged files of every kind: a short series of what `bench/fuzz.py` does for hours."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import fuzz
import fuzz_programs
import pytest
from fuzz import Case, attempt

from devlint.config.sources import Source
from devlint.driver.run import check_bytes
from devlint.model.codec import decode
from devlint.safety.files import UNSEEN

CASES = 250


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of POSIX")
@pytest.mark.parametrize("part", range(5))
def test_no_damage_does_harm(part: int) -> None:
    numbers = range(part, CASES, 5)
    problems = {number: attempt(Case(0, number)).problem for number in numbers}
    assert {number: problem for number, problem in problems.items() if problem} == {}


def test_all_kinds_are_tried_and_a_case_can_be_made_again() -> None:
    first, again = ([attempt(Case(0, number)) for number in range(36)] for _ in range(2))
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


def test_tokens_are_dropped_doubled_swapped_and_cut_off() -> None:
    dice = random.Random(0)
    texts = {fuzz_programs.mutated(dice, b"a = f(b)  # c\n") for _ in range(300)}
    assert {b"a = (b)  # c\n", b"a = ff(b)  # c\n", b"a f =(b)  # c\n", b"a = f"} <= texts
    assert fuzz_programs.mutated(dice, b"\n") == b"\n"


MADE = b"import torch\n\nx = torch.zeros(3)\nx.to('cuda')\nprint(x)\n"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text, ""),
        (lambda text: text + b"\n" * text.count(b"x = x"), "when they are made again"),
        (lambda text: text.replace(b"print", b"print  "), "no edit of theirs"),
    ],
    ids=["as-it-is", "again", "elsewhere"],
)
def test_fixes_that_do_too_much_are_told(
    change: Callable[[bytes], bytes], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source("case.py", "case.py", fuzz.everything(), UNSEEN)
    findings = decode(check_bytes(MADE, source).findings, "case.py")
    assert any(finding.fix for finding in findings)
    fix_bytes = fuzz_programs.fix_bytes

    def changed(data: bytes, *rest: Any, **named: Any) -> Any:
        outcome = fix_bytes(data, *rest, **named)
        return replace(outcome, new=change(outcome.new) if b"  " not in data else data)

    monkeypatch.setattr(fuzz_programs, "fix_bytes", changed)
    assert told in fuzz_programs.wrong_fix(MADE, source, findings)
    assert bool(told) == bool(fuzz_programs.wrong_fix(MADE, source, findings))
