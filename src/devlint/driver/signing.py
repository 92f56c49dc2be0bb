"""Signs what this user keeps between runs, and says where that lies."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat

from devlint.safety import files, writing

_KEY_BYTES = 32
_SIGNATURE_BYTES = 32
_FORMAT = b"devlint results 2\n"


class CacheError(Exception):
    """There can be no cache in a folder; the text says why, on one line."""


def user_folder() -> str:
    """The folder of devlint among this user's caches. Raises `CacheError` where there is none."""
    import platformdirs  # a run without a cache needs none

    folder = platformdirs.user_cache_dir("devlint", appauthor=False)
    if not os.path.isabs(folder):
        raise CacheError("this user has no home folder")
    return folder


class Signer:
    """Signs what this user writes, and tells it from what anybody else has written."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, name: str, payload: bytes) -> bytes:
        """A file of a payload, under a name that says what it is."""
        return _FORMAT + self._signature(name, payload) + payload

    def verified(self, name: str, data: bytes) -> bytes | None:
        """The payload of a file; None where it isn't one that was signed under this name."""
        start = len(_FORMAT) + _SIGNATURE_BYTES
        signature = self._signature(name, data[start:])
        is_ours = hmac.compare_digest(data[:start], _FORMAT + signature)
        return data[start:] if is_ours else None

    def _signature(self, name: str, payload: bytes) -> bytes:
        signed = hashlib.blake2b(key=self._key, digest_size=_SIGNATURE_BYTES)
        signed.update(name.encode("utf-8", "surrogateescape") + b"\0")
        signed.update(payload)
        return signed.digest()


def key() -> bytes:
    """The key that this user's results are signed with: of `DEVLINT_CACHE_KEY` where that is set,
    else one that is made once and lies in the user's cache folder.

    Raises `CacheError` and `OSError`.
    """
    given = os.environ.get("DEVLINT_CACHE_KEY")
    if given:
        return hashlib.blake2b(os.fsencode(given), digest_size=_KEY_BYTES).digest()
    folder = user_folder()
    make_private(folder)
    path = os.path.join(folder, "key")
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    writing.create_privately(path, os.urandom(_KEY_BYTES))
    return _read_key(path)  # of two runs that make one at once, both take the first


def _read_key(path: str) -> bytes:
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or not files.is_private(status):
        raise CacheError(f"{path} may be known to others: delete it")
    found = files.read(path, _KEY_BYTES)
    if len(found) != _KEY_BYTES:
        raise CacheError(f"{path} is damaged: delete it")
    return found


def make_private(folder: str) -> None:
    """Make a folder that only this user may look into. Raises `CacheError` for one that is there
    and is somebody else's, and `OSError`."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise CacheError("it is no folder" + " but a link" * stat.S_ISLNK(status.st_mode))
    if not files.is_own(status):
        raise CacheError("it belongs to another user")
    if not files.is_private(status):
        os.chmod(folder, 0o700)
