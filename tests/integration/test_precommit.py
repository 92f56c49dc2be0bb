"""The hooks, run by the real pre-commit on a scratch repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "src", "rules")

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
    folder = tmp_path_factory.mktemp("devlint")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
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


def pre_commit(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = {"PRE_COMMIT_HOME": str(project.parent / "home"), "PRE_COMMIT_COLOR": "never"}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *arguments],
        cwd=project,
        env=os.environ | home,
        capture_output=True,
        text=True,
    )


def test_try_repo_runs_the_hook(hooks: Path, project: Path) -> None:
    done = pre_commit(project, "try-repo", str(hooks), "devlint", "--all-files", "--verbose")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "DEV106" in done.stdout
    assert "DEV305" in done.stdout
    assert "good.py" not in done.stdout
    assert "skipped" not in done.stdout
    assert (project / "bad.py").read_text() == BAD


def test_the_fixing_hook_runs_in_an_environment_without_torch(hooks: Path, project: Path) -> None:
    head = git(hooks, "rev-parse", "HEAD")
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {head}\n  hooks:\n  - id: devlint-fix\n"
    )
    git(project, "add", "--all")
    done = pre_commit(project, "run", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert 'x.device.type == "cuda"' in (project / "bad.py").read_text()
    assert (project / "skipped" / "bad.py").read_text() == BAD
    home = project.parent / "home"
    assert list(home.rglob("site-packages/libcst"))
    assert not list(home.rglob("site-packages/torch"))
