"""Writes files without losing what anybody else wrote, and nowhere that nobody named."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from devlint import files
from devlint.files import TooLargeError

TEMPORARY = re.compile(r"\.devlint-[0-9a-f]{16}\.tmp")
"""How files are called until they are complete."""

_TRIES = 100
_PAUSE = 0.02
"""How often, and after how many seconds, a file that another program has locked is tried again."""


class ChangedError(OSError):
    """A file isn't what was read any more. It is as somebody else left it."""

    def __init__(self, path: str) -> None:
        text = "it was changed meanwhile, so it is left as it is: run devlint again"
        super().__init__(errno.EBUSY, text, path)


def rewrite(path: str, old: bytes, new: bytes) -> None:
    """Put `new` in the place of a file that holds `old`, in one step.

    Owner, mode and extended attributes stay. Where a link leads to the file, the link stays, too.
    Raises `OSError` with the file untouched: `ChangedError` where it doesn't hold `old`, and others
    where it can't be written, or not without losing something that belongs to it.
    """
    target = os.path.realpath(path)
    with files.opened(target) as original, _locked(original, target):
        _refuse_lossy(original, target, old)
        with _temporary(os.path.dirname(target), new) as temporary:
            _take_over(original, temporary.fileno(), target)
            temporary.close()
            if not _holds(original, target, old):
                raise ChangedError(path)
            os.replace(temporary.name, target)
        late = _content(original, target, files.LARGEST_SOURCE)
    if (
        late is not None and late != old
    ):  # written to in the instant between the last look and the replacement
        rewrite(path, new, late)
        raise ChangedError(path)


def create_privately(path: str, data: bytes) -> None:
    """Make a file that only this user can read; one that is there already stays."""
    with _temporary(os.path.dirname(path), data) as temporary:
        temporary.close()
        try:
            os.link(temporary.name, path)
        except FileExistsError:
            pass
        except OSError:  # the file system has no hard links
            os.replace(temporary.name, path)


def replace_privately(path: str, data: bytes) -> None:
    """Write a file that only this user can read, in one step, whatever was there."""
    with _temporary(os.path.dirname(path), data) as temporary:
        temporary.close()
        os.replace(temporary.name, path)


def leads_elsewhere(path: str) -> str:
    """Where links lead to from a path below the current directory, if that isn't below it; else "".

    Somebody who names such a path may not know that a stranger has put a link there.
    """
    current = os.getcwd()
    place = os.path.abspath(path)
    if not files.is_below(place, current) or not files.leads_out(place, current):
        return ""
    return os.path.realpath(place)


def _refuse_lossy(original: int, target: str, old: bytes) -> None:
    """Raise `OSError` for a file that can't be replaced without a loss."""
    if not _holds(original, target, old):
        raise ChangedError(target)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", target)
    links = os.fstat(original).st_nlink
    if links > 1:
        text = f"it has {links} hard links, of which only this one would be written: copy it first"
        raise OSError(errno.EMLINK, text, target)


def _holds(original: int, target: str, data: bytes) -> bool:
    """Whether a path leads to an open file still, and that holds some data."""
    status, now = os.fstat(original), os.stat(target)
    return os.path.samestat(status, now) and _content(original, target, len(data)) == data


def _content(descriptor: int, path: str, most: int) -> bytes | None:
    """The content of an open file; None where it is larger."""
    try:
        return files.read_from(descriptor, path, most)
    except TooLargeError:
        return None


def _take_over(original: int, descriptor: int, path: str) -> None:
    """Give a new file what belongs to the one that it will replace. Raises `OSError`."""
    if os.name != "posix":
        return
    status, own = os.fstat(original), os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:
            text = "it belongs to another user or group, which can't be kept"
            raise PermissionError(errno.EPERM, text, path) from None
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    if sys.platform == "darwin":
        _take_over_on_macos(original, descriptor, path)
    elif hasattr(os, "listxattr"):
        _take_over_attributes(original, descriptor, path)


def _take_over_attributes(original: int, descriptor: int, path: str) -> None:
    try:
        names = os.listxattr(original)
    except OSError:  # of a file system that has none
        return
    for name in names:
        value = os.getxattr(original, name)
        try:
            os.setxattr(descriptor, name, value)
        except OSError:
            with contextlib.suppress(OSError):
                if os.getxattr(descriptor, name) == value:  # each new file has it
                    continue
            text = f"its extended attribute {name} can't be kept"
            raise OSError(errno.EPERM, text, path) from None


def _take_over_on_macos(original: int, descriptor: int, path: str) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    access_lists, attributes = 1 << 0, 1 << 2  # COPYFILE_ACL, COPYFILE_XATTR
    if libc.fcopyfile(original, descriptor, None, access_lists | attributes) != 0:
        text = "its extended attributes can't be kept"
        raise OSError(ctypes.get_errno(), text, path)


@contextlib.contextmanager
def _temporary(folder: str, data: bytes) -> Iterator[BinaryIO]:
    """A new file in a folder that holds some data, to be given its name. It goes at the end where
    it wasn't; so does what a run has left there that was killed."""
    with _shared(folder) as alone:
        if alone:
            _remove_leftovers(folder)
        path = os.path.join(folder, f".devlint-{os.urandom(8).hex()}.tmp")
        with open(path, "xb", opener=_create) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                yield file
            finally:
                file.close()  # Windows removes no open file
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove_leftovers(folder: str) -> None:
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if TEMPORARY.fullmatch(entry.name)]
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and files.is_own(status):
                os.unlink(path)


# --- locks ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _shared(folder: str) -> Iterator[bool]:
    """While temporary files are in a folder: whether no other run has any there at the start."""
    if os.name != "posix":
        yield True
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        alone = _lock(descriptor, shared=False)
        _lock(descriptor, shared=True)
        yield alone
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(descriptor: int, path: str) -> Iterator[None]:
    """While a file is replaced: other runs wait. Raises `OSError` where one takes too long."""
    for _ in range(_TRIES):
        if _lock(descriptor, shared=False):
            break
        time.sleep(_PAUSE)
    else:
        raise OSError(errno.EBUSY, "another program has locked it", path)
    yield  # closing the file unlocks it


def _lock(descriptor: int, shared: bool) -> bool:
    """Whether an open file is ours now; where nothing can be locked, it is."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return True
