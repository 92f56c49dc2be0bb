"""Keeps what was found in a file until the file, the settings or devlint itself change.

An SQLite file of plain values in `.devlint_cache/`: a row for each file and settings, with the
time and size it had, a hash of its content, and its findings as JSON. Nothing in it is ever
executed, and whatever is wrong with it, a run goes on without.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from devlint.engine import stamp
from devlint.importing import ALL, is_absent, modules_of

if TYPE_CHECKING:
    import sqlite3

FOLDER = ".devlint_cache"
_FILE = "results.sqlite"
_SETTLED = 2_000_000_000
"""Nanoseconds after which a file that changes again gets another time, on every file system."""

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds results that devlint can make again. It may be deleted.\n"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file looked like when it was checked, and what came of it.

    `mtime_ns` is 0 where the file was too young for its time to prove anything. `consulted` are
    the other files that the findings hang on: the `content` of each by path, as JSON; "" for none.
    """

    mtime_ns: int
    size: int
    digest: str
    findings: str
    consulted: str = ""


def digest(data: bytes) -> str:
    """A hash of a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def content(path: str) -> str:
    """What changes when a consulted file does: a hash of what it holds, or for a path without a
    suffix whether a module is there, or which ones for `*`."""
    if os.path.basename(path) == ALL:
        return digest(modules_of(path).encode())
    if not path.endswith(".py"):
        return "" if is_absent(path) else "package"
    try:
        status = os.stat(path)
        return _hashed(path, settled(status.st_mtime_ns) or time.time_ns(), status.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _hashed(path: str, _changed: int, _size: int) -> str:
    """A hash of a file as it is since a time: files hang on the same ones."""
    with open(path, "rb") as file:
        return digest(file.read())


def settled(mtime_ns: int) -> int:
    """A modification time to keep: 0 where the file may change again within the same tick."""
    return mtime_ns if time.time_ns() - mtime_ns > _SETTLED else 0


class Cache:
    """The results of earlier runs. `warn` is told, once, why there is no cache.

    Open it with `with`; new entries are written at the end.
    """

    def __init__(self, folder: str, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._base = os.path.join(os.path.dirname(os.path.abspath(folder)), "")
        self._warn = warn
        self._warned = False
        self._connection: sqlite3.Connection | None = None
        self._new: list[tuple[str, str, int, int, str, str, str]] = []

    def __enter__(self) -> Cache:
        import sqlite3

        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            self._start_again(str(error))
        except OSError as error:
            self._give_up(error.strerror or str(error))
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        if self._connection is not None:
            self._connection.close()

    def entries(self, key: str) -> dict[str, Entry]:
        """Every entry under a settings' key, by absolute path."""
        import sqlite3

        if self._connection is None:
            return {}
        found: dict[str, Entry] = {}
        base = self._base
        query = f"SELECT {', '.join(_COLUMNS[1:])} FROM results WHERE key = ?"
        try:
            for path, *values in self._connection.execute(query, (key,)):
                place = path if os.path.isabs(path) else base + path
                found[place] = Entry(*values)
        except (sqlite3.Error, TypeError, ValueError) as error:
            self._start_again(str(error))
            return {}
        return found

    def add(self, key: str, path: str, entry: Entry) -> None:
        """Keep an entry; it is written by `flush`. A path that is no Unicode can't be kept."""
        place = path.removeprefix(self._base)
        if place.encode("utf-8", "ignore").decode() != place:
            return
        self._new.append((key, place, *astuple(entry)))

    def flush(self) -> None:
        """Write what was added."""
        import sqlite3

        if self._connection is None or not self._new:
            return
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", self._new
                )
        except sqlite3.Error as error:
            self._give_up(str(error))
        self._new.clear()

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        make_folder(self._folder)
        connection = sqlite3.connect(os.path.join(self._folder, _FILE), timeout=5)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if (tables and not version) or not _fits(connection, version):
                raise sqlite3.DatabaseError("it belongs to something else")
            connection.execute("PRAGMA synchronous = OFF")
            if not version or _stamp_of(connection) != stamp():
                _create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _start_again(self, reason: str) -> None:
        """Drop a damaged or foreign file and begin a new one."""
        import sqlite3

        if self._connection is not None:
            self._connection.close()
            self._connection = None
        try:
            if "locked" in reason or "readonly" in reason or "unable to open" in reason:
                raise OSError(0, reason)
            os.unlink(os.path.join(self._folder, _FILE))
            self._connection = self._open()
        except (OSError, sqlite3.Error) as error:
            self._give_up(getattr(error, "strerror", None) or reason)
        else:
            self._tell(f"the cache in {self._folder} was damaged and is made anew ({reason})")

    def _give_up(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._tell(f"running without the cache in {self._folder} ({reason})")

    def _tell(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(text)


_VERSION = 2
_COLUMNS = ["key", "path", "mtime_ns", "size", "digest", "findings", "consulted"]


def _fits(connection: sqlite3.Connection, version: int) -> bool:
    if version != _VERSION:
        return version == 0
    rows = connection.execute("PRAGMA table_info(results)").fetchall()
    return [row[1] for row in rows] == _COLUMNS


def _stamp_of(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT stamp FROM engine").fetchone()
    return "" if row is None else str(row[0])


def _create(connection: sqlite3.Connection) -> None:
    """An empty cache for this devlint: what another one found is of no use."""
    with connection:
        connection.execute("DROP TABLE IF EXISTS results")
        connection.execute("DROP TABLE IF EXISTS engine")
        connection.execute(
            "CREATE TABLE results (key TEXT, path TEXT, mtime_ns INTEGER, size INTEGER,"
            " digest TEXT, findings TEXT, consulted TEXT, PRIMARY KEY (key, path)) WITHOUT ROWID"
        )
        connection.execute("CREATE TABLE engine (stamp TEXT)")
        connection.execute("INSERT INTO engine VALUES (?)", (stamp(),))
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def make_folder(folder: str) -> None:
    """Make the cache's folder, marked so that git and backup programs pass it by."""
    os.makedirs(folder, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def is_cache_folder(folder: str) -> bool:
    """Whether a folder is one that devlint made: only such a one may be deleted."""
    return os.path.isfile(os.path.join(folder, "CACHEDIR.TAG")) and set(os.listdir(folder)) <= {
        ".gitignore",
        "CACHEDIR.TAG",
        _FILE,
        f"{_FILE}-journal",
    }
