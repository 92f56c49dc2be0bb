"""Writes files without losing what anybody else wrote, and nowhere that nobody named."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from io import FileIO

from devlint.safety import files
from devlint.safety.files import TooLargeError
from devlint.safety.locking import locked, shared

TEMPORARY = re.compile(r"\.devlint-[0-9a-f]{16}\.tmp")
"""How files are called until they are complete."""


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _open_public(path: str, flags: int) -> int:
    return os.open(path, flags, 0o666)


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
    target = files.resolve(path)
    with files.opened(target) as original, locked(original, target):
        _refuse_lossy(original, target, old)
        with _temporary(os.path.dirname(target), new) as temporary:
            _take_over(original, temporary.fileno(), target)
            temporary.close()
            if not _holds(original, target, old):
                raise ChangedError(path)
            _put_in_place(temporary.name, target, original)
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


def create(path: str, data: bytes) -> None:
    """Write a file that isn't there yet, in one step. Raises `OSError`."""
    with _temporary(os.path.dirname(os.path.abspath(path)), data, _open_public) as temporary:
        temporary.close()
        os.replace(temporary.name, path)


def overwrite(path: str, data: bytes) -> None:
    """Write a file whatever it holds, in one step: until then it keeps that. Its mode stays.

    What can't be replaced is written directly: a stream, a pipe, a file in a folder that isn't
    writable. Raises `OSError`.
    """
    target = files.resolve(path)
    if not _is_replaceable(path, target):
        with open(path, "wb") as file:
            file.write(data)
        return
    with _temporary(os.path.dirname(target), data, _open_public) as temporary:
        if os.path.exists(target):
            _refuse_read_only(target)
            os.chmod(temporary.name, stat.S_IMODE(os.stat(target).st_mode))
        temporary.close()
        os.replace(temporary.name, target)


def check_writable(path: str) -> None:
    """Raise `OSError` where `overwrite` couldn't write a file. It changes nothing."""
    target = files.resolve(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.exists(target):
        _refuse_read_only(target)
    if _is_replaceable(path, target):
        with _temporary(os.path.dirname(target), b""):
            pass


def _is_replaceable(path: str, target: str) -> bool:
    """Whether a new file can take the place of what a path leads to, if anything is there."""
    if _is_of_system(path):
        return False
    if not os.path.exists(target):
        return True
    is_plain = os.path.isfile(target) and not os.path.ismount(target)  # as in a container
    return is_plain and os.access(os.path.dirname(target), os.W_OK)


def _refuse_read_only(path: str) -> None:
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is read-only", path)


def strangers_place(path: str, trees: Iterable[str]) -> str:
    """Why nothing is written to a path: a stranger may decide where it leads. "" where that is not
    so.

    Below the current directory and below `trees`, which are linted, no part of it may be a link,
    nor may it be a pipe or a device; elsewhere, the last part may be no link.
    """
    place, *trees = (os.path.join(os.getcwd(), each) for each in (path, os.curdir, *trees))
    folders = [files.resolve(tree) for tree in trees]
    prefix = ""
    parts = place.split(os.sep)
    for number, part in enumerate(parts, start=1):
        inside = any(files.is_below(files.resolve(prefix or os.sep), each) for each in folders)
        prefix = f"{prefix}{part}{os.sep}" if number < len(parts) else f"{prefix}{part}"
        name = prefix.rstrip(os.sep)
        if os.path.islink(name) and (inside or number == len(parts)) and not _is_of_system(name):
            target = os.path.join(os.path.dirname(name), os.readlink(name))
            return f"{name} is a link to {os.path.normpath(target)}: name that place instead"
    if inside and os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)):
        return "it is not a plain file"
    return ""


def _is_of_system(path: str) -> bool:
    """Whether it is a name for a stream, such as `/dev/stdout`."""
    return files.is_below(path, "/dev") or files.is_below(path, "/proc")


def _put_in_place(new: str, target: str, original: int) -> None:
    """Give a new file the place of an open one. Raises `ChangedError` where a third has taken that
    place meanwhile, as by an editor that saves by a rename: that one stays."""
    ours = os.stat(new)
    if not _exchange(new, target):
        os.replace(new, target)
    elif not os.path.samestat(os.stat(new), os.fstat(original)):
        _exchange(new, target)
        if not os.path.samestat(os.stat(new), ours):  # saved once more: the newest stays
            _exchange(new, target)
        raise ChangedError(target)


def _exchange(one: str, other: str) -> bool:
    """Exchange the names of two files in one step; False where the system has no such step."""
    import ctypes

    names = [ctypes.c_char_p(os.fsencode(each)) for each in (one, other)]
    swap = ctypes.c_uint(1 << 1)  # RENAME_EXCHANGE, RENAME_SWAP
    if sys.platform == "linux":
        here = ctypes.c_int(-100)  # AT_FDCWD
        function, arguments = "renameat2", (here, names[0], here, names[1], swap)
    elif sys.platform == "darwin":
        function, arguments = "renamex_np", (*names, swap)
    else:
        return False
    call = getattr(ctypes.CDLL(None), function, None)  # None with an older C library
    return call is not None and call(*arguments) == 0


def _refuse_lossy(original: int, target: str, old: bytes) -> None:
    """Raise `OSError` for a file that can't be replaced without a loss."""
    if not _holds(original, target, old):
        raise ChangedError(target)
    _refuse_read_only(target)
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
    if sys.platform != "darwin" and hasattr(os, "listxattr"):
        _drop_inherited(original, descriptor, path)
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


def _drop_inherited(original: int, descriptor: int, path: str) -> None:
    """Take from a new file what its folder gives to each, such as rights of others to it."""
    try:
        own, inherited = os.listxattr(original), os.listxattr(descriptor)
        for name in set(inherited) - set(own):
            os.removexattr(descriptor, name)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP):
            text = "what its folder gives to new files can't be taken from it"
            raise OSError(errno.EPERM, text, path) from None


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
def _temporary(
    folder: str, data: bytes, create: Callable[[str, int], int] = _open_private
) -> Iterator[FileIO]:
    """A new file in a folder that holds some data, to be given its name. It goes at the end where
    it wasn't; so does what a run has left there that was killed."""
    with shared(folder, lambda: _remove_leftovers(folder)):
        path = os.path.join(folder, f".devlint-{os.urandom(8).hex()}.tmp")
        # Without a buffer: closing the file writes nothing, so it can't fail on a full disk.
        with FileIO(path, "xb", opener=create) as file:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) or 0 :]
                os.fsync(file.fileno())
                yield file
            finally:
                file.close()  # Windows removes no open file
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


def _remove_leftovers(folder: str) -> None:
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if TEMPORARY.fullmatch(entry.name)]
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and files.is_own(status):
                os.unlink(path)
