"""The scripts that measure: what they count and what they call found."""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import labels
import packages
import pytest
import recall
import speed

BUG = recall.Bug("a/b", "fix", "parent", "x.py", frozenset({3, 9}), "discarded-to", "a")


def finding(code: str, row: int, end: int | None = None) -> dict[str, object]:
    return {"code": code, "location": {"row": row}, "end_location": {"row": end or row}}


@pytest.mark.parametrize(
    ("before", "after", "seen", "named", "silenced"),
    [
        ([], [], False, False, False),
        ([finding("DEV302", 4)], [], False, False, False),
        ([finding("DEV101", 3)], [], True, False, False),
        ([finding("DEV302", 9)], [], True, True, True),
        ([finding("DEV302", 9)], [finding("DEV302", 9)], True, True, False),
        (
            [finding("DEV302", 1, 3), finding("DEV302", 20)],
            [finding("DEV302", 20)],
            True,
            True,
            True,
        ),
    ],
)
def test_a_bug_is_named_by_a_fitting_code_on_its_lines(
    before: list[dict[str, object]],
    after: list[dict[str, object]],
    seen: bool,
    named: bool,
    silenced: bool,
) -> None:
    verdict = recall.judge(BUG, before, after)
    assert (verdict.seen, verdict.named, verdict.silenced) == (seen, named, silenced)


def test_every_bug_has_what_is_needed_to_look_it_up() -> None:
    bugs = [recall.Bug.parse(line) for line in recall.BUGS.read_text().splitlines()]
    assert len(bugs) == len(set(bugs)) > 200
    assert all(len(bug.parent) == len(bug.fix) == 40 and bug.lines for bug in bugs)
    assert {bug.visible for bug in bugs} == set("abcd")
    assert set(recall.FITTING) <= {bug.kind for bug in bugs}


def test_a_clone_is_found_under_each_of_its_names(tmp_path: Path) -> None:
    for name in ("a+flat", "a+bare.git", "a+nested/repo", "a+tree/.git"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "HEAD").touch()
    for repo in ("flat", "bare", "nested", "tree"):
        assert recall.clone_of(tmp_path, f"a/{repo}") is not None
    assert recall.clone_of(tmp_path, "a/absent") is None


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 100, 0.7222, 0.8749)],
)
def test_the_wilson_interval(hits: int, trials: int, low: float, high: float) -> None:
    assert labels.wilson(hits, trials) == pytest.approx((low, high), abs=1e-4)


def record(line: int, code: str = "DEV202", **more: str) -> dict[str, object]:
    place = {"package": "p", "version": "1", "path": "p/a.py", "line": line, "code": code}
    return {**place, "name": "n", "message": "m", **more}


def test_labels_are_matched_by_place_and_code(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    judged = [record(1, verdict="true"), record(2, verdict="false"), record(9, verdict="true")]
    path.write_text("".join(json.dumps(label) + "\n" for label in judged))
    found = [record(1), record(1), record(2), record(3), record(1, "DEV302")]
    by_code = labels.precision(found, labels.read(path))
    assert by_code["DEV202"] == labels.Precision(findings=4, labelled=3, true=2)
    assert by_code["DEV202"].share == pytest.approx(2 / 3)
    assert by_code["DEV302"].share is None


@pytest.mark.parametrize("second", [record(1, verdict="true"), record(2, verdict="maybe")])
def test_doubtful_labels_are_refused(tmp_path: Path, second: dict[str, object]) -> None:
    path = tmp_path / "labels.jsonl"
    first = record(1, verdict="true")
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    with pytest.raises(ValueError, match=r"labels\.jsonl:2"):
        labels.read(path)


def test_the_labels_fit_the_pinned_versions() -> None:
    pinned = packages.pinned()
    for package, version, *_ in labels.read(packages.BENCH / "labels.jsonl"):
        assert pinned[package] == version


def test_a_sample_holds_unlabelled_findings_and_follows_its_seed(tmp_path: Path) -> None:
    package = packages.Package("p", "1", tmp_path)
    findings = (*map(record, range(50)), record(99, "DEV101"))
    run = corpus.Run(package, 1, 100, 1.0, None, "", (), findings)
    verdicts = {labels.key_of(record(line)): True for line in range(40)}
    drawn = corpus.draw([run], verdicts, ("DEV2", "DEV3"), 5, seed=1)
    assert len(drawn) == 5
    assert {finding["line"] for finding in drawn} <= set(range(40, 50))
    assert drawn == corpus.draw([run], verdicts, ("DEV2", "DEV3"), 5, seed=1)
    assert len(corpus.draw([run], verdicts, ("DEV2",), 500, seed=1)) == 10


def test_linting_a_package_tells_of_crashes_and_places(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.py").write_text("import torch\n\ntorch.load('x.pt')\n")
    run = corpus.lint(packages.Package("p", "1", tmp_path), 1, "DEV106")
    assert (run.files, run.lines, run.crash, run.internal_errors) == (1, 3, "", ())
    assert [(f["path"], f["line"], f["code"]) for f in run.findings] == [("p/a.py", 3, "DEV106")]
    assert run.peak_mib is not None
    failed = corpus.lint(packages.Package("p", "1", tmp_path), 1, "DEV999")
    assert "DEV999" in failed.crash


def test_what_cannot_be_parsed_is_told(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("x = 1\n")
    bad.write_text("x = = 1\n")
    assert speed.parse(good) == ""
    assert speed.parse(bad)
