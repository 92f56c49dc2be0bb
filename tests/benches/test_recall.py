"""The bench of real bugs: what counts as found, and which files it lints."""

from __future__ import annotations

import json
from pathlib import Path

import bugs
import clones
import fitting
import linting
import pytest
import recall
from repository import Repository

BUG = bugs.Bug("a/b", "fix", "parent", "x.py", frozenset({3, 9}), "discarded-to", "a")


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


def test_a_named_bug_is_shown_by_a_finding_that_names_it_and_is_certain() -> None:
    sure, unsure = finding("DEV302", 9), finding("DEV302", 9) | {"confidence": 20}
    other = finding("DEV101", 9) | {"confidence": 100}
    assert recall.judge(BUG, [sure, unsure], []).shown
    assert not recall.judge(BUG, [unsure, other], []).shown
    assert not recall.judge(BUG, [other], []).shown


def test_every_bug_has_what_is_needed_to_look_it_up() -> None:
    known = bugs.read()
    assert len(known) == len(set(known)) > 200
    assert all(len(bug.parent) == len(bug.fix) == 40 and bug.lines for bug in known)
    assert {bug.visible for bug in known} == set("abcd")


def test_every_bug_has_codes_that_fit_it_and_no_class_has_none() -> None:
    known = bugs.read()
    assert {bug.kind for bug in known} == {*fitting.KINDS, "other"}
    assert {bug.subkind for bug in known if bug.kind == "other"} == set(fitting.OTHERS)
    for bug in known:
        assert fitting.fitting(bug.kind, bug.subkind)


def test_a_clone_is_found_under_each_of_its_names(tmp_path: Path) -> None:
    for name in ("a+flat", "a+bare.git", "a+nested/repo", "a+tree/.git", "a+below/repo/.git"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "HEAD").touch()
    for repo in ("flat", "bare", "nested", "tree", "below"):
        assert clones.clone_of(tmp_path, f"a/{repo}") is not None
    assert clones.clone_of(tmp_path, "a/absent") is None


class Project:
    """A repository with a bug that its second commit fixes, in p/a.py on line 3."""

    def __init__(self, folder: Path) -> None:
        made = Repository(folder / "made+up")
        (made.folder / "link.py").symlink_to("/nowhere")
        self.parent = made.commit(
            {
                "p/a.py": "import torch\n\nnet = torch.load('x.pt')\n",
                "p/b.py": "y = 1\n",
                "json.py": "raise SystemExit('a module of the project, not of Python')\n",
                "pyproject.toml": "",
                "weights.bin": "0",
            }
        )
        fixed = "import torch\n\nnet = torch.load('x.pt', map_location='cpu')\n"
        self.fix = made.commit({"p/a.py": fixed})

    def bug(self, visible: str = "a", **more: str) -> dict[str, object]:
        places = {"repo": "made/up", "fix": self.fix, "parent": self.parent, "path": "p/a.py"}
        kind = {"class": "load-without-map-location", "visible": visible}
        return {**places, **kind, "lines": [3], **more}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("visible", ["a", "c"])
def test_a_bug_is_linted_before_and_after_its_fix(
    project: Project,
    visible: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known, missed = tmp_path / "bugs.jsonl", tmp_path / "missed"
    rows = [project.bug(visible), project.bug(visible, path="p/b.py"), project.bug(repo="a/b")]
    known.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--mirrors", str(tmp_path), "--bugs", str(known), "--misses", str(missed)]
    monkeypatch.setattr("sys.argv", ["recall.py", *arguments])
    recall.main()
    told = capsys.readouterr().out
    assert f"visible: {visible}                         2     1      1         1     50%" in told
    assert "bugs without a clone: 1" in told
    assert missed.read_text().split()[4] == "p/b.py"


def test_only_bugs_across_functions_bring_their_project_along(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = []

    def devlint(paths: list[Path], folder: Path, jobs: int) -> linting.Outcome:
        files = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
        there.append({path.relative_to(folder).as_posix() for path in files})
        assert all(path.is_file() for path in paths)
        return linting.Outcome((), 0.0, 0.0, "", ())

    monkeypatch.setattr(linting, "devlint", devlint)
    for visible, whole in (("b", False), ("b", True), ("c", False)):
        bug = bugs.Bug.parse(json.dumps(project.bug(visible)))
        recall.lint(recall.versions(bug, whole)[:1], tmp_path, 1)
    tree = {"p/a.py", "p/b.py", "json.py", "pyproject.toml"}
    assert there == [{"0/p/a.py"}, tree, tree]


def test_one_checkout_serves_all_bugs_of_a_commit(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def devlint(paths: list[Path], folder: Path, jobs: int) -> linting.Outcome:
        runs.append(sorted(path.name for path in paths))
        return linting.Outcome((), 0.0, 0.0, "", ())

    monkeypatch.setattr(linting, "devlint", devlint)
    paths = ("p/a.py", "p/b.py", "p/a.py", "p/absent.py")
    wanted = [recall.Version("made/up", project.parent, path, True) for path in paths]
    linted = recall.lint(wanted, tmp_path, 1)
    assert runs == [["a.py", "b.py"]]
    assert linted.keys() == {wanted[0], wanted[1]}
    assert linted[wanted[1]].source == b"y = 1\n"


def test_a_project_does_not_hide_the_modules_that_devlint_needs(
    project: Project, tmp_path: Path
) -> None:
    version = recall.Version("made/up", project.parent, "p/a.py", whole=True)
    findings = recall.lint([version], tmp_path, 1)[version].findings
    assert [finding["code"] for finding in findings] == ["DEV106"]
