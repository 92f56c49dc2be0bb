"""The bench of accuracy: its figures, its floors, and that its parts run by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import accuracy
import bugs
import labels
import pytest
import recall
from repository import Repository

OLD = "import torch\n\nnet = torch.load('x.pt')\n"


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    """One project with a bug that is fixed, and the bug's line in bugs.jsonl beside it.

    The file after the fix holds one finding of DEV302.
    """
    made = Repository(tmp_path / "made+up")
    parent, fix = made.commit({"a.py": OLD}), made.commit({"a.py": TENSOR})
    bug = {"repo": "made/up", "fix": fix, "parent": parent, "path": "a.py", "lines": [3]}
    kind = {"class": "load-without-map-location", "visible": "a"}
    (tmp_path / "bugs.jsonl").write_text(json.dumps(bug | kind) + "\n")
    (tmp_path / "labels.jsonl").touch()
    return tmp_path


TENSOR = """import torch

net = torch.load('x.pt', map_location='cpu')
x = torch.zeros(3)
x.to('cuda')
"""


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> None:
    own = ["--bugs", str(folder / "bugs.jsonl"), "--labels", str(folder / "labels.jsonl")]
    monkeypatch.setattr("sys.argv", ["accuracy.py", *own, *arguments])
    accuracy.main()


def label(package: str, version: str, line: int, code: str, verdict: str) -> str:
    place = {"package": package, "version": version, "path": "a.py", "line": line, "code": code}
    said = {"readers": [verdict], "verdict": verdict, "reason": "r"}
    return json.dumps(place | said) + "\n"


def test_recall_and_the_files_after_their_fix(
    mirrors: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet, figures = mirrors / "sheet.json", mirrors / "figures.json"
    arguments = ["--mirrors", str(mirrors), "--json", str(figures)]
    run(monkeypatch, mirrors, *arguments, "--unlabelled", str(sheet))
    told = capsys.readouterr().out
    assert "load-without-map-location         1/1        -        -        -      1/1" in told
    assert "after the fix: 1 files, 5 lines" in told
    assert json.loads(figures.read_text()) == {
        "recall.a": 1.0,
        "recall.silenced": 1.0,
        "after_fix.false_per_100k": 0.0,
    }
    (open_one,) = labels.records(sheet)
    assert (open_one["package"], open_one["line"], open_one["code"]) == ("made/up", 5, "DEV302")
    assert ">     5 x.to('cuda')" in str(open_one["around"])

    judged = label("made/up", str(open_one["version"]), 5, "DEV302", "false")
    (mirrors / "labels.jsonl").write_text(judged)
    run(monkeypatch, mirrors, *arguments)
    assert json.loads(figures.read_text())["after_fix.false_per_100k"] == 20_000


def test_precision_needs_only_saved_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, figures = tmp_path / "findings.json", tmp_path / "figures.json"
    place = {"package": "p", "version": "1", "path": "a.py", "name": "n", "message": "m"}
    codes = {1: "DEV202", 2: "DEV202", 3: "DEV203", 4: "DEV302", 5: "DEV101", 6: "DEV402"}
    rows = [{**place, "line": line, "code": code} for line, code in codes.items()]
    rows[1]["confidence"], rows[2]["confidence"] = 20, 80
    found.write_text(json.dumps(rows))
    said = {1: "true", 2: "false", 3: "true", 4: "true", 5: "false"}
    lines = [label("p", "1", line, codes[line], verdict) for line, verdict in said.items()]
    (tmp_path / "labels.jsonl").write_text("".join(lines))
    run(monkeypatch, tmp_path, "--findings", str(found), "--json", str(figures))
    measured = json.loads(figures.read_text())
    assert measured == {"precision.DEV2": pytest.approx(2 / 3), "precision.DEV3": 1.0}
    told = capsys.readouterr().out
    assert "DEV2                                            3          0    2/3" in told
    assert "DEV2, by default                                2          0    2/2" in told
    assert "DEV2 to DEV5                                    5          1    3/4" in told
    assert "DEV2 to DEV5, by default                        4          1    3/3" in told


def test_what_is_worse_than_its_floor_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, floor = tmp_path / "findings.json", tmp_path / "floor.toml"
    place = {"package": "p", "version": "1", "path": "a.py", "name": "n", "message": "m"}
    found.write_text(json.dumps([{**place, "line": 1, "code": "DEV202"}]))
    (tmp_path / "labels.jsonl").write_text(label("p", "1", 1, "DEV202", "false"))
    arguments = ["--findings", str(found), "--floor", str(floor), "--check"]
    floor.write_text("[precision]\nDEV2 = 0.5\nDEV3 = 1.0\n[recall]\na = 1.0\n")
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, tmp_path, *arguments)
    assert stopped.value.code == 1
    assert capsys.readouterr().out.splitlines()[-1] == "precision.DEV2 is 0.000, under 0.5"
    floor.write_text("[precision]\nDEV2 = 0.0\n")
    run(monkeypatch, tmp_path, *arguments)


@pytest.mark.parametrize(
    ("figure", "told"), [(4.9, []), (5.0, []), (5.1, ["after_fix.x is 5.100, over 5"])]
)
def test_false_findings_have_a_ceiling(figure: float, told: list[str]) -> None:
    assert accuracy.failures({"after_fix.x": figure}, {"after_fix.x": 5.0}) == told


def test_a_file_that_two_bugs_share_counts_once() -> None:
    alone, whole = (recall.Version("r", "c", "a.py", way) for way in (False, True))
    claim = {"code": "DEV202", "location": {"row": 1}, "message": "m"}
    policy = {"code": "DEV101", "location": {"row": 1}, "message": "m"}
    linted = {
        alone: recall.Linted(b"x\n", ()),
        whole: recall.Linted(b"x\n", (claim, policy)),
    }
    absent = recall.Version("r", "c", "b.py", whole=True)
    after = accuracy.after_fix([whole, alone, absent, alone], linted)
    assert (after.files, after.lines) == (1, 1)
    assert [finding["code"] for finding in after.findings] == ["DEV202"]
    assert after.text_of(after.findings[0]) == "x\n"


def test_nothing_to_measure_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, tmp_path)
    assert stopped.value.code == 2
    assert "nothing to measure" in capsys.readouterr().err


def test_every_floor_is_of_a_figure_that_is_measured() -> None:
    visible = {f"recall.{bug.visible}" for bug in bugs.read()}
    families = {f"precision.{family}" for family in labels.PROVING}
    known = visible | families | {"recall.silenced", "after_fix.false_per_100k"}
    assert set(accuracy.floors(accuracy.FLOOR)) <= known
