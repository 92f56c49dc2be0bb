"""Labels: what they are matched by, what two readers make of them, what a reader gets to see."""

from __future__ import annotations

import json
from pathlib import Path

import bugs
import labels
import packages
import precision
import pytest
import samples
import sheet
import suites
from repository import Repository


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 100, 0.7222, 0.8749)],
)
def test_the_wilson_interval(hits: int, trials: int, low: float, high: float) -> None:
    assert precision.wilson(hits, trials) == pytest.approx((low, high), abs=1e-4)


def record(line: int, code: str = "DEV202", **more: object) -> labels.Record:
    place = {"package": "p", "version": "1", "path": "p/a.py", "line": line, "code": code}
    return {**place, "name": "n", "message": "m", **more}


def label(line: int, *readers: str, **more: object) -> labels.Record:
    said = {"readers": list(readers), "verdict": readers[0], "reason": "r"}
    return record(line, **said | more)


def written(path: Path, rows: list[labels.Record]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_labels_are_matched_by_place_and_code(tmp_path: Path) -> None:
    judged = [label(1, "true"), label(2, "false"), label(9, "true"), label(3, "true", "false")]
    judged[-1]["verdict"] = "unclear"
    known = labels.read(written(tmp_path / "labels.jsonl", judged))
    found = [record(1), record(1), record(2), record(3), record(1, "DEV302")]
    by_code = precision.by_code(found, labels.verdicts(known))
    assert by_code["DEV202"] == precision.Precision(findings=4, labelled=3, true=2)
    assert by_code["DEV202"].share == pytest.approx(2 / 3)
    assert by_code["DEV302"].share is None
    assert [one.key[3] for one in labels.gone(found, known, {"p"})] == [9]
    assert labels.gone(found, known, {"q"}) == []


def test_families_are_summed_and_portability_is_no_claim() -> None:
    one = precision.Precision(2, 1, 1)
    codes = {"DEV101": one, "DEV201": one, "DEV203": one, "DEV503": one}
    assert precision.by_family(codes) == {"DEV2": one + one, "DEV5": one}


@pytest.mark.parametrize(
    "second",
    [
        label(1, "true"),
        label(2, "maybe"),
        label(2, "true", "maybe"),
        label(2, "true", "true", "true"),
        label(2, "true", verdict=""),
        label(2, "true", verdict="open"),
        label(2, "true", reason=""),
        label(2, "true", source="hearsay"),
        label(2, "true", readers=[]),
        record(2, verdict="true", reason="r"),
    ],
)
def test_doubtful_labels_are_refused(tmp_path: Path, second: labels.Record) -> None:
    path = written(tmp_path / "labels.jsonl", [label(1, "true"), second])
    with pytest.raises(ValueError, match=r"labels\.jsonl:2"):
        labels.read(path)


def test_a_label_is_written_as_it_was_read(tmp_path: Path) -> None:
    full = label(1, "true", "false", verdict="unclear", confidence="high", sorts=["move.chosen"])
    rows = [full | {"first_sight": True}, label(2, "false"), label(3, "true", source="oracle")]
    rows[2] |= {"readers": [], "sorts": []}
    known = labels.read(written(tmp_path / "labels.jsonl", rows))
    assert [one.first_sight for one in known.values()] == [True, False, False]
    assert [one.sorts for one in known.values()] == [("move.chosen",), None, ()]
    assert [one.confidence for one in known.values()] == ["high", "", ""]
    labels.write(known, tmp_path / "again.jsonl")
    assert labels.read(tmp_path / "again.jsonl") == known


def test_the_labels_fit_what_is_linted() -> None:
    linted = {pinned for which in packages.SETS for pinned in packages.pinned(which).items()}
    linted |= {(bug.repo, bug.fix) for bug in bugs.read()}
    linted |= {(suite.name, suite.version) for suite in suites.suites()[0]}
    linted |= {one for sample in samples.read().values() for one in sample.projects.items()}
    assert {key[:2] for key in labels.read()} <= linted


def test_nothing_is_known_of_a_sealed_sample() -> None:
    known = {key[0] for key in labels.read()} | {bug.repo for bug in bugs.read()}
    known |= {name for which in packages.SETS for name in packages.pinned(which)}
    drawn = [sample for sample in samples.read().values() if not sample.opened]
    for sample in drawn:
        assert known.isdisjoint(sample.projects | sample.fixes), sample.name


def test_no_project_is_drawn_twice() -> None:
    drawn = [name for one in samples.read().values() for name in (*one.projects, *one.fixes)]
    assert len(drawn) == len({name.lower() for name in drawn})


def test_a_sealed_sample_is_not_fetched(tmp_path: Path) -> None:
    sealed = samples.Sample("s", opened=False, repositories={"a/b": "0" * 40})
    with pytest.raises(SystemExit, match="s is sealed"):
        samples.fetch(sealed, [], tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_opened_sample_is_checked_out_at_its_commit(tmp_path: Path) -> None:
    made = Repository(tmp_path / "a+b")
    old = made.commit({"p/m.py": "x = 1\n", "setup.cfg": "", "notes.txt": "n"})
    made.commit({"p/m.py": "x = 2\n"})
    sample = samples.Sample("s", opened=True, repositories={"a/b": old})
    (project,) = samples.fetch(sample, ["a/b"], tmp_path / "cache", tmp_path)
    assert (project.name, project.version) == ("a/b", old)
    assert [path.relative_to(project.folder).as_posix() for path in project.files] == ["p/m.py"]
    assert project.files[0].read_text() == "x = 1\n"
    assert not (project.folder / "notes.txt").exists()
    with pytest.raises(SystemExit, match="not in s: c/d"):
        samples.fetch(sample, ["c/d"], tmp_path / "cache", tmp_path)
    with pytest.raises(SystemExit, match="no clone"):
        samples.fetch(sample, [], tmp_path / "other", None)


def test_cohens_kappa() -> None:
    pairs = [("true", "true")] * 20 + [("false", "false")] * 15
    pairs += [("true", "false")] * 5 + [("false", "true")] * 10
    assert labels.kappa(pairs) == pytest.approx(0.4)
    assert labels.kappa([("true", "true")] * 3) == 1.0
    assert labels.kappa([("true", "false")] * 3) == 0.0
    assert labels.kappa([]) is None


def test_agreement_leaves_out_what_one_has_read(tmp_path: Path) -> None:
    rows = [
        label(1, "true", "true"),
        label(2, "false", "true", verdict="unclear"),
        label(3, "true"),
    ]
    known = labels.read(written(tmp_path / "labels.jsonl", rows))
    told = labels.agreement(known.values())
    assert (told.both, told.same) == (2, 1)


def said(line: int, verdict: str, reason: str = "r") -> labels.Record:
    return record(line, verdict=verdict, reason=reason)


def test_two_sheets_become_labels(tmp_path: Path) -> None:
    first = [said(1, "true", "a"), said(2, "true", "b"), said(3, "false", "c"), said(4, "")]
    second = [said(1, "true", "d"), said(2, "false", "e"), said(3, ""), said(4, "true")]
    merged = labels.merge(first, second)
    assert [(one.readers, one.verdict, one.reason) for one in merged] == [
        (("true", "true"), "true", "a"),
        (("true", "false"), "unclear", "true: b | false: e"),
        (("false",), "false", "c"),
    ]


def test_a_second_reading_joins_labels_that_have_one() -> None:
    known = [label(1, "true"), label(2, "true", "false", verdict="false"), label(3, "false")]
    merged = labels.merge(known, [said(1, "false"), said(2, "true"), said(9, "true")])
    assert [(one.readers, one.verdict) for one in merged] == [
        (("true", "false"), "unclear"),
        (("true", "false"), "false"),
        (("false",), "false"),
    ]


def test_merging_adds_to_a_file_of_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    into = written(tmp_path / "labels.jsonl", [label(7, "false", "false")])
    first, second = tmp_path / "first.json", tmp_path / "second.jsonl"
    first.write_text(json.dumps([said(8, "true"), said(2, "true")], indent=1))
    written(second, [said(2, "true"), said(8, "false", "s")])
    arguments = ["merge", str(first), str(second), "--into", str(into)]
    monkeypatch.setattr("sys.argv", ["labels.py", *arguments])
    labels.main()
    known = labels.read(into)
    assert [(key[3], one.verdict) for key, one in known.items()] == [
        (2, "true"),
        (7, "false"),
        (8, "unclear"),
    ]
    assert "agree on 1 (50%)" in capsys.readouterr().out


def test_one_sheet_becomes_labels_at_first_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet_, into = tmp_path / "sheet.json", tmp_path / "labels.jsonl"
    sheet_.write_text(json.dumps([said(8, "true") | {"confidence": "medium"}, said(9, "")]))
    arguments = ["merge", str(sheet_), "--into", str(into), "--first-sight"]
    monkeypatch.setattr("sys.argv", ["labels.py", *arguments])
    labels.main()
    (only,) = labels.read(into).values()
    assert (only.readers, only.verdict, only.first_sight) == (("true",), "true", True)
    assert (only.confidence, only.source) == ("medium", "reader")


def test_a_sheet_holds_what_is_to_judge(tmp_path: Path) -> None:
    rows = [label(1, "true"), label(2, "true", "true")]
    known = labels.read(written(tmp_path / "labels.jsonl", rows))
    found = [*map(record, (1, 2, 3, 3, 4)), record(5, "DEV101")]
    assert [one["line"] for one in sheet.choose(found, known)] == [3, 4]
    assert [one["line"] for one in sheet.choose(found, known, once=True)] == [1]
    assert [one["line"] for one in sheet.choose(found, known, ("DEV1",))] == [5]


def test_a_sample_follows_its_seed() -> None:
    found = [*map(record, range(50))]
    drawn = sheet.sample(found, 5, seed=1)
    assert len(drawn) == 5
    assert drawn == sheet.sample(found, 5, seed=1) != sheet.sample(found, 5, seed=2)
    assert drawn == sorted(drawn, key=lambda one: int(str(one["line"])))
    assert sheet.sample(found, 0, seed=1) == sheet.sample(found, 500, seed=1) == found


def test_a_sheet_shows_the_code_and_can_be_filled_in(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    path = tmp_path / "sheet.json"
    trace = [{"message": "made here", "location": {"row": 40}}]
    sheet.write([record(50, trace=trace)], lambda _: text, path)
    (entry,) = labels.records(path)
    source = entry["around"]
    assert isinstance(source, list)
    assert [row for row in source if row.startswith(">")] == [">    50 line 50"]
    assert entry["trace"] == ["40: made here"]
    assert labels.merge([entry], []) == []
    assert labels.merge([entry | {"verdict": "true", "reason": "r"}], [])[0].key[3] == 50
