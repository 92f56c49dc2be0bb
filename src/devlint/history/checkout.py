"""Writes the sources of an older revision into a private folder, to be looked at and no more.

Below that folder stands the whole path of the work tree: what the names of the folders around a
file say of it holds for the older one as well. Only plain files are written, below the folder
whatever they are called; of the links, those stay that lead to what is in there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from devlint.history.git import Entry, GitError, LackingError, Repository
from devlint.safety import files

_MARKS = ("pyproject.toml", "setup.cfg")
"""Files that say by being there where a project begins. They are written empty."""
_MOST_BYTES = 2 * 1024**3
"""Bytes of the sources of one revision. A tree may hold a file many times over, and be small."""
_LONGEST_NAME = 255
_LONGEST_LINK = 4096
_MOST_NESTED = 10
"""Submodules within each other."""
_NEVER = re.compile(r"\.{0,2}|\.git|git~1", re.IGNORECASE)
_FORBIDDEN = re.compile(r'[\\:*?"<>|\0-\x1f]' if os.name == "nt" else r"\0")


@dataclass(slots=True)
class Checkout:
    """The sources of a revision."""

    folder: str
    """The private folder."""
    top: str
    """The work tree, without links."""
    names: dict[str, str] = field(default_factory=dict)
    """What git calls the content of each file that was written, by its path in the work tree."""
    unknown: list[str] = field(default_factory=list)
    """Submodules whose older commit their clone doesn't hold."""
    size: int = 0

    def place(self, path: str) -> str:
        """Where a file of the revision stands, by its path in the work tree."""
        return os.path.join(place(self.folder, self.top), *path.split("/"))

    def has(self, path: str) -> bool:
        """Whether the revision has a file there, or a link to one."""
        return os.path.isfile(self.place(path)) and not files.leads_out(
            self.place(path), place(self.folder, self.top)
        )

    def read(self, path: str) -> bytes:
        """The content of a file; nothing where it can't be read."""
        return content(self.place(path)) if self.has(path) else b""


def content(path: str) -> bytes:
    """The content of a source; nothing where it can't be read."""
    try:
        return files.read(path, files.LARGEST_SOURCE)
    except OSError:
        return b""


def place(folder: str, path: str) -> str:
    """Where an absolute path is below a folder."""
    drive, below = os.path.splitdrive(path)
    parts = [drive.strip(":\\/"), *below.split(os.sep)]
    return os.path.join(folder, *filter(None, parts))


def check_out(
    repository: Repository, commit: str, folder: str, wanted: Callable[[str], bool]
) -> Checkout:
    """Write the wanted files of a commit, by their paths in the work tree. Raises `GitError`."""
    made = Checkout(folder, repository.top)
    top = place(folder, repository.top)
    try:
        os.makedirs(os.path.join(top, ".git"))  # says where the project ends
        # All is written before there is any link: nothing is written through one.
        links = list(_fill(made, repository, commit, "", wanted, 0))
        links = [(path, target) for path, target in links if _make_folders(made, path)]
        for path, target in links:
            _link(made.place(path), target)
        for path, _ in links:
            link = made.place(path)
            if os.path.islink(link) and files.leads_out(link, top):
                os.remove(link)
    except OSError as error:
        raise GitError(f"{error.filename or folder}: {files.reason(error)}") from error
    return made


def _fill(
    made: Checkout,
    repository: Repository,
    commit: str,
    prefix: str,
    wanted: Callable[[str], bool],
    depth: int,
) -> Iterator[tuple[str, str]]:
    """Write the plain files of a commit whose paths start with a prefix. Its links."""
    paths: dict[str, list[str]] = {}
    links: dict[str, list[str]] = {}
    modules: list[Entry] = []
    absent = _left_out(repository)
    for entry in repository.entries(commit):
        if not _is_proper(entry.path) or entry.path in absent:
            continue
        path = f"{prefix}{entry.path}"
        if entry.mode == "160000":
            modules.append(entry)
        elif entry.mode == "120000":
            links.setdefault(entry.name, []).append(path)
        elif os.path.basename(entry.path) in _MARKS:
            _put(made, path, b"")
        elif wanted(path):
            paths.setdefault(entry.name, []).append(path)
        else:
            _make_folders(made, path)
    for name, data in repository.blobs(paths, files.LARGEST_SOURCE):
        for path in paths[name]:
            if data is None:
                kind = LackingError if repository.is_partial else GitError
                raise kind(f"the repository lacks the content of {path}")
            if _put(made, path, data):
                made.names[path] = name
    for name, data in repository.blobs(links, _LONGEST_LINK):
        if data is not None:
            yield from ((path, os.fsdecode(data)) for path in links[name])
    for entry in modules:
        inner = repository.submodule(entry.path)
        if inner is None or depth == _MOST_NESTED:
            continue
        path = f"{prefix}{entry.path}"
        if not inner.has(entry.name):
            made.unknown.append(path)
        elif _make_folders(made, f"{path}/.git"):
            _put(made, f"{path}/.git", b"")
            yield from _fill(made, inner, entry.name, f"{path}/", wanted, depth + 1)


def _left_out(repository: Repository) -> frozenset[str]:
    """The files of a sparse work tree that aren't there now, though HEAD has them: today's analysis
    doesn't see them, so that of an older revision mustn't either."""
    if not repository.is_sparse:
        return frozenset()
    here = repository.entries(repository.commit("HEAD"))
    top = repository.top
    return frozenset(
        each.path for each in here if not os.path.lexists(os.path.join(top, each.path))
    )


def _is_proper(path: str) -> bool:
    """Whether each part of a path is a plain name of a file."""
    parts = path.split("/")
    return len(path) <= files.LONGEST_PATH and not any(
        _NEVER.fullmatch(part) or _FORBIDDEN.search(part) or len(os.fsencode(part)) > _LONGEST_NAME
        for part in parts
    )


def _put(made: Checkout, path: str, data: bytes) -> bool:
    """Write a file, unless something is there that takes its place."""
    made.size += len(data)
    if made.size > _MOST_BYTES:
        raise GitError(f"the sources of the revision have more than {_MOST_BYTES:,} bytes")
    if not _make_folders(made, path):
        return False
    try:
        _write(made.place(path), data)
    except FileExistsError:
        return False
    return True


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)


def _make_folders(made: Checkout, path: str) -> bool:
    """Make the folders around a file; False where a file takes the place of one."""
    try:
        os.makedirs(os.path.dirname(made.place(path)), exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def _link(link: str, target: str) -> None:
    """Make a link, unless something takes its place, or the system makes none. One that leads out
    is taken away later: only then is it known where others lead."""
    folder = os.path.dirname(link)
    if "\0" in target or not target or os.path.isabs(target) or os.path.lexists(link):
        return
    try:
        os.symlink(target, link, os.path.isdir(os.path.join(folder, target)))
    except OSError:
        if os.name != "nt":
            raise
