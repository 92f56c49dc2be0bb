"""A git repository made for a test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Repository:
    """A work tree whose commits are nobody's, whatever git is told on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet")

    def git(self, *arguments: str) -> str:
        nobody = {
            f"GIT_{role}_{what}": "a@b"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(
            command, env=os.environ | nobody | plain, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str]) -> str:
        """Write files and commit everything; the commit's name."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Go on")
        return self.git("rev-parse", "HEAD")
