"""Locks on files and folders, by which runs that write at once wait for each other."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable, Iterator

_TRIES = 100
_PAUSE = 0.02
"""How often, and after how many seconds, a file that another program has locked is tried again."""


@contextlib.contextmanager
def shared(folder: str, clean: Callable[[], None]) -> Iterator[None]:
    """While temporary files are in a folder. `clean` is called first where no other run has any
    there; none begins before it has returned."""
    if os.name != "posix":
        clean()
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if _lock(descriptor, shared=False):
            clean()
        _wait(descriptor, folder, shared=True)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(descriptor: int, path: str) -> Iterator[None]:
    """While a file is replaced: other runs wait. Raises `OSError` where one takes too long."""
    _wait(descriptor, path, shared=False)
    yield  # closing the file unlocks it


def _wait(descriptor: int, path: str, shared: bool) -> None:
    """Lock an open file or folder. Raises `OSError` where that takes too long."""
    for _ in range(_TRIES):
        if _lock(descriptor, shared):
            return
        time.sleep(_PAUSE)
    raise OSError(errno.EBUSY, "another program has locked it", path)


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
