"""The hooks, run by the real pre-commit on a scratch repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import shipped

BAD = """\
import torch


def restore(path):
    return torch.load(path)


def same(x: torch.Tensor) -> bool:
    return x.device == "cuda"
"""


def git(folder: Path, *arguments: str) -> str:
    """What a git command prints. Raises CalledProcessError where it fails."""
    command = ["git", "-c", "user.name=devlint", "-c", "user.email=devlint@example.invalid"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit_all(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "all")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what is shipped of devlint, as users' configurations name it."""
    folder = shipped.copy(tmp_path_factory.mktemp("devlint"))
    commit_all(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of somebody's, with a bug in a file that counts and in one that doesn't."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "good.py").write_text("import torch\n\nx = torch.ones(3)\n")
    (folder / "bad.py").write_text(BAD)
    (folder / "stubs.pyi").write_text("def f() -> None: ...\n")
    (folder / "skipped").mkdir()
    (folder / "skipped" / "bad.py").write_text(BAD)
    (folder / "pyproject.toml").write_text('[tool.devlint]\nexclude = ["skipped"]\n')
    commit_all(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environment of the hooks, which it installs once."""
    return tmp_path_factory.mktemp("home")


def run(project: Path, hooks: Path, home: Path, hook: str) -> str:
    """What pre-commit prints, which fails with the hook, about all files."""
    head = git(hooks, "rev-parse", "HEAD")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {head}\n  hooks:\n  - id: {hook}\n"
    )
    git(project, "add", "--all")
    pip = {"PIP_NO_COMPILE": "1"}  # nearly all of what it compiles is never imported
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"],
        cwd=project,
        env=os.environ | {"PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"} | pip,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_the_hook_tells_what_is_wrong(hooks: Path, project: Path, home: Path) -> None:
    told = run(project, hooks, home, "devlint")
    assert "DEV106" in told
    assert "DEV305" in told
    assert "good.py" not in told
    assert "skipped" not in told
    assert (project / "bad.py").read_text() == BAD


def test_the_fixing_hook_runs_in_an_environment_without_torch(
    hooks: Path, project: Path, home: Path
) -> None:
    told = run(project, hooks, home, "devlint-fix")
    assert "files were modified by this hook" in told
    assert 'x.device.type == "cuda"' in (project / "bad.py").read_text()
    assert (project / "skipped" / "bad.py").read_text() == BAD
    assert list(home.rglob("site-packages/libcst"))
    assert not list(home.rglob("site-packages/torch"))
