"""Other files of the project: what their names stand for where a linted file uses them.

Of a file that is followed, only what is asked for is run: the statements of its top level that
have to do with a name, and what those need in turn. Its functions and classes are then used as
those of the linted file are; what goes wrong in them is told at the call that leads there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from devlint import ir
from devlint.findings import Located
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.facts import Role
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import World
from devlint.flow.syntax.lookahead import Outline, outline

_DEEPEST = 8
"""Names that stand for names that stand for names ..."""
_MOST_STARS = 16
"""Modules of which one file imports all names."""
_KEPT = 8_000_000
"""Characters of the files that are remembered: neighbours import the same ones, and a run goes
folder by folder. What was read of a file and found out takes some thirty bytes for each."""


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

    def sets_default(self, path: str) -> bool:
        """Whether a program that imports a file sets where tensors are made."""


class Guest(dict[str, Value]):
    """The names of a followed file: what has to do with one is run when it is asked for."""

    def __init__(self, file: File, text: Text, world: World, project: Project) -> None:
        super().__init__()
        self.file = file
        self.heap: dict[Ref, Object] = {}
        self.stamps: dict[str, object] = {}
        """What it hangs on, as it was."""
        self.text = text
        self.own: frozenset[Located] | None = None
        """The nodes that are told of where the file itself is linted, once that was asked for."""
        self._outline: Outline = outline(text.module)
        self._role = text.role
        self._world = world
        self._budgets = world.budget, world.guest_budget
        self._project = project
        self._consulted: dict[int, frozenset[str]] = {}
        """By the places of the statements that have been run."""
        self._running: list[int] = []
        """The places of those that are running: each needs a name that the next has to do with."""

    def binds(self, name: str) -> bool:
        """Whether the file itself binds a name."""
        return name in self._outline.binds

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> Value:
        if name not in self:
            raise KeyError(name)
        return dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name at the end of the file; what a function of it binds anew through
        `global` may have any."""
        if name not in self._outline.binds:
            return default
        self._settle(name)
        found = dict.get(self, name, default)
        return NOTHING if name in self.file.rebound and not _stays(found) else found

    def settle_stars(self) -> None:
        """Find out of which modules all names are imported."""
        if "*" in self._outline.binds:
            self._settle("*")

    def _settle(self, name: str, below: int | None = None) -> None:
        """Run what has to do with a name, or only what of it stands above a place. A statement may
        bind other names as well: what bound those above it comes first, as it does in the file."""
        for place in self._outline.mentions[name]:
            if below is not None and place >= below:
                break
            if place not in self._consulted:
                if self._is_too_early(place):
                    continue
                self._consulted[place] = frozenset()
                for other in self._outline.bound[place] - {name, "*"}:
                    self._settle(other, place)
                self._running.append(place)
                try:
                    with self._project.watched() as consulted:
                        self._run(place)
                finally:
                    self._running.pop()
                self._consulted[place] = frozenset(consulted)
                self.stamps.update(self._project.stamped(consulted - self.stamps.keys()))
            self._project.consult(self._consulted[place])

    def _is_too_early(self, place: int) -> bool:
        """Whether a statement has to do with what one above it is just about to bind: it would run
        before that, and be overwritten."""
        names, bound = self._outline.names[place], self._outline.bound
        return any(above < place and bound[above] & names for above in self._running)

    def _run(self, place: int) -> None:
        names = self._outline.names[place]
        if self._outline.is_table(place):
            self.update(dict.fromkeys(names & self._outline.binds, NOTHING))
            return
        bound = {
            name: dict.__getitem__(self, name) for name in names if dict.__contains__(self, name)
        }
        self._world.budget, self._world.guest_budget = self._budgets
        state = State(bound, Heap(self.heap))
        frame = Frame(self._world, self.file, state, role=self._role, recording=False)
        self._world.run(frame, (self._outline.body[place],))
        made = {ref: frame.state.heap[ref] for ref in frame.state.heap.written}
        self.heap.update(made)
        self._project.heap.update(made)
        self.update(frame.state.env)


def _stays(value: Value | None) -> bool:
    """Whether it is one of what is taken to stay as it is, also where it is declared `global`."""
    return value is not None and value.kind in (Kind.LIBRARY, Kind.FUNCTION, Kind.CLASS)


