"""Cuts what is to be linted into units that have little to do with each other.

Files are in one component where imports lead from one to the other: a call from file to file goes
through one. What is read for that is hashed, so that what is linted elsewhere can be compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from devlint.config.sources import Source
from devlint.driver.cache import digest
from devlint.project.importing import Finder
from devlint.safety import files
from devlint.safety.files import UNSEEN, Look, look

_IMPORT = re.compile(
    rb"""^[ \t]*(?:"[ \t]*)?(?:               # in a notebook, a line is a string
    from[ \t]{1,20}(?P<dots>\.{0,20})[ \t]{0,20}(?P<module>[\w.]{0,500})[ \t]{0,20}
        import\b[ \t]{0,20}
        (?P<names>\([^)]{0,5000}\)|(?:\\\r?\n|[^\n])*)
    |import[ \t](?P<modules>(?:\\\r?\n|[^\n])*)
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""Nothing in it can be read in more ways than there are characters, or some thousands."""
_NAME = re.compile(rb"[\w.]+")
_MOST_IMPORTS = 1000
"""Imports of one file, and names of one import, that are looked at."""

SMALLEST = 16 * 1024
LARGEST = 512 * 1024
"""Bytes of a unit of several components: some seconds of work, which is what a death costs."""
_WHOLE = 8 * 1024 * 1024
"""Bytes up to which a component is one unit, where the workers have as much to do besides."""


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in a file when it was read; its hash is "" where it couldn't be."""

    look: Look
    digest: str


@dataclass(frozen=True, slots=True)
class Component:
    """Sources that have to do with each other, in the order of their paths."""

    sources: tuple[Source, ...]
    costs: tuple[float, ...]

    @property
    def cost(self) -> float:
        """What all of it costs."""
        return sum(self.costs)

    def cut(self, most: float) -> Iterator[Component]:
        """The component in pieces that cost as much at most, or have one file."""
        for start, end in _pieces(self.costs, most):
            yield Component(self.sources[start:end], self.costs[start:end])


def _pieces(costs: Sequence[float], most: float) -> Iterator[tuple[int, int]]:
    start, cost = 0, 0.0
    for index, each in enumerate(costs):
        if index > start and cost + each > most:
            yield start, index
            start, cost = index, 0.0
        cost += each
    if costs:
        yield start, len(costs)


class Overview:
    """The components of what is to be linted, in the order of their first paths, and what stands in
    its files."""

    def __init__(self, sources: Sequence[Source], costs: Mapping[str, float] | None = None) -> None:
        self.contents: dict[str, Read] = {}
        self._imports = _Imports()
        parents: dict[str, str] = {}
        for source in sources:
            data = self._read(source)
            for path in self._imports.of(source.path, data):
                _join(parents, source.path, path)
        sizes = {path: read.look.size for path, read in self.contents.items()}
        expected = _expected(sizes, costs or {})
        groups: dict[str, list[Source]] = {}
        for source in sources:
            groups.setdefault(_first(parents, source.path), []).append(source)
        self.components = [
            Component(tuple(group), tuple(expected[each.path] for each in group))
            for group in groups.values()
        ]

    def _read(self, source: Source) -> bytes:
        most = files.most_bytes(source.language, source.settings.max_file_size)
        try:
            with files.opened(source.path) as descriptor:
                seen = look(os.fstat(descriptor))
                data = files.read_from(descriptor, source.path, most)
        except OSError:
            self.contents[source.path] = Read(UNSEEN, "")
            return b""
        self.contents[source.path] = Read(seen, digest(data))
        return data

    def units(self, workers: int) -> Iterator[Sequence[Source]]:
        """What workers are handed: small components together, larger ones whole, and in pieces
        those that would keep one worker busy when the others have nothing to do any more."""
        total = sum(component.cost for component in self.components)
        together = min(LARGEST, max(SMALLEST, total / (workers * 8)))
        whole = max(together, min(_WHOLE, total / (workers * 2)))
        parts = [part for component in self.components for part in component.cut(whole)]
        for start, end in _pieces([part.cost for part in parts], together):
            yield [source for part in parts[start:end] for source in part.sources]


def _expected(sizes: Mapping[str, int], costs: Mapping[str, float]) -> dict[str, float]:
    """What each file is expected to cost: what it has cost, or as much as others of its size."""
    known = {path: cost for path, cost in costs.items() if path in sizes}
    size = sum(sizes[path] + 1 for path in known)
    rate = sum(known.values()) / size if known else 1.0
    return {path: known.get(path, (size + 1) * rate) for path, size in sizes.items()}


def _first(parents: dict[str, str], path: str) -> str:
    while (parent := parents.get(path, path)) != path:
        parents[path] = parents.get(parent, parent)
        path = parent
    return path


def _join(parents: dict[str, str], one: str, other: str) -> None:
    first, second = sorted((_first(parents, one), _first(parents, other)))
    if first != second:
        parents[second] = first


class _Imports:
    """Which files the imports of others lead to."""

    def __init__(self) -> None:
        self._finder = Finder()
        self._folder = ""
        self._known: dict[tuple[int, str, tuple[str, ...]], list[str]] = {}

    def of(self, path: str, data: bytes) -> Iterable[str]:
        """The files that a file seems to import."""
        if os.path.dirname(path) != self._folder:  # what an import means hangs on the folder
            self._folder = os.path.dirname(path)
            self._known.clear()
            self._finder.consulted.clear()
        for asked in dict.fromkeys(islice(_imports(data), _MOST_IMPORTS)):
            if asked not in self._known:
                self._known[asked] = list(self._found(path, *asked))
            yield from self._known[asked]

    def _found(self, path: str, level: int, module: str, names: tuple[str, ...]) -> Iterator[str]:
        if level:
            relative = self._finder.relative(path, level, module)
            found = None if relative is None else relative[1]
        else:
            found = self._finder.absolute(path, module)
        if found is None:
            return
        below = (self._finder.submodule(found, name) for name in names)
        for each in (found, *below):
            if each is not None and not each.endswith(os.sep):
                yield each


def _imports(data: bytes) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The imports of a file as text: how many dots, the module, and what is taken out of it."""
    for match in _IMPORT.finditer(data):
        if match["modules"] is not None:
            for part in match["modules"].split(b",")[:_MOST_IMPORTS]:
                if name := _NAME.search(part):
                    yield 0, name[0].decode("utf-8", "replace"), ()
        else:
            names = _NAME.findall(match["names"])[:_MOST_IMPORTS]
            words = tuple(name.decode("utf-8", "replace") for name in names)
            yield len(match["dots"]), match["module"].decode("utf-8", "replace"), words
