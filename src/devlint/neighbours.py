"""The files around linted ones: found, and read."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left
from collections import OrderedDict

from devlint import files
from devlint.flow.surroundings import Text
from devlint.importing import Finder, is_absent
from devlint.programs import answer, questions
from devlint.purpose import role_of_file, speaks_of_devices
from devlint.source.encoding import decode
from devlint.source.errors import SourceError
from devlint.source.lower import lower
from devlint.source.spots import File

_KEPT = 4_000_000
"""Characters of the files that are remembered; what was read of them takes some twenty bytes for
each."""
_MOST_BYTES = 64_000_000
"""Bytes of a project in which words are looked for. Four are remembered for each word of a file."""
_WORD = re.compile(rb"\w+")
_HASH = 0xFFFF_FFFF


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
        self._words: dict[str, tuple[tuple[int, int, int], array[int]]] = {}
        """Hashes of the words of files, in order, with the version of the file."""
        self._contents: OrderedDict[str, tuple[str, Text]] = OrderedDict()
        self._size = 0

    def read(self, path: str) -> Text | None:
        """What stands in a file; None where that can't be told."""
        if path.endswith(os.sep):
            return None  # a package without `__init__.py` is a folder, and says nothing itself
        try:
            return self.content(path, decode(files.read(path, self._largest)).text)
        except files.NotPlainError as error:
            self.refused[path] = files.reason(error)
            return None
        except (OSError, SourceError):
            return None

    def content(self, path: str, text: str) -> Text:
        """What a text says as the file of a path. Raises `SourceError`.

        It is read once for the run over the file itself and for the files that import it.
        """
        kept = self._contents.pop(path, None)
        if kept is None or kept[0] != text:
            module = lower(text, path)
            self._size += len(text) - (0 if kept is None else len(kept[0]))
            speaks = speaks_of_devices(text, module)
            kept = text, Text(module, role_of_file(path), speaks, len(text))
        self._contents[path] = kept
        while self._size > _KEPT and len(self._contents) > 1:
            self._size -= len(self._contents.popitem(last=False)[1][0])
        return kept[1]

    def file(self, path: str) -> File | None:
        """A file that was followed, to find places in it; None where it can't be read any more."""
        content = self.read(path)
        found = None if content is None else content.module.origin
        return found if isinstance(found, File) else None

    def mentioning(self, path: str, word: str, most: int) -> list[str]:
        """The files of a file's project in which a word stands, that file among them: the first
        ones where these are more than `most`, and none in a project of too many bytes."""
        modules = list(self.modules(path))
        self.consulted.update(modules)
        versions = {each: seen for each in modules if (seen := _version(each)) is not None}
        if sum(size for *_, size in versions.values()) > _MOST_BYTES:
            return []
        whole, found = re.compile(rf"\b{re.escape(word)}\b".encode()), list[str]()
        for each, seen in versions.items():
            if self._may_mention(each, seen, word) and whole.search(self._bytes(each)):
                found.append(each)
                if len(found) > most:
                    break
        return found

    def _may_mention(self, path: str, seen: tuple[int, int, int], word: str) -> bool:
        """Whether a file has each part of a word, or another one of the same hash."""
        kept = self._words.get(path)
        if kept is None or kept[0] != seen:
            words = {hash(part) & _HASH for part in _WORD.findall(self._bytes(path))}
            kept = self._words[path] = seen, array("I", sorted(words))
        hashes = kept[1]
        for part in _WORD.findall(word.encode()):
            place = bisect_left(hashes, hash(part) & _HASH)
            if place == len(hashes) or hashes[place] != hash(part) & _HASH:
                return False
        return True

    def sets_default(self, path: str) -> bool:
        """Whether a program that imports a file makes its tensors on an accelerator, unless told
        otherwise."""
        asked = list(questions(path))
        self.consulted.update(asked)
        return any(map(answer, asked))

    def _bytes(self, path: str) -> bytes:
        try:
            return files.read(path, self._largest)
        except OSError:
            return b""

    def stamp(self, path: str) -> object:
        """What changes when a file does: its time and size; None where there is no such file, or
        no module of that path."""
        if not path.endswith(".py"):
            return None if is_absent(path) else (0, 0)
        return _version(path)


def _version(path: str) -> tuple[int, int, int] | None:
    """The version of a file, its size last; None where there is none."""
    try:
        return files.version(os.stat(path))
    except OSError:
        return None