class Project:
    """The names of other files. Files are remembered as long as nothing of them changes."""

    def __init__(
        self,
        surroundings: Surroundings,
        describe: Callable[[Text, str], File],
        make_world: Callable[[File, Project], World],
    ) -> None:
        self._around = surroundings
        self._describe = describe
        self._make_world = make_world
        self._guests: OrderedDict[str, Guest] = OrderedDict()
        self._size = 0
        self._checked: set[str] = set()
        self._stamps: dict[str, object] = {}
        """Of paths, since the visit began."""
        self._known: dict[tuple[File, str], Value | None] | None = None
        """What names stand for that were asked for since one began to watch; None while a file is
        run to find that out, so that it may change."""
        self.heap: dict[Ref, Object] = {}
        """What the names of other files refer to."""

    @contextmanager
    def visit(self) -> Iterator[set[str]]:
        """Follow the names of one linted file; gives the paths that were consulted."""
        self._checked.clear()
        self._stamps.clear()
        with self.watched(settled=True) as consulted:
            yield consulted
        while self._size > _KEPT:
            self._leave(*self._guests.popitem(last=False))

    def _leave(self, _: str, guest: Guest) -> None:
        self._size -= guest.text.length
        for ref in guest.heap:
            self.heap.pop(ref, None)

    @contextmanager
    def watched(self, settled: bool = False) -> Iterator[set[str]]:
        """What is consulted here, which is consulted outside as well. `settled`: no file is run to
        find out what its names stand for, but where that is asked for in between."""
        before, known = self._around.consulted, self._known
        self._around.consulted, self._known = set(), {} if settled else None
        try:
            yield self._around.consulted
        finally:
            before |= self._around.consulted
            self._around.consulted, self._known = before, known

    def consult(self, paths: Iterable[str]) -> None:
        """Say that something hangs on these paths."""
        self._around.consulted.update(paths)

    def stamped(self, paths: Iterable[str]) -> dict[str, object]:
        """How these paths are now."""
        found: dict[str, object] = {}
        for path in paths:
            if path not in self._stamps:
                self._stamps[path] = self._around.stamp(path)
            found[path] = self._stamps[path]
        return found

    def default_for(self, path: str) -> Device:
        """Where a file makes tensors that nobody places, before it says so itself."""
        return UNKNOWN if self._around.sets_default(path) else CPU

    # --- imports ---------------------------------------------------------------------------

    def imported(self, file: File, level: int, name: str) -> str | None:
        """The dotted name of the module that an import of a file means, if it is the project's."""
        if level:
            found = self._around.relative(file.path, level, name)
            if found is None:
                return None
            name, path = found
        else:
            path = self._around.absolute(file.path, name) or ""
            if not path:
                return None
        if file.modules.get(name) != path:
            file.modules[name] = path
            if self._known is not None:
                self._known.clear()
        return name

    def of_star(self, file: File, name: str, depth: int = 0) -> Value | None:
        """What a name stands for that a file may have got by `import *`."""
        for module in file.stars[-1 : -_MOST_STARS - 1 : -1]:
            found = self._value(file, f"{module}.{name}", depth)
            if found is not None:
                return found
        return None

    # --- names -----------------------------------------------------------------------------

    def value(self, file: File, name: str) -> Value | None:
        """What a dotted name stands for in a file; None where it isn't the project's, or not
        known."""
        known = self._known
        if known is None:
            return self._value(file, name, 0)
        if (file, name) not in known:
            found = self._value(file, name, 0)
            known[file, name] = found
            return found
        return known[file, name]

    def _value(self, file: File, name: str, depth: int) -> Value | None:
        module, rest = name, ""
        while module and module not in file.modules:
            module, _, last = module.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        if not module or depth > _DEEPEST:
            return None
        path = file.modules[module]
        while rest:
            first, _, rest = rest.partition(".")
            guest = self._follow(path)
            if guest is not None:
                bound = guest.get(first)
                if bound is None and not guest.binds(first) and not rest and depth < _DEEPEST:
                    guest.settle_stars()
                    bound = self.of_star(guest.file, first, depth + 1)
                if bound is not None and bound.data != f"{module}.{first}":
                    return self._reached(guest.file, bound, rest, depth)
            below = self._around.submodule(path, first)
            if below is None:
                return None
            module, path = f"{module}.{first}", below
            file.modules.setdefault(module, path)
        return None

    def _reached(self, file: File, bound: Value, rest: str, depth: int) -> Value | None:
        """A name's value, or that of an attribute below it."""
        if bound.kind is not Kind.LIBRARY:
            return None if rest else bound
        dotted = f"{bound.data}.{rest}" if rest else str(bound.data)
        return self._value(file, dotted, depth + 1) or bound.but(data=dotted)

    # --- files -----------------------------------------------------------------------------

    def own(self, path: str, ask: Callable[[Text], frozenset[Located]]) -> frozenset[Located]:
        """What `ask` says of a followed file. It is asked once, as long as nothing changes."""
        guest = self._follow(path)
        if guest is None:
            return frozenset()
        if guest.own is None:
            guest.own = frozenset()  # what it leads to may lead back
            with self.watched(settled=True) as consulted:
                guest.own = ask(guest.text)
            guest.stamps.update(self.stamped(consulted - guest.stamps.keys()))
        self.consult(guest.stamps)
        return guest.own

    def _follow(self, path: str) -> Guest | None:
        guest = self._guests.get(path)
        if guest is not None and path not in self._checked:
            if self.stamped(guest.stamps) != guest.stamps:
                self._leave(path, self._guests.pop(path))
                guest = None
        if guest is None:
            text = self._around.read(path)
            self._around.consulted.add(path)
            if text is None:
                return None
            file = self._describe(text, path)
            guest = Guest(file, text, self._make_world(file, self), self)
            file.guest = guest
            guest.stamps.update(self.stamped((path,)))
            self._guests[path] = guest
            self._size += text.length
        self._checked.add(path)
        self._guests.move_to_end(path)
        self._around.consulted.add(path)
        return guest
