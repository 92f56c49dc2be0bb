"""The files around linted ones: found, and read."""

from __future__ import annotations

import itertools
import os
import re
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from devlint.flow.surroundings import Text
from devlint.flow.syntax.scan import MOVES
from devlint.project.importing import ALL, Finder, is_absent, modules_of
from devlint.project.programs import answer, questions
from devlint.project.purpose import speaks_of_devices
from devlint.safety import files
from devlint.source.errors import SourceError
from devlint.source.lower import lower
from devlint.source.reading import read_script
from devlint.source.script import Script
from devlint.source.spots import File

_KEPT = 4_000_000
"""Characters of the files that are remembered; what was read of them takes some twenty bytes for
each."""
_MOST_BYTES = 64_000_000
"""Bytes of a project in which words are looked for. Four are remembered for each word of a file."""
_WORD = re.compile(rb"\w+")
_MOVE = "|".join(sorted(MOVES)).encode()
_PLACED = re.compile(
    rb"(?<!\bself)\.(\w+)(?:\s*=(?!=)|\.(?:%b)\(|\s*,[\w.,\s]{0,200}=(?!=))" % _MOVE
)
"""An attribute that seems to be bound, or moved; who calls its own object otherwise is asked more
closely for nothing."""
_CHANGED = re.compile(
    rb"""\b([A-Z]\w*)(?=\.\w+\s*=(?!=)|\s*,\s*["']\w+["']\s*,)|,\s*["'](\w+)["']\s*,"""
)
"""A class that seems to be changed (`Module.device = `), or a name by which something is bound
(`setattr(nn, "Module", Own)`)."""
_IMPORT = re.compile(rb"^[ \t]*((?:from|import)\b[^#\n]*)", re.MULTILINE)
_HASH = 0xFFFF_FFFF


_Unsaved = ContextVar[Mapping[str, bytes]]
_unsaved: _Unsaved = ContextVar("unsaved", default={})  # noqa: B039


