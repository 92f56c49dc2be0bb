"""The files around linted ones, and what of them is consulted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from devlint import ir
from devlint.flow.domain.values import Value
from devlint.flow.facts import Role
from devlint.flow.frames.files import File


@dataclass(frozen=True, slots=True)
class Text:
    """What a file holds, and what its place and its words tell of it."""

    module: ir.Module
    role: Role = Role.PLAIN
    speaks_of_devices: bool = True
    """It names a device or moves something somewhere; without that, arguments of its plain
    functions are taken to be on the host."""
    length: int = 0
    """Characters."""


class Surroundings(Protocol):
    """The files around linted ones."""

    consulted: set[str]
    """The paths that were asked for since it was set."""

    def absolute(self, importer: str, name: str) -> str | None:
        """The path of a module that a file imports by its whole name."""

    def relative(self, importer: str, level: int, name: str) -> tuple[str, str] | None:
        """The dotted name and the path of a module that a file imports by a relative name."""

    def submodule(self, module: str, name: str) -> str | None:
        """The path of a module in a package, whose path is given."""

    def read(self, path: str) -> Text | None:
        """What stands in a file."""

    def stamp(self, path: str) -> object:
        """What changes when a consulted path does."""

    def mentioning(self, path: str, word: str) -> list[str]:
        """The files of a file's project in which a word stands, that file among them."""

    def sets_default(self, path: str) -> bool:
        """Whether a program that imports a file sets where tensors are made."""


class Watch:
    """What is consulted of the surroundings, and how it is, from the start of a visit on."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.known: dict[tuple[File, str], Value | None] | None = None
        """What names stand for that were asked for since one began to watch; None while a file is
        run to find that out, so that it may change."""
        self._stamps: dict[str, object] = {}

    def begin(self) -> None:
        """Forget how things were."""
        self._stamps.clear()

    @contextmanager
    def watched(self, settled: bool = False) -> Iterator[set[str]]:
        """What is consulted here, which is consulted outside as well. `settled`: no file is run to
        find out what its names stand for, but where that is asked for in between."""
        before, known = self.around.consulted, self.known
        self.around.consulted, self.known = set(), {} if settled else None
        try:
            yield self.around.consulted
        finally:
            before |= self.around.consulted
            self.around.consulted, self.known = before, known

    def consult(self, paths: Iterable[str]) -> None:
        """Say that something hangs on these paths."""
        self.around.consulted.update(paths)

    def stamped(self, paths: Iterable[str]) -> dict[str, object]:
        """How these paths are now."""
        found: dict[str, object] = {}
        for path in paths:
            if path not in self._stamps:
                self._stamps[path] = self.around.stamp(path)
            found[path] = self._stamps[path]
        return found
