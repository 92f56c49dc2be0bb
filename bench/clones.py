"""What git repositories of others hold. Nothing that one of them names as a command is run.

A repository's own settings may name programs, and its attributes say for which files: filters,
text converters, external diffs, pagers, hooks, monitors of the file system, ways to a server. Only
three commands are used here, which read objects and know no filter, converter or hook; `git
archive` is not among them, for it runs filters.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import unpacking

_SETTINGS = {
    "core.alternateRefsCommand": "",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "protocol.allow": "never",
}
"""What stands above a repository's own settings."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # a clone that lacks an object says so, and asks no server
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its name says
    "GIT_TERMINAL_PROMPT": "0",
}


def clone_of(mirrors: Path, repo: str) -> Path | None:
    """The git directory of `repo`, or None where there is no clone."""
    flat = mirrors / repo.replace("/", "+")
    bare = (flat, flat / "repo", flat.with_name(flat.name + ".git"))
    choices = [choice / below for choice in bare for below in ("", ".git")]
    return next((choice for choice in choices if (choice / "HEAD").is_file()), None)


def commit_of(clone: Path, revision: str) -> str | None:
    """The full name of a revision's commit, or None where there is no such commit."""
    found = _git(clone, "rev-parse", "--verify", f"{revision}^{{commit}}")
    return None if found.returncode else found.stdout.decode().strip()


def content(clone: Path, commit: str, path: str) -> bytes | None:
    """A file at a commit, or None where the clone doesn't hold it."""
    shown = _git(clone, "cat-file", "blob", f"{commit}:{path}")
    return None if shown.returncode else shown.stdout


def check_out(clone: Path, commit: str, folder: Path, wanted: Callable[[str], bool]) -> bool:
    """Write the wanted files of a commit under `folder`; whether the clone has the commit.

    One `cat-file` reads them all, and it goes on where a clone lacks a file that nobody asks for.
    Links are left out: they may lead anywhere. An empty `.git` marks the root, as in any checkout.
    """
    listed = _git(clone, "ls-tree", "-r", "-z", "--full-tree", commit)
    if listed.returncode:
        return False
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    names: dict[str, list[str]] = {}
    for entry in listed.stdout.decode(errors="surrogateescape").split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        mode, _, blob = about.split(" ")
        if mode.startswith("100") and wanted(path):
            names.setdefault(blob, []).append(path)
    for blob, data in _blobs(clone, names):
        for path in names[blob]:
            unpacking.write_below(folder, path).write_bytes(data)
    return True


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
    """What git answers of a repository, whose git directory is given."""
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    command = ["git", "--no-pager", *settings, "--git-dir", str(clone), *arguments]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(command, input=data, capture_output=True, env=own | _ENVIRONMENT)
