"""The emulated accelerator does with every case what a real one does.

What a real one does is in the data, and where there is one, in a file of outcomes seen on a card.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from conformance import suite
from conformance.suite import Case, Outcome, Seen
from devlint import emulate

CASES = [case for case in suite.load() if case.concerns(suite.TORCH)]
SEEN = suite.seen()

BUGS = frozenset(
    {*range(1, 15), *range(17, 20), *range(21, 28), *range(29, 34), *range(35, 38), 39}
    | {*range(42, 49), *range(50, 58)}
)
"""Numbers of the classes of device mistakes that show when a program runs."""


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case) -> None:
    with emulate("cuda", count=2):
        outcome = suite.run(case)
    expected = suite.difference(case, outcome)
    if case.differs:
        assert expected is not None, f"it does the same by now: not so {case.differs!r}"
        return
    assert expected is None, f"expected: {expected}\n     got: {outcome}\n{case.code}"


@pytest.mark.parametrize("seen", SEEN, ids=[seen.name for seen in SEEN])
def test_the_data_agrees_with_a_card(seen: Seen) -> None:
    cases = {case.id: case for case in suite.load(suite.release(seen.torch))}
    wrong = [
        f"{name}: the data says {expected}, the card {outcome}"
        for name, outcome in seen.of(cases.values()).items()
        if (expected := suite.difference(cases[name], outcome)) is not None
    ]
    assert wrong == []


@pytest.mark.parametrize("seen", SEEN, ids=[seen.name for seen in SEEN])
def test_the_emulation_agrees_with_a_card(seen: Seen) -> None:
    if suite.release(seen.torch) != suite.TORCH:
        pytest.skip(f"seen with torch {seen.torch}")
    outcomes = seen.of(CASES)
    wrong = []
    for case in CASES:
        if case.id in outcomes:
            with emulate("cuda", count=2):
                emulated = suite.run(case)
            if not suite.agree(case, emulated, outcomes[case.id]):
                wrong.append(f"{case.id}: the card {outcomes[case.id]}, emulated {emulated}")
    assert wrong == []


# --- the suite itself ------------------------------------------------------------------------


def test_there_are_cases_of_both_kinds() -> None:
    kinds = Counter(case.raises is None for case in CASES)
    assert kinds[False] >= 260
    assert kinds[True] >= 260


def test_every_class_of_mistake_has_a_case_that_shows_it() -> None:
    found = {int(match[1]) for case in CASES if (match := re.search(r"\bbug-(\d+)-", case.id))}
    assert BUGS - found == set()


def test_every_known_text_is_used() -> None:
    used = [path.read_text("utf-8") for path in suite.files()]
    assert [
        name for name in suite.texts() if not any(f'text = "{name}"' in text for text in used)
    ] == []


def test_a_matrix_stands_for_a_case_of_each_operation_in_each_mix() -> None:
    matrix = {
        "id": "sum",
        "known": "derived",
        "basis": "arithmetic",
        "operations": {"plus": "{x} + {y}", "set": {"code": "{{x}: {y}}", "arg": "key"}},
        "operands": {"one": "1"},
        "mix": [
            {"name": "ones", "x": "one", "y": "one", "value": "2", "only": ["plus"]},
            {"name": "texts", "x": "one", "y": "2", "raises": {"text": "t", "of": "{arg}"}},
        ],
    }
    cases = dict(suite.expanded(matrix))
    assert list(cases) == ["sum-plus-ones", "sum-plus-texts", "sum-set-texts"]
    assert cases["sum-plus-ones"]["code"] == "1 + 1"
    assert cases["sum-plus-ones"]["value"] == "2"
    assert cases["sum-set-texts"]["code"] == "{1: 2}"
    assert cases["sum-set-texts"]["raises"] == {"text": "t", "of": "key"}


def test_older_releases_are_asked_for_the_words_they_share() -> None:
    raises = {"text": "method", "arg": "mat2", "op": "mm"}
    new, old = suite.text_of(raises, (2, 13)), suite.text_of(raises, (2, 7))
    assert new.startswith(old)
    assert "wrapper_CUDA_mm" in new
    assert "mat2" not in old


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(raised="TypeError: no, said cuda:0"), None),
        (Outcome(raised="TypeError: no, said cpu"), "an error whose text has 'cuda:0'"),
        (Outcome(raised="ValueError: no"), "raises TypeError: no"),
        (Outcome(devices=("cpu",)), "raises TypeError: no"),
        (Outcome(value="None"), "raises TypeError: no"),
    ],
)
def test_an_error_is_compared_by_type_beginning_and_words(
    outcome: Outcome, expected: str | None
) -> None:
    case = Case("x", "x", "", "derived", "x", raises="TypeError: no", contains="cuda:0")
    assert suite.difference(case, outcome) == expected


@pytest.mark.parametrize(
    ("place", "devices", "expected"),
    [
        ("cuda:0", ("cuda:0", "cuda:0"), None),
        ("cuda:0", ("cuda:0", "cpu"), "tensors on cuda:0"),
        ("cuda:0", (), "tensors on cuda:0"),
        (("cuda:0", "cpu"), ("cuda:0", "cpu"), None),
        (("cuda:0", "cpu"), ("cpu", "cuda:0"), "tensors on cuda:0, cpu"),
    ],
)
def test_places_are_compared_one_by_one(
    place: str | tuple[str, ...], devices: tuple[str, ...], expected: str | None
) -> None:
    case = Case("x", "x", "", "derived", "x", device=place)
    assert suite.difference(case, Outcome(devices=devices)) == expected
    assert suite.difference(case, Outcome(raised="TypeError: no")) == "passes"


def test_a_case_runs_and_its_last_value_is_the_result() -> None:
    case = Case("x", "x", "y = x + 1\ny.tolist()", "derived", "x", setup="x = torch.zeros(2)")
    assert suite.run(case) == Outcome(value="[1.0, 1.0]")
    assert suite.run(replace(case, code="[x, {'a': (x,)}]")).devices == ("cpu", "cpu")
    assert suite.run(replace(case, code="x + None")).raised is not None


def test_on_the_host_nothing_is_on_an_accelerator() -> None:
    case = Case("x", "x", 'y = x.cuda(1) + x.to("cuda:0")', "derived", "x", setup="x = 'cuda'")
    host = suite.on_cpu(case)
    assert host.setup == 'x = "cpu"'
    assert host.code == 'y = x.cpu() + x.to("cpu")'
