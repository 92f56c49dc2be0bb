"""What decides on a release candidate: versions, promises, what an action's expressions mean."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from repository import Repository

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

from release import candidate, checks, users  # noqa: E402
from release.steps import FAILED, LEFT_OUT, PASSED, Candidate, LeftOutError, Log, StepError  # noqa: E402

PROJECT = {
    "pyproject.toml": 'fallback-version = "0.1.0.dev0"\n',
    "CHANGELOG.md": "# Changelog\n",
    "changelog.d/+speed.added.md": "It is faster.\n",
    "tests/shapes/json-1.0.txt": "$: array\n",
    "tests/shapes/api.txt": "check(paths)\nfix(paths)\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    made.commit(PROJECT)
    return made


def prepared(repository: Repository, version: str | None = None) -> Candidate:
    work = repository.folder.parent / "work"
    work.mkdir()
    return candidate.prepare(repository.folder, version, work, work / "dist")


@pytest.mark.parametrize(
    ("newest", "kinds", "version"),
    [
        ("", {"added"}, "0.1.0rc1"),
        ("0.1.0rc1", {"added"}, "0.1.0rc2"),
        ("0.1.0b2", {"added"}, "0.1.0rc1"),
        ("0.1.0", {"added", "fixed"}, "0.2.0rc1"),
        ("0.1.0", {"fixed"}, "0.1.1rc1"),
        ("0.1.0", {"removed"}, "0.2.0rc1"),
        ("1.4.2", {"removed", "fixed"}, "2.0.0rc1"),
        ("1.4.2", {"changed"}, "1.5.0rc1"),
    ],
)
def test_the_next_candidate(newest: str, kinds: set[str], version: str) -> None:
    assert candidate.following(newest, "0.1.0.dev0", kinds) == version


def test_a_candidate_is_a_tag_of_a_clone(repository: Repository) -> None:
    made = prepared(repository)
    assert (made.version, made.commit) == ("0.1.0rc1", repository.git("rev-parse", "HEAD"))
    assert candidate.tag_of(made.tree) == "0.1.0rc1"
    assert repository.git("tag") == ""
    assert "git tag --annotate v0.1.0rc1" in candidate.what_next(made)


def test_a_tag_is_taken_as_it_is(repository: Repository) -> None:
    repository.git("tag", "v0.1.0rc1")
    repository.git("tag", "v0.1.0rc2")
    made = prepared(repository)
    assert (made.version, made.is_new) == ("0.1.0rc2", False)


def test_what_is_not_committed_is_refused(repository: Repository) -> None:
    (repository.folder / "new.py").write_text("")
    with pytest.raises(StepError, match="aren't committed"):
        prepared(repository)


@pytest.mark.parametrize("version", ["0.1", "0.1.0-rc1", "0.3.0.dev1", "0.3.0+x", "latest"])
def test_what_is_no_version_of_a_release_is_refused(repository: Repository, version: str) -> None:
    with pytest.raises(StepError, match="version"):
        candidate.check(version, repository.folder)


def test_a_version_comes_after_the_last_one(repository: Repository) -> None:
    repository.git("tag", "v0.2.0")
    repository.commit({"a.py": ""})
    candidate.check("0.2.1", repository.folder)
    for version in ("0.1.9", "0.2.0rc1"):
        with pytest.raises(StepError, match=r"doesn't come after 0\.2\.0"):
            candidate.check(version, repository.folder)
    with pytest.raises(StepError, match="another commit"):
        candidate.check("0.2.0", repository.folder)


def test_the_tag_of_a_release_is_on_its_commit(repository: Repository) -> None:
    repository.git("tag", "v0.1.0")
    with pytest.raises(StepError, match="isn't the commit of that release"):
        prepared(repository)
    changed = {
        "pyproject.toml": 'fallback-version = "0.1.0"\n',
        "CHANGELOG.md": "# Changelog\n\n## 0.1.0 (2026-01-01)\n\n- It is faster.\n",
    }
    repository.git("rm", "--quiet", "changelog.d/+speed.added.md")
    repository.commit(changed)
    candidate.check_release(repository.folder, "0.1.0")


def test_a_released_format_stays_as_it_is(repository: Repository) -> None:
    repository.git("tag", "v1.1.0")
    repository.commit({"tests/shapes/json-1.1.txt": "$: array\n$[]: object\n"})
    made = prepared(repository, "1.2.0rc1")
    assert checks.promises(made) == "formats of 1.1.0 are as they were"
    (made.tree / "tests/shapes/json-1.0.txt").write_text("$: object\n")
    with pytest.raises(StepError, match=r"json-1\.0\.txt is released"):
        checks.promises(made)


def test_another_format_takes_another_release(repository: Repository) -> None:
    repository.git("tag", "v1.1.0")
    repository.commit({"tests/shapes/json-2.0.txt": "$: object\n"})
    made = prepared(repository, "1.2.0rc1")
    with pytest.raises(StepError, match="the format json is 2 now, and was 1"):
        checks.promises(made)
    later = replace(made, version="2.0.0rc1")
    assert checks.promises(later).splitlines()[1:] == ["the format json is 2 now, and was 1"]


def test_functions_go_with_another_release(repository: Repository) -> None:
    repository.git("tag", "v1.1.0")
    repository.commit({"tests/shapes/api.txt": "check(paths)\nmore()\n"})
    made = prepared(repository, "1.2.0rc1")
    with pytest.raises(StepError, match=r"api\.txt: fix\(paths\)"):
        checks.promises(made)
    later = replace(made, version="2.0.0rc1")
    assert checks.promises(later).splitlines()[1:] == ["api.txt: fix(paths)"]


@pytest.mark.parametrize(
    ("last", "version", "may"),
    [
        ("1.1.0", "1.2.0rc1", False),
        ("1.1.0", "2.0.0", True),
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0rc1", True),
    ],
)
def test_which_releases_may_break(last: str, version: str, may: bool) -> None:
    assert checks.may_break(last, version) is may


def test_pythons_that_are_missing_are_told() -> None:
    passed, missing = (
        {"signatures": ["wheel-3.10"], "result": "success"},
        {"signatures": ["wheel-3.14"], "result": "skipped"},
    )
    assert checks.told_of([passed], "") == "passed on Python 3.10"
    with pytest.raises(LeftOutError, match=r"passed on Python 3\.10; not here.*: 3\.14"):
        checks.told_of([passed, missing], "")
    with pytest.raises(StepError, match=r"fails on Python 3\.12:\nthe end"):
        checks.told_of([passed, {"signatures": ["wheel-3.12"], "result": "failed"}], "the end")


def test_expressions_of_an_action() -> None:
    known = {"inputs.src": "a b", "github.action_path": "/x"}
    text = "${{ inputs.src }} in ${{github.action_path}}"
    assert users.filled(text, known) == "a b in /x"
    with pytest.raises(StepError, match=r"nothing is called inputs\.srcs"):
        users.filled("${{ inputs.srcs }}", known)


def test_a_step_that_fails_is_told_and_the_next_one_taken() -> None:
    def fails() -> str:
        raise ZeroDivisionError("a bug")

    def lacks() -> str:
        raise LeftOutError("no such tool")

    log = Log()
    assert [log.take("a", fails), log.take("b", lacks), log.take("c", lambda: "well")] == [
        False,
        True,
        True,
    ]
    assert [log.having(state) for state in (FAILED, LEFT_OUT, PASSED)] == [["a"], ["b"], ["c"]]
    assert "ZeroDivisionError: a bug" in log.outcomes[0].text
