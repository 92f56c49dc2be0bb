"""Reads files that anybody may have put there.

Only plain files are opened, and no more is read of them than a caller asks for: a pipe, a device or
an endless file never holds a run up.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CEILING = 1024 * 1024
"""Bytes of a file that devlint reads for itself: a configuration, an ignore file."""
LARGEST_SOURCE = 64 * 1024 * 1024
"""Bytes of a source file, whatever the settings say."""
PYTHON, NOTEBOOK, MARKDOWN = "python", "ipynb", "markdown"
LANGUAGES = (PYTHON, NOTEBOOK, MARKDOWN)
"""What a file may be read as. Without a setting, files called `*.ipynb` are notebooks, and all
others are Python."""
_MARKDOWN_SUFFIXES = ("md", "markdown", "mdx", "qmd", "rmd")
LONGEST_PATH = 4096
"""Bytes of a path; no system takes longer ones."""

_OPEN = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a file that became a pipe since it was looked at
)
_CHANGE_IS_TIMED = os.name == "posix"
"""Elsewhere `st_ctime` is when a file was made, so no time tells that it was changed."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which a file that changes again gets another time, on every file system."""


class NotPlainError(OSError):
    """It is a folder, a pipe, a socket or a device."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "it is not a plain file", path)


class TooLargeError(OSError):
    """It is larger than what is read of such a file."""

    def __init__(self, path: str, most: int) -> None:
        super().__init__(errno.EFBIG, f"it is larger than {most:,} bytes", path)


class Look(NamedTuple):
    """What a file looked like: when its inode and its content changed, in nanoseconds, and its
    size in bytes. Where the first is 0, it doesn't tell that the file is still the same."""

    changed: int
    modified: int
    size: int

    @property
    def tells(self) -> bool:
        """Whether a file that looks like this still has the same content."""
        return self.changed != 0


UNSEEN = Look(0, 0, 0)


def look(status: os.stat_result) -> Look:
    """What a status says of a file. The time of its inode can't be set back, as that of its content
    can; a file that is younger than the clock's tick may change again without another time."""
    changed = status.st_ctime_ns if _CHANGE_IS_TIMED else 0
    if time.time_ns() - changed <= _SETTLED:
        changed = 0
    return Look(changed, status.st_mtime_ns, status.st_size)


def version(status: os.stat_result) -> tuple[int, int, int]:
    """What is another after each change of a file or folder, but for two within one tick of the
    clock: enough for what is only remembered while this process runs."""
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """The descriptor of a plain file, to read. Raises `OSError`, and `NotPlainError` for others."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device may do something already
        raise NotPlainError(path)
    descriptor = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotPlainError(path)
        yield descriptor
    finally:
        os.close(descriptor)


def read(path: str, most: int) -> bytes:
    """The content of a plain file. Raises `OSError`, `TooLargeError` above `most` bytes."""
    with opened(path) as descriptor:
        return read_from(descriptor, path, most)


def suffix(filename: str) -> str:
    """What stands behind the last dot of a file's name; "" without one."""
    return os.path.splitext(filename)[1].removeprefix(".")


def language_of(filename: str, extension: Iterable[tuple[str, str]] = ()) -> str:
    """What a file is read as, by its name: one of `LANGUAGES`. `extension` are those of a user, by
    what names end with."""
    own = suffix(filename)
    default = NOTEBOOK if own == NOTEBOOK else PYTHON
    return dict(extension).get(own, default) if own else default


def seems_markdown(filename: str) -> bool:
    """Whether nobody would call a file of Python so."""
    return suffix(filename).lower() in _MARKDOWN_SUFFIXES


def most_bytes(language: str, most: int) -> int:
    """Up to how many bytes a source file is read, where the settings say `most`: of a notebook,
    which holds outputs as well, they bound the code alone."""
    return LARGEST_SOURCE if language == NOTEBOOK else most


def read_from(descriptor: int, path: str, most: int) -> bytes:
    """The content of an open file from its start. Raises as `read` does."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces: list[bytes] = []
    left = most + 1
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise TooLargeError(path, most)
    return b"".join(pieces)


def resolve(path: str) -> str:
    """A path without links, but for one at its end that the system doesn't follow: it leads
    nowhere, or through too many others.

    Python follows any number, one within the other: a long chain exceeds its recursion limit.
    """
    if os.path.lexists(path) and not os.path.exists(path):
        folder, name = os.path.split(path)
        return os.path.join(os.path.realpath(folder), name)
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


def leads_out(path: str, folder: str) -> bool:
    """Whether links lead from a path to a place outside of a folder."""
    return not is_below(resolve(path), resolve(folder))


def is_below(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies in it; links are not followed."""
    return path == folder or path.startswith(os.path.join(folder, ""))


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user that this process acts for."""
    return os.name != "posix" or status.st_uid == os.geteuid()


def is_private(status: os.stat_result) -> bool:
    """Whether a file belongs to this user, and nobody else may read or write it."""
    return os.name != "posix" or (is_own(status) and not stat.S_IMODE(status.st_mode) & 0o077)


def reason(error: OSError) -> str:
    """Why a file couldn't be used, in a few words."""
    return error.strerror or str(error)
