"""Keeps what was found in a file until the file, the settings or devlint itself change.

A cache is believed only where this user wrote it. It lies in the user's cache folder, or where the
command line or the environment says; each of its files is signed with a key that lies in the user's
cache folder, and is checked before anything in it is read. Links, and what isn't plain, are left
alone. Whatever is wrong with a cache, a run goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

from devlint import files, writing
from devlint.driver.engine import stamp
from devlint.files import Look
from devlint.project.importing import (
    ALL,
    PLACES,
    is_absent,
    is_strangers,
    modules_of,
    surroundings_of,
)
from devlint.project.programs import QUESTION, answer

_SUFFIX = ".results"
_MARKS = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds results that devlint can make again. It may be deleted.\n",
}
_LARGEST = 512 * 1024 * 1024
"""Bytes of the results of one project under one set of settings."""
_KEY_BYTES = 32
_SIGNATURE_BYTES = 32
_FORMAT = b"devlint results 1\n"


class CacheError(Exception):
    """There can be no cache in a folder; the text says why, on one line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file looked like when it was checked, and what came of it.

    `consulted` are the other files that the findings hang on: the `content` of each by path, as
    JSON; "" for none. `coverage` is how much of the file is decided, as `codec` writes it, and so
    is `withheld_by`, how many findings are withheld by what.
    """

    look: Look
    digest: str
    findings: str
    consulted: str = ""
    coverage: str = ""
    withheld_by: str = ""


def digest(data: bytes) -> str:
    """A hash of a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content(path: str) -> str:
    """What changes when a consulted file does: a hash of what it holds, or for a path without a
    suffix whether a module is there, or which ones for `*`, or what is asked there; "" for a file
    that can't be read."""
    name = os.path.basename(path)
    if name == ALL:
        return digest(os.fsencode(modules_of(path)))
    if name == PLACES:
        return digest(os.fsencode(surroundings_of(path)))
    if name.endswith(QUESTION):
        return str(answer(path))
    if is_strangers(path):
        return ""
    if not path.endswith(".py"):
        return "" if is_absent(path) else "package"
    try:
        seen = files.look(os.stat(path))
        return _hashed(path, seen) if seen.tells else _hash(path)
    except OSError:
        return ""


@lru_cache(maxsize=8192)
def _hashed(path: str, _seen: Look) -> str:
    """A hash of a file as it looks: many files hang on the same ones."""
    return _hash(path)


def _hash(path: str) -> str:
    return digest(files.read(path, files.LARGEST_SOURCE))


def user_folder() -> str:
    """The folder of devlint among this user's caches. Raises `CacheError` where there is none."""
    import platformdirs  # a run without a cache needs none

    folder = platformdirs.user_cache_dir("devlint", appauthor=False)
    if not os.path.isabs(folder):
        raise CacheError("this user has no home folder")
    return folder


def default_folder(project: str) -> str:
    """Where the cache of a project is unless somebody says otherwise. Raises `CacheError`."""
    return os.path.join(user_folder(), "projects", digest(os.fsencode(files.resolve(project))))


class Cache:
    """The results of earlier runs over a project. `warn` is told, once, why there is no cache.

    `folder` is "" for the default one. Open it with `with`; new entries are written at the end.
    """

    def __init__(self, folder: str, project: str, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._project = files.resolve(project)
        self._base = os.path.join(os.path.abspath(project), "")
        self._warn = warn
        self._signer: Signer | None = None
        self._new: dict[str, dict[str, Entry]] = {}

    def __enter__(self) -> Cache:
        try:
            self._folder = self._folder or default_folder(self._project)
            self._signer = Signer(key())
            make_folder(self._folder)
        except OSError as error:
            self._give_up(files.reason(error))
        except CacheError as error:
            self._give_up(str(error))
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def entries(self, key: str) -> dict[str, Entry]:
        """Every entry under a settings' key, by absolute path."""
        return {
            path if os.path.isabs(path) else self._base + path: Entry(Look(*row[0]), *row[1:])
            for path, row in self._read(key).items()
        }

    def add(self, key: str, path: str, entry: Entry) -> None:
        """Keep an entry; it is written by `flush`."""
        self._new.setdefault(key, {})[path.removeprefix(self._base)] = entry

    def flush(self) -> None:
        """Write what was added, beside what other runs have written meanwhile."""
        for key, entries in self._new.items():
            if self._signer is None:
                break
            rows = self._read(key) | {path: astuple(entry) for path, entry in entries.items()}
            text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
            payload = text.encode("utf-8", "surrogatepass")
            try:
                if len(payload) < _LARGEST:
                    signed = self._signer.sign(self._name(key), payload)
                    writing.replace_privately(self._path(key), signed)
            except OSError as error:
                self._give_up(files.reason(error))
        self._new.clear()

    def _read(self, key: str) -> dict[str, list[Any]]:
        """The rows of one file that this user has signed, as they were written."""
        if self._signer is None:
            return {}
        path = self._path(key)
        try:
            if os.path.islink(path):
                raise files.NotPlainError(path)
            payload = self._signer.verified(self._name(key), files.read(path, _LARGEST))
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._tell(f"{path} is not used as a cache ({files.reason(error)})")
            return {}
        if payload is None:
            return {}
        rows: dict[str, list[Any]] = json.loads(payload.decode("utf-8", "surrogatepass"))
        return rows

    def _name(self, key: str) -> str:
        """What the results are signed as: they count for no other project, nor other settings."""
        return f"{stamp()} {self._project} {key}"

    def _path(self, key: str) -> str:
        name = digest(os.fsencode(f"{self._project} {key}"))
        return os.path.join(self._folder, f"{name}{_SUFFIX}")

    def _give_up(self, reason: str) -> None:
        self._signer = None
        where = f" in {self._folder}" if self._folder else ""
        self._tell(f"running without the cache{where} ({reason})")

    def _tell(self, text: str) -> None:
        warn, self._warn = self._warn, lambda text: None
        warn(text)


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
        raise CacheError("it is a link" if stat.S_ISLNK(status.st_mode) else "it is not a folder")
    if not files.is_own(status):
        raise CacheError("it belongs to another user")
    if not files.is_private(status):
        os.chmod(folder, 0o700)


def make_folder(folder: str) -> None:
    """Make a cache's folder, marked so that git and backup programs pass it by. Raises `CacheError`
    for one that holds something else already, and `OSError`."""
    if os.path.lexists(folder) and not is_cache_folder(folder) and not _is_empty(folder):
        raise CacheError("it isn't a devlint cache")
    make_private(folder)
    for name, text in _MARKS.items():
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            writing.create_privately(path, text.encode())


def _is_empty(folder: str) -> bool:
    return not os.path.islink(folder) and os.path.isdir(folder) and not os.listdir(folder)


def is_cache_folder(folder: str) -> bool:
    """Whether a folder is one that devlint made: only such a one may be deleted."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    known = re.compile(rf"[0-9a-f]{{32}}{re.escape(_SUFFIX)}|{writing.TEMPORARY.pattern}")
    with os.scandir(folder) as entries:
        kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    return "CACHEDIR.TAG" in kinds and not any(
        is_folder or (name not in _MARKS and not known.fullmatch(name))
        for name, is_folder in kinds.items()
    )
