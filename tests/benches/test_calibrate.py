"""How scores are fitted on labels, and tried."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import exp
from pathlib import Path

import calibrate
import curve
import pytest
from labels import Label

from devlint.flow.domain.derivation import Sort
from devlint.verdict import score

BY_USE = (Sort.TENSOR_BY_USE.value,)


def label(
    project: str,
    code: str,
    true: bool,
    sorts: tuple[str, ...] | None = (),
    line: int = 1,
    first_sight: bool = True,
) -> Label:
    verdict = "true" if true else "false"
    key = (project, "1", "a.py", line, code)
    return Label(key, (verdict,), verdict, "so", first_sight, sorts=sorts)


def many(count: int, code: str, true: bool, sorts: tuple[str, ...] | None = ()) -> list[Label]:
    """One label each of so many projects."""
    return [label(f"{code}{true}{sorts}{each}", code, true, sorts) for each in range(count)]


def test_a_kind_is_drawn_to_its_rule_and_a_rule_to_all() -> None:
    labels = many(20, "DEV201", True) + many(19, "DEV202", False) + many(1, "DEV202", True, BY_USE)
    fit = calibrate.fitted(labels)
    all_of = 21 / 40
    rule = (1 + 5 * all_of) / (20 + 5)
    assert fit.mean == round(100 * all_of)
    assert fit.shares["DEV202", None] == round(100 * rule)
    stated, by_use = 5 * all_of / (19 + 5), (1 + 5 * all_of) / (1 + 5)  # of the rule's others
    assert fit.shares["DEV202", "by-use"] == round(100 * (1 + 8 * stated) / 9)
    assert fit.shares["DEV202", "stated"] == round(100 * 8 * by_use / (19 + 8))


def test_a_label_without_sorts_counts_for_its_rule_alone() -> None:
    some = many(4, "DEV201", True)
    fit = calibrate.fitted(some + many(16, "DEV201", False, None))
    assert fit.shares.keys() == {("DEV201", None), ("DEV201", "stated")}
    assert fit.shares["DEV201", None] == 20
    assert fit.of(label("x", "DEV201", True, None)) == 20
    assert fit.of(label("x", "DEV201", True, BY_USE)) == 20  # evidence that nobody has judged
    assert fit.of(label("x", "DEV202", True)) == fit.mean
    assert fit.of(label("x", "DEV201", True)) == fit.shares["DEV201", "stated"] > 20


def test_what_tests_say_is_added_to_shares() -> None:
    labels = many(10, "DEV201", True) + many(10, "DEV201", False)
    there = [replace(each, key=(*each.key[:2], "tests/a.py", *each.key[3:])) for each in labels]
    fit = calibrate.fitted(labels[:10] + there[10:])
    odds = fit.files["files-of-tests"]
    share = fit.shares["DEV201", "stated"]
    assert odds["DEV2"] < -1
    assert odds["DEV3"] == odds["DEV4"] == odds["DEV5"] == 0  # nobody has judged one there
    assert fit.of(labels[0]) == share
    added = {"files-of-tests": odds["DEV2"]}
    assert fit.of(there[0]) == score.shifted(share, ("file.files-of-tests",), added) < share
    assert set(calibrate.fitted(labels).files["files-of-tests"].values()) == {0}


def test_odds_are_those_that_fit_best() -> None:
    given = [(0.5, False, 1.0)] * 3 + [(0.5, True, 1.0)]
    odds = calibrate.added(given)
    likely = 1 / (1 + exp(-odds))
    assert sum(is_true - likely for _, is_true, _ in given) == pytest.approx(0.5 * odds)
    assert calibrate.added([]) == 0


def test_findings_of_one_rule_in_one_project_weigh_less() -> None:
    of_one = [label("p", "DEV201", True, line=line) for line in range(16)]
    fit = calibrate.fitted(of_one + many(4, "DEV202", False))
    assert fit.mean == 50


def test_only_what_was_seen_first_and_may_be_false_counts() -> None:
    known = [
        label("a", "DEV201", True),
        label("b", "DEV201", True, first_sight=False),
        label("c", "DEV101", True),
        Label(("d", "1", "a.py", 1, "DEV201"), ("unclear",), "unclear", "so", True),
    ]
    assert calibrate.at_first_sight(known) == known[:1]


def test_a_project_is_scored_by_others_only() -> None:
    labels = many(12, "DEV201", True) + many(12, "DEV202", False) + [label("x", "DEV203", True)]
    scores = calibrate.by_project(labels)
    mean = calibrate.fitted(labels).mean
    assert scores[-1] < mean  # nobody else has a label of its rule, and without it there is less
    assert calibrate.on_projects(labels, {"x"}) == [50]
    assert min(scores[:12]) > max(scores[12:-1])


@pytest.mark.parametrize(
    ("true", "scores", "expected"),
    [
        ([True, False], [60, 40], 1),
        ([True, False], [40, 60], 0),
        ([True, False], [50, 50], 0.5),
        ([True, True, False], [60, 40, 50], 0.5),
        ([True, True], [60, 40], 0.5),
    ],
)
def test_area(true: list[bool], scores: list[int], expected: float) -> None:
    assert calibrate.area(true, scores) == expected


def test_a_trial_tells_what_the_threshold_makes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    labels = [*many(3, "DEV201", True), *many(1, "DEV202", True), *many(2, "DEV203", False)]
    calibrate.print_trial(labels, [score.THRESHOLD] * 3 + [score.THRESHOLD - 1] * 3)
    told = capsys.readouterr().out
    assert "area 0.88, Brier" in told
    assert "shown by default: 3, 3 of them true, 100%" in told
    assert "kept back: 3, 1 of them true, 33%" in told


def test_bands_are_parted_where_findings_are_kept_back() -> None:
    labels = [*many(1, "DEV201", True), *many(2, "DEV202", False), *many(1, "DEV203", True)]
    least = score.THRESHOLD
    found = calibrate.banded(labels, [least - 1, least - 5, least, 99])
    assert found[0] == curve.Band(0, least, least - 3, true=1, findings=2)
    assert [(band.score, band.true, band.findings) for band in found[1:]] == [
        (least, 0, 1),
        (99, 1, 1),
    ]


def test_the_curve_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    for path in (first, second):
        calibrate.main(["--draw", str(path)])
    picture = first.read_text(encoding="utf-8")
    assert picture == second.read_text(encoding="utf-8")
    assert "<dc:date>" not in picture
    told = capsys.readouterr().out
    for title, heading in (("tried by project", "by project:"), ("drawn later", "on sample1")):
        assert title in picture
        after = told.partition(heading)[2].splitlines()
        found = next(line for line in after if "80 to 90" in line)
        findings, true = found.split(": ")[1].split(", ")[:2]
        assert f">{true.split()[0]}/{findings}<" in picture


def test_a_picture_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.style", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    band = curve.Band(50, 60, 55, true=1, findings=2)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        curve.draw({"tried": [band]}, score.THRESHOLD, tmp_path / "curve.svg")
    assert not [*tmp_path.iterdir()]


def test_the_table_names_what_each_number_rests_on() -> None:
    labels = many(3, "DEV201", True) + many(1, "DEV201", False, BY_USE)
    lines = calibrate.written(labels).splitlines()
    assert "[DEV201]" in lines
    assert [line.partition("# ")[2] for line in lines if line.startswith(("rule", "by-use"))] == [
        "3 of 4 true",
        "0 of 1 true",
    ]
