"""Which version is built: that of the tag, wherever the tag can be known."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import shipped
from repository import Repository

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BUILD = tomllib.loads((shipped.ROOT / "pyproject.toml").read_text())["tool"]["hatch"]
FALLBACK = BUILD["version"]["fallback-version"]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository whose one commit is `v1.2.0`."""
    repository = Repository(tmp_path_factory.mktemp("version") / "tagged")
    shipped.copy(repository.folder)
    repository.commit({})
    repository.git("tag", "v1.2.0")
    return repository


def version(tree: Path) -> str:
    command = [sys.executable, "-m", "hatchling", "version"]
    done = subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_tag_is_the_version(tagged: Repository) -> None:
    assert version(tagged.folder) == "1.2.0"


@pytest.mark.parametrize("is_tagged", [True, False])
def test_an_archive_has_the_version_of_its_tag(tmp_path: Path, is_tagged: bool) -> None:
    """So runners fetch actions."""
    repository = Repository(tmp_path / "repository")
    shipped.copy(repository.folder)
    repository.commit({})
    if is_tagged:
        repository.git("tag", "v1.2.0")
    repository.git("archive", "--format=tar", f"--output={tmp_path / 'all.tar'}", "HEAD")
    (tmp_path / "tree").mkdir()
    subprocess.run(["tar", "-xf", "../all.tar"], cwd=tmp_path / "tree", check=True)
    assert version(tmp_path / "tree") == ("1.2.0" if is_tagged else FALLBACK)


def test_a_clone_without_tags_goes_on_from_the_fallback(tagged: Repository, tmp_path: Path) -> None:
    """So pre-commit clones hooks."""
    clone = Repository(tmp_path / "clone")
    clone.git("fetch", "--quiet", "--depth=1", tagged.folder.as_uri(), "v1.2.0")
    clone.git("checkout", "--quiet", "FETCH_HEAD")
    assert clone.git("tag") == ""
    start = FALLBACK.removesuffix(".dev0")
    found = version(clone.folder)
    assert re.fullmatch(rf"{re.escape(start)}(\.post1)?\.dev1\+g[0-9a-f]+", found), found


def test_a_copy_without_git_has_the_fallback(tmp_path: Path) -> None:
    assert version(shipped.copy(tmp_path / "copy")) == FALLBACK


def test_what_nobody_has_built_says_so(tmp_path: Path) -> None:
    tree = shipped.copy(tmp_path / "copy")
    command = [sys.executable, "-m", "devlint", "--version"]
    done = subprocess.run(command, cwd=tree / "src", check=True, capture_output=True, text=True)
    assert done.stdout == "devlint 0.0.0+source\n"
