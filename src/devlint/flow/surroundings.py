"""The files around linted ones, and what of them is consulted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devlint.flow.domain.values import Value
from devlint.flow.frames.files import File
from devlint.flow.frames.steps import Steps
from devlint.flow.syntax.programs import holds_tests, makes_its_own, runs, trains
from devlint.flow.syntax.signs import speaks
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir

if TYPE_CHECKING:
    from devlint.project.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class Text:
    """What a file holds, and what its words tell of it."""

    module: ir.Module
    speaks_of_devices: bool = True
    """It names a device or moves something somewhere; without that, a program runs on the host."""
    length: int = 0
    """Characters."""


def tries_its_own(text: Text) -> bool:
    """Whether a file is a program that trains its own model, or tries it out."""
    return trains(text.module.body) or makes_its_own(text.module.body)


def runs_on_host(text: Text) -> bool:
    """Whether such a file never speaks of devices: it runs on the host from its beginning to its
    end."""
    return not text.speaks_of_devices and tries_its_own(text)


def tests_on_host(text: Text) -> bool:
    """Whether a file holds tests and never speaks of devices: they run on the host, which says
    nothing of what they test."""
    return not text.speaks_of_devices and holds_tests(text.module.body)


def gives_host(text: Text) -> bool:
    """Whether a file does something where it is run and never speaks of devices: what it gives its
    own functions is on the host."""
    return not text.speaks_of_devices and runs(text.module.body)


def shows_on_host(text: Text) -> bool:
    """Whether nothing speaks of devices but the classes of a file that does something where it is
    run: it shows there what they do, on the host."""
    body = text.module.body
    outside = [each for each in body if not isinstance(each, ir.Class)]
    return runs(body) and not speaks(nodes_of(outside))


@dataclass(slots=True, eq=False)
class Inquiry:
    """How something of another file was found out, for all linted files that ask for it: what was
    consulted, in how many steps, and on which others it relies. Their steps aren't counted here."""

    consulted: frozenset[str] = frozenset()
    steps: int = 0
    relies_on: set[Inquiry] = field(default_factory=set)


class Watch:
    """What is consulted of the surroundings, and how it is, from the start of a visit on; and the
    steps that are taken, which are the same whether something was found out before or not."""

    def __init__(self, around: Neighbours) -> None:
        self.around = around
        self.known: dict[tuple[File, str], Value | None] | None = None
        """What names stand for that were asked for since one began to watch; None while a file is
        run to find that out, so that it may change."""
        self._stamps: dict[str, object] = {}
        self.visits = 0
        """The linted files that were visited, each time anew."""
        self.top_levels = 0
        """Those of followed files that are running, one for the other."""
        self.steps = Steps()
        self._counted: set[Inquiry] = set()
        self._within: list[Inquiry] = []
        """Those that are under way, the innermost last."""
        self._elsewhere = 0
        """Steps that count for an inquiry within the one under way."""

    def begin(self) -> None:
        """Forget how things were."""
        self._stamps.clear()
        self.around.begin()
        self.visits += 1

    @contextmanager
    def top_level(self) -> Iterator[None]:
        """Run what stands at the top level of a followed file."""
        self.top_levels += 1
        try:
            yield
        finally:
            self.top_levels -= 1

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

    def recount(self) -> None:
        """Count steps from now on: nothing has been done yet."""
        self.steps.restart()
        self._counted.clear()

    @contextmanager
    def inquiry(self, settled: bool = False) -> Iterator[Inquiry]:
        """Find something out that others may ask for as well; `settled` as for `watched`."""
        found = Inquiry()
        self._within.append(found)
        before, around, self._elsewhere = self.steps.taken, self._elsewhere, 0
        try:
            with self.watched(settled) as consulted:
                yield found
            taken = self.steps.taken - before
            found.consulted, found.steps = frozenset(consulted), taken - self._elsewhere
            self._counted.add(found)
            around += taken
        finally:
            self._within.pop()
            self._elsewhere = around

    def rely_on(self, inquiry: Inquiry) -> None:
        """Use what was found out. Its steps count once for each linted file."""
        self.consult(inquiry.consulted)
        if self._within:
            self._within[-1].relies_on.add(inquiry)
        if inquiry in self._counted:
            return
        waiting = [inquiry]
        while waiting:
            each = waiting.pop()
            if each not in self._counted:
                self._counted.add(each)
                self._elsewhere += each.steps
                self.steps.take(each.steps)
                waiting.extend(each.relies_on)

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
