"""A copy of what is shipped of devlint.

A build writes its version into the tree that it builds, and other tests read the checkout's."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHIPPED = (
    ".ci", ".git_archival.txt", ".gitattributes", ".gitignore", ".pre-commit-hooks.yaml", "LICENSE",
    "README.md", "action.yml", "pyproject.toml", "rules", "src",
)  # fmt: skip


def copy(folder: Path) -> Path:
    """Put it into a folder, which is made, and return that. It belongs to no repository."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "_version.py")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    return folder
