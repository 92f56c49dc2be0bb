"""The scripts that measure: what they count and what they call found."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import bugs
import corpus
import packages
import pytest
import rooms
import speed
import speed_tools


def test_the_sets_share_no_package_and_no_project_of_the_bugs() -> None:
    named = {which: set(packages.pinned(which)) for which in packages.SETS}
    assert not named["corpus"] & named["heldout"]
    projects = {bug.repo.rpartition("/")[2].lower() for bug in bugs.read()}
    assert not named["heldout"] & projects


def test_a_name_of_another_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"corpus_heldout\.toml: timm"):
        packages.fetch(["timm"], tmp_path, "heldout")


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
    for parser in speed_tools.FLOORS:
        assert speed_tools.parse(parser, good) == ""
        assert speed_tools.parse(parser, bad)


def test_seconds_are_those_of_all_processes_and_a_failure_is_told() -> None:
    work = "sum(range(3_000_000))"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    alone = speed_tools.measured([sys.executable, "-c", work])
    assert speed_tools.measured([sys.executable, "-c", inner]).user > 0.5 * alone.user > 0
    with pytest.raises(SystemExit, match="no such thing"):
        speed_tools.measured([sys.executable, "-c", "raise SystemExit('no such thing')"])


def test_tools_are_beside_the_parsers_in_the_table_and_in_what_is_to_hold() -> None:
    def cost(user: float) -> speed_tools.Cost:
        return speed_tools.Cost(user, 2 * user, 30)

    costs = {("devlint", 1): cost(1), ("libcst", 1): cost(4), ("torchfix", 1): cost(20)}
    rows = speed.table(costs, 1000, {"torchfix": "0.7.0"}, [1]).splitlines()
    assert rows[2] == "| devlint | 1.00 | 2.00 | 30 | 500 | 0.25 |"
    assert rows[4] == "| torchfix 0.7.0 | 20.00 | 40.00 | 30 | 25 | 5.00 |"
    assert speed.beside("models", costs) == [
        "0.25 times LibCST's parse (at most 0.35)",
        "1/20.0 of TorchFix (at most 1/50)",
    ]


def test_time_counts_for_the_room_that_asked_for_it() -> None:
    def look(frame: FrameType | None) -> str:
        return rooms.room_of(frame)[0]

    def run(path: str, call: str) -> str:
        """What is said of a frame of the library, called from a file of such a name."""
        found: list[str] = []
        names = {"look": lambda: found.append(look(sys._getframe(1))), "sorted": sorted}
        exec(compile(call, f"/x/devlint/{path}", "exec"), names)
        return found[0]

    assert run("flow/domain/state.py", "look()") == "flow/domain"
    assert run("flow/interpreter.py", "look()") == "flow"
    assert run("source/lower_expressions.py", "look()") == "source: lowering"
    asked = "import functools; functools.reduce(lambda a, b: look(), [1, 2])"
    assert run("source/exact.py", asked) == "source: the rest"
    assert look(None) == "Python's start and end"
