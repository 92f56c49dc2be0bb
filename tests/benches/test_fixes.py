"""The bench of fixes: which findings count, which fixes hold, and which programs end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import bugs
import fixes
import pytest
from fixes import Judged, Ran
from repository import Repository

BATCH = """\
import torch

net = torch.nn.Linear(3, 3).cuda()
x = torch.zeros(2, 3)
print(net(x))
"""
"""A mistake that an unsafe fix goes with, and beside it DEV101, a warning."""

FIXED = Judged("a.py:1", "DEV201", "a", True)
DROPPED = Judged("a.py:2", "DEV201", "b", True, "DEV201 would stay")
WITHOUT = Judged("a.py:3", "DEV202", "c")


def test_errors_are_counted_and_each_fix_is_tried_alone(tmp_path: Path) -> None:
    lost = "x = torch.zeros(3)\nx.cuda()\nx.to('cuda:7:8')\n"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text(f"import torch\n\n{lost}")
    (tmp_path / "b.py").write_text("def f(:\n")
    found = fixes.of_folder(tmp_path)
    assert {(each.place, each.code, each.has_fix, each.holds) for each in found} == {
        ("sub/a.py:4", "DEV302", True, True),
        ("sub/a.py:5", "DEV302", True, True),
        ("sub/a.py:5", "DEV304", False, False),
    }
    assert (tmp_path / "sub" / "a.py").read_text() == f"import torch\n\n{lost}"


def test_a_fix_that_brings_another_finding_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('import torch\n\nd = torch.device("gpu")\n')
    (found,) = fixes.of_folder(tmp_path)
    assert (found.has_fix, found.holds) == (True, False)
    assert found.dropped.startswith("DEV103 would appear in row 3")


def test_a_program_is_run_before_and_after_its_fix() -> None:
    ran = fixes.ran("A batch", {"train.py": "import model\n", "model.py": BATCH}, 1)
    assert [(each.place, each.code, each.holds) for each in ran.findings] == [
        ("model.py:5", "DEV201", True)
    ]
    assert "received args[0] on cpu" in ran.before or "same device" in ran.before
    assert (ran.after, ran.left) == ("", 0)


def test_what_fixing_does_not_change_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter(["train.py: IndexError"])
    monkeypatch.setattr(fixes, "_end", lambda folder, count: next(ends))
    ran = fixes.ran("Silent", {"train.py": "print([][0])\n"}, 1)
    assert (ran.before, ran.after, ran.left) == ("train.py: IndexError", "train.py: IndexError", 0)


def test_a_program_that_hangs_or_fails_at_once_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.py").write_text("raise SystemExit('no data')\n")
    (tmp_path / "train.py").write_text("")
    assert fixes._end(tmp_path, 1) == "setup.py: no data"

    def hang(command: list[str], **more: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(subprocess, "run", hang)
    assert fixes._end(tmp_path, 1) == f"setup.py: not done after {fixes.SECONDS} s"


def test_the_tables_count_by_rule_and_by_program() -> None:
    rows = [line.split() for line in fixes.table([FIXED, DROPPED, WITHOUT]).splitlines()[1:]]
    assert rows == [
        "DEV201 2 2 of 2 (100%) 1 of 2 (50%)".split(),
        "DEV202 1 0 of 1 (0%) 0 of 0".split(),
        "all 3 2 of 3 (67%) 1 of 2 (50%)".split(),
    ]
    results = [
        Ran("a", (FIXED,), 0, "fails", ""),
        Ran("b", (FIXED, WITHOUT), 1, "fails", "fails"),
        Ran("c", (), 0, "fails", "fails"),
        Ran("d", (DROPPED,), 2, "", "fails"),
    ]
    told = [line.split()[-4:] for line in fixes.outcomes(results).splitlines()]
    assert told[0][-4:] == ["3", "of", "4", "(75%)"]
    assert told[1][-4:] == ["2", "of", "3", "(67%)"]
    assert told[2][-4:] == ["1", "of", "3", "(33%)"]
    assert told[3][-4:] == ["1", "of", "2", "(50%)"]
    assert told[4][-1] == "1"
    assert told[5][-2:] == ["4,", "3"]
    assert [*fixes.misses([FIXED, DROPPED, WITHOUT])] == [
        "dropped  DEV201 a.py:2: b: DEV201 would stay",
        "no fix   DEV202 a.py:3: c",
    ]


def test_a_share_below_its_mark_is_told() -> None:
    good = fixes.figures_of([FIXED], [Ran("a", (FIXED,), 0, "fails", "")])
    assert good == {"with a fix": 1, "hold": 1, "end": 1}
    assert fixes.below(good) == []
    assert fixes.figures_of([]) == {}
    poor = fixes.figures_of([FIXED, DROPPED, WITHOUT], [Ran("a", (), 0, "fails", "fails")])
    assert fixes.below(poor) == [
        "with a fix: 66.7%, below 85%",
        "hold: 50.0%, below 100%",
        "end: 0.0%, below 80%",
    ]


def bug(parent: str, **more: object) -> dict[str, object]:
    row = {"repo": "made/up", "fix": "f", "parent": parent, "path": "p/a.py", "lines": [3]}
    return {**row, "class": "discarded-to", "visible": "a", **more}


def parsed(*rows: Mapping[str, object]) -> list[bugs.Bug]:
    return [bugs.Bug.parse(json.dumps(row)) for row in rows]


def test_files_of_bugs_are_linted_as_they_were_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "made+up")
    files = {
        "p/a.py": "from p.b import x\n\nx.cuda()\n",
        "p/b.py": "import torch\nx = torch.ones(1)",
    }
    parent = repository.commit({**files, "p/__init__.py": ""})
    repository.commit({"p/a.py": ""})

    twice = fixes.versions(parsed(bug(parent), bug(parent, visible="c"), bug(parent)))
    assert [(each.commit, each.whole) for each in twice] == [(parent, True)]
    (alone,) = fixes.versions(parsed(bug(parent)))
    assert fixes.of_version(alone, tmp_path) == []
    found = fixes.of_version(twice[0], tmp_path)
    assert isinstance(found, list)
    assert [each.code for each in found] == ["DEV302"]
    (absent,) = fixes.versions(parsed(bug(parent, repo="a/b")))
    assert fixes.of_version(absent, tmp_path) is None

    def fail(path: Path, shown: str) -> None:
        raise TypeError("no tensor")

    monkeypatch.setattr(fixes, "judged", fail)
    said = fixes.of_version(alone, tmp_path)
    assert said == f"made/up@{parent[:10]}/p/a.py: TypeError: no tensor"


def test_programs_that_lack_a_package_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "mistakes.md"
    path.write_text(
        "# Mistakes\n\n```toml\n[packages]\nno-such-package = '1.0'\n```\n\n## One\n\n"
        "```python train.py\nimport no_such_package\n```\n\n```toml\nfix = ''\n```\n\n## Two\n\n"
        "```python train.py\nimport torch\n```\n\n```toml\ncount = 1\n```\n"
    )
    assert fixes.programs(path) == ([("Two", {"train.py": "import torch\n"}, 1)], 1)


def test_what_is_below_its_mark_fails_where_it_is_to_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nx = torch.ones(3)\nx.to('cuda:7:8')\n")
    monkeypatch.setattr(fixes, "EXAMPLES", tmp_path)
    for more, code in (["--show"], 0), (["--check"], 1):
        monkeypatch.setattr("sys.argv", ["fixes.py", "--sets", "examples", *more])
        assert fixes.main() == code
        told = capsys.readouterr().out
        assert "examples/: with a fix: 50.0%, below 85%" in told
        assert ("no fix   DEV304 a.py:4" in told) is (more == ["--show"])