@contextmanager
def unsaved(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Take these contents, by paths, for those of the files, beside others that are taken so."""
    token = _unsaved.set({**_unsaved.get(), **texts})
    try:
        yield
    finally:
        _unsaved.reset(token)


_Version = tuple[int, int, int]
"""What changes when a file does, its size last."""


@dataclass(frozen=True, slots=True)
class _Words:
    """Hashes of the words of a file, in order, and of the attributes that it seems to place; and
    its imports, a row each."""

    version: _Version
    all: array[int]
    imports: bytes
    placed: array[int]


def _hashes(words: Iterable[bytes]) -> array[int]:
    return array("I", sorted({hash(word) & _HASH for word in words}))


def _has(hashes: array[int], word: bytes) -> bool:
    """Whether a word is among others, or another one of the same hash."""
    place = bisect_left(hashes, hash(word) & _HASH)
    return place < len(hashes) and hashes[place] == hash(word) & _HASH


class Neighbours(Finder):
    """What a linted file is given to look around with.

    `largest` is the size in bytes up to which files are read. Raises nothing: a neighbour that
    can't be read or parsed is as if it weren't there, but `consulted` tells that it was asked for.
    """

    def __init__(self, largest: int) -> None:
        super().__init__()
        self._largest = largest
        self.refused: dict[str, str] = {}
        """Why files weren't opened that imports lead to, by path."""
        self._words: dict[str, _Words] = {}
        self._versions: dict[str, _Version | None] = {}
        self._modules: dict[str, tuple[list[str] | None, set[str]]] = {}
        """The modules around the files of a folder, and what was consulted to find them."""
        self._contents: OrderedDict[str, tuple[str, Text]] = OrderedDict()
        self._unread: dict[str, int] = {}
        """Files whose text can't be parsed, with a hash of it."""
        self._size = 0

    def begin(self) -> None:
        """A file is linted: others may have changed since the last one."""
        self._versions.clear()
        self._modules.clear()

    def read(self, path: str) -> Text | None:
        """What stands in a file; None where that can't be told."""
        if path.endswith(os.sep):
            return None  # a package without `__init__.py` is a folder, and says nothing itself
        try:
            text = read_script(self._data(path), path).text
            return None if self._unread.get(path) == hash(text) else self._followed(path, text)
        except files.NotPlainError as error:
            self.refused[path] = files.reason(error)
            return None
        except (OSError, SourceError):
            return None

    def _followed(self, path: str, text: str) -> Text | None:
        try:
            return self.content(path, text, explain=False)
        except SourceError:
            self._unread[path] = hash(text)
            return None

    def content(self, path: str, text: str, explain: bool = True) -> Text:
        """What a text says as the file of a path. Raises `SourceError`.

        It is read once for the run over the file itself and for the files that import it. Why it
        can't be read has to be told in words only for the file itself.
        """
        kept = self._contents.pop(path, None)
        if kept is None or kept[0] != text:
            module = lower(text, path, explain=explain)
            self._size += len(text) - (0 if kept is None else len(kept[0]))
            speaks = speaks_of_devices(text, module)
            kept = text, Text(module, speaks, len(text))
        self._contents[path] = kept
        while self._size > _KEPT and len(self._contents) > 1:
            self._size -= len(self._contents.popitem(last=False)[1][0])
        return kept[1]

    def script(self, path: str) -> Script | None:
        """The text of a file that was followed; None where it can't be read any more."""
        try:
            return read_script(self._data(path), path)
        except (OSError, SourceError):
            return None

    def file(self, path: str) -> File | None:
        """A file that was followed, to find places in it; None where it can't be read any more."""
        content = self.read(path)
        found = None if content is None else content.module.origin
        return found if isinstance(found, File) else None

    def mentioning(self, path: str, word: str, most: int) -> list[str]:
        """The files of a file's project in which a word stands, that file among them: the first
        ones where these are more than `most`, and none in a project of too many bytes."""
        whole, parts = re.compile(rf"\b{re.escape(word)}\b".encode()), _WORD.findall(word.encode())

        def mentions(each: str, words: _Words) -> bool:
            may = all(_has(words.all, part) for part in parts)
            return may and whole.search(self._bytes(each)) is not None

        return self._where(path, mentions, most)

    def placing(self, path: str, attr: str, most: int) -> list[str]:
        """As `mentioning`, the files that seem to bind an attribute of that name, or to move what
        it is, of another object than `self`."""
        return self._where(path, lambda _, words: _has(words.placed, attr.encode()), most)

    def importing(self, path: str, _: str, most: int) -> list[str]:
        """As `mentioning`, the other files that seem to import a file."""
        name = os.path.basename(path).removesuffix(".py")
        if name == "__init__":
            name = os.path.basename(os.path.dirname(path))
        word = os.fsencode(name)
        whole = re.compile(rb"\b%b\b" % re.escape(word))

        def imports(each: str, words: _Words) -> bool:
            if each == path or not _has(words.all, word):
                return False
            statements = map(os.fsdecode, filter(whole.search, words.imports.splitlines()))
            return any(self.brings(each, statement, path) for statement in statements)

        return self._where(path, imports, most)

    def _where(self, path: str, holds: Callable[[str, _Words], bool], most: int) -> list[str]:
        modules = self._around(path)
        self.consulted.update(modules)
        versions = {each: seen for each in modules if (seen := self._seen(each)) is not None}
        if sum(size for *_, size in versions.values()) > _MOST_BYTES:
            return []
        found = (each for each, seen in versions.items() if holds(each, self._known(each, seen)))
        return list(itertools.islice(found, most + 1))

    def _around(self, path: str) -> list[str]:
        """The files of a file's project, looked for once in a visit; itself where it has none."""
        folder = os.path.dirname(path)
        if folder not in self._modules:
            before, self.consulted = self.consulted, set()
            self._modules[folder] = self.modules(path), self.consulted
            self.consulted = before
        modules, consulted = self._modules[folder]
        self.consulted |= consulted
        if modules is None or not path.endswith(".py"):
            return [path, *(modules or ())]  # a notebook is no module
        return modules

    def _seen(self, path: str) -> _Version | None:
        """The version of a file, as it was when it was first asked for in a visit."""
        if path not in self._versions:
            self._versions[path] = _version(path)
        return self._versions[path]

    def _known(self, path: str, seen: _Version) -> _Words:
        kept = self._words.get(path)
        if kept is None or kept.version != seen:
            data = self._bytes(path)
            words, placed = set(_WORD.findall(data)), set(_PLACED.findall(data))
            placed.update(filter(None, itertools.chain(*_CHANGED.findall(data))))
            imports = b"\n".join(_IMPORT.findall(data))
            kept = _Words(seen, _hashes(words), imports, _hashes(placed))
            self._words[path] = kept
        return kept

    def sets_default(self, path: str) -> str:
        """How a program that imports a file makes its tensors on an accelerator, unless told
        otherwise: by a device, or by the type of tensors; "" where none does."""
        asked = list(questions(path))
        self.consulted.update(asked)
        return max(map(answer, asked), default="")

    def _bytes(self, path: str) -> bytes:
        try:
            return self._data(path)
        except OSError:
            return b""

    def _data(self, path: str) -> bytes:
        """What a file holds, or its text in an editor. Raises `OSError`."""
        data = _unsaved.get().get(path)
        if data is None:
            return files.read(path, self._largest)
        if len(data) > self._largest:
            raise files.TooLargeError(path, self._largest)
        return data

    def stamp(self, path: str) -> object:
        """What changes when a file does: its time and size; None where there is no such file, or
        no module of that path. Of all modules of a folder their names."""
        if os.path.basename(path) == ALL:
            return modules_of(path)
        if not path.endswith(".py"):
            return None if is_absent(path) else (0, 0)
        return self._seen(path)


def _version(path: str) -> _Version | None:
    """The version of a file, its size last; None where there is none."""
    data = _unsaved.get().get(path)
    if data is not None:
        return -1, hash(data), len(data)
    try:
        return files.version(os.stat(path))
    except OSError:
        return None
