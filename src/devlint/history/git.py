"""Reads revisions of a git repository, and runs nothing that the repository names.

A repository's settings may name programs: monitors of the file system, hooks, filters, converters,
pagers, aliases, ways to a server. Only four commands are used here (`rev-parse`, `merge-base`,
`ls-tree`, `cat-file`). They read objects and know no filter, converter or index. Above the
repository's settings stand those of `_SETTINGS`; the user's and the system's aren't read, and of
the environment nothing that is git's. git itself is never taken from a folder that is linted.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from devlint.history.installed import folders_of_path, program
from devlint.safety import files

_SETTINGS = {
    "core.alternateRefsCommand": "",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
}
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # a clone that lacks an object says so, and asks no server
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its name says
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_PATIENCE = 600.0
"""Seconds after which git is ended: a setting may lead to a pipe that nobody writes to."""
_MOST_ENTRIES = 1_000_000
"""Files of one revision. A tree may hold itself many times over, and be small."""
_LONGEST_LINK = 4096
_IS_PROMISED = re.compile(r".*\.promisor").fullmatch
_PIECE = 1 << 20


class GitError(Exception):
    """A revision can't be read; the text says why, on one line."""


class LackingError(GitError):
    """The clone is a partial one, and lacks what was asked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or submodule of a revision: its path has forward slashes."""

    mode: str
    name: str
    """What git calls its content."""
    path: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree and where its objects are."""

    top: str
    """The folder of the work tree, without links."""
    git_folder: str
    program: str
    path: str
    """Where git may look for programs: no folder of what is linted."""

    def commit(self, revision: str) -> str:
        """The commit that a revision names, as git understands it; `REV...` is where REV and HEAD
        have parted. Raises `GitError`."""
        if revision.endswith("..."):
            return self._parting(self._named(revision.removesuffix("...")), revision)
        return self._named(revision)

    def _named(self, revision: str) -> str:
        if revision and not revision.startswith("-") and "\0" not in revision:
            found = self._ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
            if found is not None:
                return found
        hint = ": it is a shallow clone, so fetch it first" if self.is_shallow else ""
        raise GitError(f"there is no commit `{revision}` in {self.top}{hint}")

    def _parting(self, commit: str, revision: str) -> str:
        found = self._ask("merge-base", commit, self._named("HEAD"))
        if found is not None:
            return found.partition("\n")[0]
        hint = ": it is a shallow clone, so fetch more of its history" if self.is_shallow else ""
        raise GitError(f"`{revision}`: it has no commit in common with HEAD{hint}")

    @property
    def is_shallow(self) -> bool:
        """Whether a part of the history isn't there."""
        return os.path.exists(os.path.join(self._common, "shallow"))

    @property
    def is_sparse(self) -> bool:
        """Whether the work tree may hold a part of the files only."""
        return os.path.exists(os.path.join(self.git_folder, "info", "sparse-checkout"))

    @property
    def is_partial(self) -> bool:
        """Whether git would fetch what isn't there; here it doesn't."""
        packs = os.path.join(self._common, "objects", "pack")
        return os.path.isdir(packs) and any(map(_IS_PROMISED, os.listdir(packs)))

    @property
    def _common(self) -> str:
        """What all work trees of the repository share."""
        try:
            text = files.read(os.path.join(self.git_folder, "commondir"), _LONGEST_LINK)
        except OSError:
            return self.git_folder
        return os.path.join(self.git_folder, os.fsdecode(text).strip())

    def submodule(self, path: str) -> Repository | None:
        """A submodule that is checked out, by its path in the work tree."""
        top = os.path.join(self.top, *path.split("/"))
        if files.resolve(top) != top:
            return None
        folder = _git_folder(top)
        return None if folder is None else Repository(top, folder, self.program, self.path)

    def has(self, commit: str) -> bool:
        """Whether the clone holds a commit, whose full name is given."""
        return self._ask("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}") is not None

    def entries(self, commit: str) -> Iterator[Entry]:
        """All files, links and submodules of a commit. Raises `GitError`."""
        left = b""
        count = 0
        with self._running("ls-tree", "-r", "-z", "--full-tree", commit) as output:
            while piece := output.read(_PIECE):
                *rows, left = (left + piece).split(b"\0")
                count += len(rows)
                if count > _MOST_ENTRIES or len(left) > _PIECE:
                    raise GitError(f"{commit} has more than {_MOST_ENTRIES:,} files")
                for row in rows:
                    about, _, path = row.partition(b"\t")
                    mode, _, name = about.decode().split(" ")
                    yield Entry(mode, name, os.fsdecode(path))

    def blobs(self, names: Iterable[str], most: int) -> Iterator[tuple[str, bytes | None]]:
        """The content of each blob, in order; None for those that the clone lacks. What is larger
        than `most` bytes is left out. Raises `GitError`."""
        asked = "".join(f"{name}\n" for name in names).encode()
        with self._running("cat-file", "--batch", data=asked) as output:
            while head := output.readline(_LONGEST_LINK):
                name, *rest = head.decode().split()
                if rest == ["missing"]:
                    yield name, None
                    continue
                if len(rest) != 2:
                    break  # git was ended
                size = int(rest[1])
                if size > most:
                    _skip(output, size)
                elif len(content := output.read(size)) == size and rest[0] == "blob":
                    yield name, content
                output.read(1)

    def _ask(self, *arguments: str) -> str | None:
        """What a short command prints; None where it fails."""
        try:
            with self._running(*arguments) as output:
                return output.read(_PIECE).decode().strip()
        except GitError as error:
            if isinstance(error.__cause__, OSError):
                raise
            return None

    @contextlib.contextmanager
    def _running(self, *arguments: str, data: bytes = b"") -> Iterator[IO[bytes]]:
        """The output of a command that is given `data`. Raises `GitError` where it fails."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(data)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    self._command(*arguments),
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    env=self._environment(),
                    cwd=os.path.dirname(self.program),
                )
            except OSError as error:
                raise GitError(f"{self.program} can't be run: {files.reason(error)}") from error
            assert process.stdout is not None
            ended = threading.Event()

            def end() -> None:
                ended.set()
                process.kill()

            timer = threading.Timer(_PATIENCE, end)
            timer.daemon = True
            timer.start()
            try:
                yield process.stdout
                process.stdout.close()
                code = process.wait()
            finally:
                timer.cancel()
                process.kill()
                process.stdout.close()
                process.wait()
            if ended.is_set():
                text = f"git {arguments[0]} has not ended in {_PATIENCE:.0f} seconds"
                raise GitError(text) from TimeoutError(text)
            if code:
                said.seek(0)
                last = said.read(_PIECE).decode(errors="replace").strip().rpartition("\n")[2]
                kind = LackingError if self.is_partial else GitError
                raise kind(f"git {arguments[0]} in {self.top}: {last or f'exit code {code}'}")

    def _command(self, *arguments: str) -> list[str]:
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        places = ["--git-dir", self.git_folder, "--work-tree", self.top]
        return [self.program, "--no-pager", *settings, *places, *arguments]

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {**own, **_ENVIRONMENT, "PATH": self.path}


def _skip(output: IO[bytes], size: int) -> None:
    while size > 0 and (piece := output.read(min(size, _PIECE))):
        size -= len(piece)


def top_of(path: str) -> str | None:
    """The work tree that a path lies in, without links; None where it lies in none."""
    place = files.resolve(path)
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return None
        place = above
    return place


def open_repository(top: str, trees: Iterable[str]) -> Repository:
    """The repository of a work tree; git is taken from none of the `trees`. Raises `GitError`."""
    folder = _git_folder(top)
    if folder is None:
        raise GitError(f"{top} is not a git repository: its `.git` leads to none")
    trees = [top, *trees]
    folders = folders_of_path(trees)
    found = program("git", folders, trees)
    if found is None:
        raise GitError("there is no git on PATH, outside of what is linted")
    return Repository(top, folder, found, os.pathsep.join(folders))


def _git_folder(top: str) -> str | None:
    """The folder that a work tree's `.git` is, or names."""
    path = os.path.join(top, ".git")
    if not os.path.isdir(path):
        try:
            text = os.fsdecode(files.read(path, _LONGEST_LINK))
        except OSError:
            return None
        if not text.startswith("gitdir: "):
            return None
        path = os.path.normpath(os.path.join(top, text.removeprefix("gitdir: ").rstrip("\r\n")))
    return path if os.path.isfile(os.path.join(path, "HEAD")) else None
