"""Keeps what was found in a file until the file, the settings or devlint itself change.

Each run adds a file of its own, which is called by what it holds, and changes none: any number of
runs may share a folder. Where many have been added, a run writes one in the place of all. What is
kept of a path is kept by its content, so runs over two branches don't put out each other's results.

A cache is believed only where this user wrote it. It lies in the user's cache folder, or where the
command line or the environment says; each of its files is signed with a key that lies in the user's
cache folder, and is checked before anything in it is read. Links, and what isn't plain, are left
alone. Whatever is wrong with a cache, a run goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any

from devlint.driver import signing
from devlint.driver.engine import stamp
from devlint.driver.signing import CacheError, Signer, make_private, user_folder
from devlint.project.importing import (
    ALL,
    PLACES,
    is_absent,
    is_strangers,
    modules_of,
    surroundings_of,
)
from devlint.project.programs import QUESTION, answer
from devlint.safety import files, writing
from devlint.safety.files import Look

_SUFFIX = ".results"
_MOST_SEGMENTS = 8
"""Files of one project under one set of settings, before one is written in the place of all."""
_MOST_CONTENTS = 4
"""Contents of one path whose results are kept: the latest ones."""
_MARKS = {
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds results that devlint can make again. It may be deleted.\n",
    ".gitignore": "*\n",
}
_OURS = re.compile(
    rf"[0-9a-f]{{32}}(?:-[0-9a-f]{{32}})?{re.escape(_SUFFIX)}|{writing.TEMPORARY.pattern}|"
    + "|".join(map(re.escape, _MARKS))
)
"""How the files of a cache's folder are called."""
_LARGEST = 512 * 1024 * 1024
"""Bytes of the results of one project under one set of settings."""
_CONTENT = "\0"
"""What stands in the name of a row between its path and the hash of its content."""
_Rows = dict[str, list[Any]]


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
        return answer(path)
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
            self._signer = Signer(signing.key())
            make_folder(self._folder)
        except OSError as error:
            self._give_up(files.reason(error))
        except CacheError as error:
            self._give_up(str(error))
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def entries(self, key: str) -> dict[str, list[Entry]]:
        """Every entry under a settings' key, by absolute path: of each content one, the latest
        last."""
        found: dict[str, list[Entry]] = {}
        for name, row in self._read(key, self._segments(key)).items():
            path = name.partition(_CONTENT)[0]
            place = path if os.path.isabs(path) else self._base + path
            found.setdefault(place, []).append(Entry(Look(*row[0]), *row[1:]))
        return found

    def add(self, key: str, path: str, entry: Entry) -> None:
        """Keep an entry; it is written by `flush`."""
        name = f"{path.removeprefix(self._base)}{_CONTENT}{entry.digest}"
        self._new.setdefault(key, {})[name] = entry

    def flush(self) -> None:
        """Write what was added, beside what other runs have written meanwhile."""
        for key, entries in self._new.items():
            if self._signer is None:
                break
            rows: _Rows = {name: list(astuple(entry)) for name, entry in entries.items()}
            before = self._segments(key)
            if len(before) >= _MOST_SEGMENTS:
                rows = _latest(_added(self._read(key, before), rows))
            else:
                before = []
            text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
            payload = text.encode("utf-8", "surrogatepass")
            try:
                if len(payload) < _LARGEST:
                    signed = self._signer.sign(self._name(key), payload)
                    written = f"{self._prefix(key)}{digest(signed)}{_SUFFIX}"
                    writing.replace_privately(os.path.join(self._folder, written), signed)
                    self._remove(name for name in before if name != written)
            except OSError as error:
                self._give_up(files.reason(error))
        self._new.clear()

    def _segments(self, key: str) -> list[str]:
        """The names of the files of one set of settings, the latest last."""
        if self._signer is None:
            return []
        prefix, found = self._prefix(key), list[tuple[int, str]]()
        try:
            with os.scandir(self._folder) as listing:
                for each in listing:
                    if each.name.startswith(prefix) and each.name.endswith(_SUFFIX):
                        with contextlib.suppress(FileNotFoundError):  # another run has replaced it
                            status = each.stat(follow_symlinks=False)
                            found.append((status.st_mtime_ns, each.name))
        except OSError as error:
            self._tell(f"{self._folder} is not used as a cache ({files.reason(error)})")
        return [name for _, name in sorted(found)]

    def _read(self, key: str, names: Iterable[str]) -> _Rows:
        """The rows of files that this user has signed, as they were written."""
        rows: _Rows = {}
        if self._signer is None:
            return rows
        for name in names:
            path = os.path.join(self._folder, name)
            try:
                if os.path.islink(path):
                    raise files.NotPlainError(path)
                payload = self._signer.verified(self._name(key), files.read(path, _LARGEST))
            except FileNotFoundError:
                continue
            except OSError as error:
                self._tell(f"{path} is not used as a cache ({files.reason(error)})")
                continue
            if payload is not None:
                rows = _added(rows, json.loads(payload.decode("utf-8", "surrogatepass")))
        return rows

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files in whose place another one was written: what of them could be believed
        stands there."""
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._folder, name))

    def _name(self, key: str) -> str:
        """What the results are signed as: they count for no other project, nor other settings."""
        return f"{stamp()} {self._project} {key}"

    def _prefix(self, key: str) -> str:
        """How the files of one set of settings are called, up to what they hold."""
        return digest(os.fsencode(f"{self._project} {key}")) + "-"

    def _give_up(self, reason: str) -> None:
        self._signer = None
        where = f" in {self._folder}" if self._folder else ""
        self._tell(f"running without the cache{where} ({reason})")

    def _tell(self, text: str) -> None:
        warn, self._warn = self._warn, lambda text: None
        warn(text)


def _added(rows: _Rows, later: _Rows) -> _Rows:
    """Rows with later ones, which come last and count."""
    if not rows:
        return later
    for name in later:
        rows.pop(name, None)
    return rows | later


def _latest(rows: _Rows) -> _Rows:
    """Rows without those of a path's earlier contents."""
    counts = Counter[str]()
    kept: list[str] = []
    for name in reversed(rows):
        path = name.partition(_CONTENT)[0]
        counts[path] += 1
        if counts[path] <= _MOST_CONTENTS:
            kept.append(name)
    return {name: rows[name] for name in reversed(kept)}


def make_folder(folder: str) -> None:
    """Make a cache's folder, marked so that git and backup programs pass it by. Raises `CacheError`
    for one that holds something else already, and `OSError`."""
    if os.path.lexists(folder) and not _holds(folder, if_begun=True):
        raise CacheError("it isn't a devlint cache")
    make_private(folder)
    for name, text in _MARKS.items():
        path = os.path.join(folder, name)
        if not os.path.lexists(path):
            writing.create_privately(path, text.encode())


def is_cache_folder(folder: str) -> bool:
    """Whether a folder is one that devlint made: only such a one may be deleted."""
    return _holds(folder, if_begun=False)


def _holds(folder: str, *, if_begun: bool) -> bool:
    """Whether a folder holds a cache and nothing else; with `if_begun`, also where it holds no more
    than a run writes that is just making it."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    with os.scandir(folder) as entries:
        kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    if any(is_folder or not _OURS.fullmatch(name) for name, is_folder in kinds.items()):
        return False
    # Asked after the listing: what stands in it was written after the first mark.
    is_marked = os.path.lexists(os.path.join(folder, next(iter(_MARKS))))
    return is_marked or (if_begun and all(map(writing.TEMPORARY.fullmatch, kinds)))
