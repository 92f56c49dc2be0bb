"""The hooks, run by the real pre-commit on a scratch repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "src", "rules")

BAD = """\
import torch


def restore(path):
    return torch.load(path)


def same(x: torch.Tensor) -> bool:
    return x.device == "cuda"
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=devlint", "-c", "user.email=devlint@example.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit_all(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "all")


def test_the_hooks_find_and_fix_in_an_environment_without_torch(tmp_path: Path) -> None:
    hooks = tmp_path / "devlint"
    hooks.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, hooks / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
            )
        else:
            shutil.copy(source, hooks / name)
    commit_all(hooks)

    project = tmp_path / "project"
    project.mkdir()
    (project / "good.py").write_text("import torch\n\nx = torch.ones(3)\n")
    (project / "bad.py").write_text(BAD)
    (project / "stubs.pyi").write_text("def f() -> None: ...\n")
    (project / "skipped").mkdir()
    (project / "skipped" / "bad.py").write_text(BAD)
    (project / "pyproject.toml").write_text('[tool.devlint]\nexclude = ["skipped"]\n')
    commit_all(project)

    home = tmp_path / "home"
    environment = os.environ | {"PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"}

    def try_repo(hook: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), hook]
        return subprocess.run(
            [*command, "--all-files", "--verbose"],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
        )

    found = try_repo("devlint")
    assert found.returncode == 1, found.stdout + found.stderr
    assert "DEV106" in found.stdout
    assert "DEV305" in found.stdout
    assert "good.py" not in found.stdout
    assert "skipped" not in found.stdout
    assert (project / "bad.py").read_text() == BAD
    assert list(home.rglob("site-packages/libcst"))
    assert not list(home.rglob("site-packages/torch"))

    fixed = try_repo("devlint-fix")
    assert fixed.returncode == 1, fixed.stdout + fixed.stderr
    assert "files were modified by this hook" in fixed.stdout
    assert (project / "bad.py").read_text() != BAD
    assert (project / "skipped" / "bad.py").read_text() == BAD
