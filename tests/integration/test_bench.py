"""The scripts that measure: what they count and what they call found."""

from __future__ import annotations

from pathlib import Path

import bugs
import corpus
import packages
import pytest
import speed


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
    assert speed.parse(good) == ""
    assert speed.parse(bad)
