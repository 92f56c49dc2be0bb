"""The bug fixes of bugs.jsonl, and what the projects' clones hold of their commits."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

BUGS = Path(__file__).resolve().parent / "bugs.jsonl"
SETTINGS = ("pyproject.toml", "setup.cfg", "devlint.toml")
"""What a checkout holds besides Python files: they tell where a project's packages lie."""


@dataclass(frozen=True)
class Bug:
    """One line of bugs.jsonl."""

    repo: str
    fix: str
    parent: str
    path: str
    lines: frozenset[int]
    kind: str
    visible: str
    subkind: str = ""
    """What a bug of the kind "other" is."""

    @classmethod
    def parse(cls, line: str) -> Bug:
        record = json.loads(line)
        return cls(
            record["repo"],
            record["fix"],
            record["parent"],
            record["path"],
            frozenset(record["lines"]),
            record["class"],
            record["visible"],
            record.get("subclass", ""),
        )


def read(path: Path = BUGS) -> list[Bug]:
    return [Bug.parse(line) for line in path.read_text().splitlines()]


def clone_of(mirrors: Path, repo: str) -> Path | None:
    """The git directory of `repo`, or None where there is no clone."""
    flat = mirrors / repo.replace("/", "+")
    choices = (flat, flat / ".git", flat / "repo", flat.with_name(flat.name + ".git"))
    return next((choice for choice in choices if (choice / "HEAD").is_file()), None)


def content(clone: Path, commit: str, path: str) -> bytes | None:
    """A file at a commit, or None where the clone doesn't hold it."""
    shown = _git(clone, "cat-file", "blob", f"{commit}:{path}")
    return None if shown.returncode else shown.stdout


def check_out(clone: Path, commit: str, folder: Path) -> bool:
    """Write a commit's Python files and settings under `folder`; whether the clone has it.

    One `cat-file` reads them all, and unlike `git archive` it goes on where a clone lacks a file
    that nobody asks for. Links are left out: they may lead anywhere.
    """
    listed = _git(clone, "ls-tree", "-r", "-z", commit)
    if listed.returncode:
        return False
    names: dict[str, list[str]] = {}
    for entry in listed.stdout.decode(errors="surrogateescape").split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        mode, _, blob = about.split(" ")
        if mode.startswith("100") and _wanted(path):
            names.setdefault(blob, []).append(path)
    for blob, data in _blobs(clone, names):
        for path in names[blob]:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return True


def _wanted(path: str) -> bool:
    return path.endswith((".py", ".pyi")) or path.rpartition("/")[2] in SETTINGS


def _blobs(clone: Path, blobs: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    """The content of each blob that the clone holds."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = _git(clone, "cat-file", "--batch", data=asked).stdout
    at = 0
    while at < len(answer):
        end = answer.index(b"\n", at)
        blob, *rest = answer[at:end].decode().split(" ")
        at = end + 1
        if rest[0] == "blob":
            size = int(rest[1])
            yield blob, answer[at : at + size]
            at += size + 1


def _git(clone: Path, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What git answers. A clone that lacks an object says so instead of asking a server."""
    command = ["git", "--git-dir", str(clone), *arguments]
    environment = os.environ | {"GIT_NO_LAZY_FETCH": "1"}
    return subprocess.run(command, input=data, capture_output=True, env=environment)
