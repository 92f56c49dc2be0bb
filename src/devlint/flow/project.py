"""Other files of the project: what their names stand for where a linted file uses them.

Of a file that is followed, only what is asked for is run: the statements of its top level that
have to do with a name, and what those need in turn. Its functions and classes are then used as
those of the linted file are; what goes wrong in them is told at the call that leads there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import File
from devlint.flow.frames.world import Heard, Parameter, UnfinishedError, Use, World
from devlint.flow.guests import Guest
from devlint.flow.surroundings import Surroundings, Text, Watch, gives_host, runs_on_host
from devlint.flow.syntax.imports import imported
from devlint.flow.syntax.processes import spawned
from devlint.flow.syntax.walk import uncalled
from devlint.model.reports import Located

_DEEPEST = 8
"""Names that stand for names that stand for names ..."""
_MOST_STARS = 16
"""Modules of which one file imports all names."""
_MOST_CALLERS = 8
"""Files that are asked what they give to one function."""
_MOST_IMPORTING = 32
"""Files that are asked who imports them, to tell whether one imports another."""
_KEPT = 8_000_000
"""Characters of the files that are remembered: neighbours import the same ones, and a run goes
folder by folder. What was read of a file and found out takes some thirty bytes for each."""

_Told = TypeVar("_Told")
_Asked = dict[tuple[File, str], tuple[int, Value | None]]
"""What dotted names stand for in files that were asked for to answer one question, and how deep
below the question that was."""


class Project:
    """The names of other files. Files are remembered as long as nothing of them changes."""

    def __init__(
        self,
        surroundings: Surroundings,
        make_world: Callable[[Text, str, Project], World],
        hear: Callable[[Text, str, Project], Heard],
    ) -> None:
        self._watch = Watch(surroundings)
        self._around = surroundings
        self._make_world = make_world
        self._hear = hear
        self._guests: OrderedDict[str, Guest] = OrderedDict()
        self._size = 0
        self._checked: set[str] = set()
        self._mentions: dict[tuple[str, str, str], tuple[list[str], frozenset[str]]] = {}
        """The files in which words stand, and what was consulted for that."""
        self.steps = self._watch.steps
        self.heap: dict[Ref, Object] = {}
        """What the names of other files refer to."""

    @contextmanager
    def visit(self) -> Iterator[set[str]]:
        """Follow the names of one linted file; gives the paths that were consulted."""
        self._checked.clear()
        self._mentions.clear()
        self._watch.begin()
        with self._watch.watched(settled=True) as consulted:
            try:
                yield consulted
            except UnfinishedError:  # what was half found out isn't kept for the next file
                self._guests.clear()
                self.heap.clear()
                self._size = 0
                raise
        while self._size > _KEPT:
            self._leave(next(iter(self._guests)))

    def recount(self) -> None:
        """Count the steps for the linted file from now on."""
        self._watch.recount()

    def _leave(self, path: str) -> None:
        guest = self._guests.pop(path)
        self._size -= guest.text.length
        for ref in guest.heap:
            self.heap.pop(ref, None)

    def default_for(self, path: str) -> Device:
        """Where a file makes tensors that nobody places, before it says so itself."""
        return UNKNOWN if self._around.sets_default(path) else CPU

    # --- imports ---------------------------------------------------------------------------

    def imported(self, file: File, level: int, name: str) -> str | None:
        """The dotted name of the module that an import of a file means, if it is the project's."""
        if level:
            found = self._around.relative(file.path, level, name)
        else:
            whole = self._around.absolute(file.path, name)
            found = None if whole is None else (name, whole)
        if found is None:
            return None
        name, path = found
        if file.modules.get(name) != path:
            file.modules[name] = path
            if self._watch.known is not None:
                self._watch.known.clear()
        return name

    def of_star(self, file: File, name: str) -> Value | None:
        """What a name stands for that a file may have got by `import *`."""
        guest = self._guests.get(file.path)
        if guest is not None and guest.file is file:
            guest.settle_stars()
        return self._of_star(file, name, {}, 0)

    def _of_star(self, file: File, name: str, asked: _Asked, depth: int) -> Value | None:
        for module in file.stars[::-1][:_MOST_STARS]:
            found = self._value(file, f"{module}.{name}", asked, depth)
            if found is not None:
                return found
        return None

    # --- names -----------------------------------------------------------------------------

    def value(self, file: File, name: str) -> Value | None:
        """What a dotted name stands for in a file; None where it isn't the project's, or not
        known."""
        known = {} if self._watch.known is None else self._watch.known
        if (file, name) not in known:
            known[file, name] = self._value(file, name, {}, 0)
        return known[file, name]

    def _value(self, file: File, name: str, asked: _Asked, depth: int) -> Value | None:
        """The same within one question. What is asked again gives what it gave, and None while it
        is being found out: modules may import all names of each other."""
        before = asked.get((file, name))
        if before is None or depth < before[0]:
            self.steps.take(1)
            asked[file, name] = depth, None
            asked[file, name] = depth, self._found(file, name, asked, depth)
        return asked[file, name][1]

    def _found(self, file: File, name: str, asked: _Asked, depth: int) -> Value | None:
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
                    bound = self._of_star(guest.file, first, asked, depth + 1)
                if bound is not None and bound.data != f"{module}.{first}":
                    return self._reached(guest.file, bound, rest, asked, depth)
            below = self._around.submodule(path, first)
            if below is None:
                return None
            module, path = f"{module}.{first}", below
            file.modules.setdefault(module, path)
        return None

    def _reached(
        self, file: File, bound: Value, rest: str, asked: _Asked, depth: int
    ) -> Value | None:
        """A name's value, or that of an attribute below it."""
        if bound.kind is not Kind.LIBRARY or not isinstance(bound.data, str):
            return None if rest else bound
        dotted = f"{bound.data}.{rest}" if rest else bound.data
        return self._value(file, dotted, asked, depth + 1) or bound.but(data=dotted)

    # --- files -----------------------------------------------------------------------------

    def own(self, path: str, ask: Callable[[Text], frozenset[Located]]) -> frozenset[Located]:
        """What `ask` says of a followed file."""
        return self._once(path, "own", frozenset(), lambda guest: ask(guest.text))

    def _heard(self, path: str) -> Heard:
        nothing = Heard({}, frozenset())
        return self._once(path, "heard", nothing, lambda guest: self._hear(guest.text, path, self))

    def _once(self, path: str, what: str, nothing: _Told, ask: Callable[[Guest], _Told]) -> _Told:
        """What is to be told of a followed file. That is asked once, as long as nothing changes."""
        guest = self._follow(path)
        if guest is None:
            return nothing
        if what not in guest.told:
            guest.told[what] = nothing  # what it leads to may lead back
            with self._watch.inquiry(settled=True) as guest.inquiries[what]:
                guest.told[what] = ask(guest)
            consulted = guest.inquiries[what].consulted
            guest.stamps.update(self._watch.stamped(consulted - guest.stamps.keys()))
        self._watch.rely_on(guest.inquiries[what])
        self._watch.consult(guest.stamps)
        told: _Told = guest.told[what]
        return told

    def brings(self, parameter: Parameter) -> bool:
        """Whether the calls of a function bring from the host what a parameter takes, in all of the
        project's files."""
        return self._given(parameter, ()) == {True}

    def _given(self, parameter: Parameter, below: tuple[Parameter, ...]) -> set[bool]:
        """What all calls give to a parameter, those that hand on what they are given themselves
        included; nothing where nobody calls."""
        path, function, _ = parameter
        callers = self._naming(path, function.partition(".")[0], self._around.mentioning)
        if len(callers) > _MOST_CALLERS or len(below) > _DEEPEST:
            return {False}
        told: set[bool] = set()
        for each in callers:
            for given in self._heard(each).brought.get(parameter, ()):
                if isinstance(given, bool):
                    told.add(given)
                elif given not in (parameter, *below):
                    told |= self._given(given, (*below, parameter)) or {False}
        return told

    def passes(self, parameter: Parameter) -> bool:
        """Whether another file has something to pass for a parameter of a class."""
        path, name, _ = parameter
        naming = self._naming(path, name, self._around.mentioning)
        heard = (self._heard(each) for each in naming[:_MOST_CALLERS] if each != path)
        return len(naming) > _MOST_CALLERS or any(parameter in each.passed for each in heard)

    def uses(self, path: str) -> Sequence[Use]:
        """What in a file may use an accelerator."""
        return self._heard(path).uses

    def spawned(self, path: str, functions: Iterable[str]) -> dict[str, bool]:
        """The functions of a file for which others start processes, and whether each is given the
        number of its process."""
        found: dict[str, bool] = {}
        for name in functions:
            naming = self._naming(path, name, self._around.mentioning)
            guests = (self._follow(each) for each in naming[:_MOST_CALLERS] if each != path)
            for module in (guest.text.module for guest in guests if guest is not None):
                starts = spawned(module.body, imported(module))
                found.update({name: starts[name]} if name in starts else {})
        return found

    def is_program(self, path: str) -> bool:
        """Whether no other file of the project imports a file."""
        return not self._naming(path, "", self._around.importing)

    def gives_host(self, path: str) -> bool:
        """Whether a file is a program that no other file imports, and runs on the host."""
        guest = self._follow(path)
        return guest is not None and gives_host(guest.text) and self.is_program(path)

    def runs_on_host(self, path: str) -> bool:
        """Whether a file never speaks of devices, and no other file imports it than programs that
        run on the host."""
        guest = self._follow(path)
        if guest is None or guest.text.speaks_of_devices:
            return False
        importing = self._naming(path, "", self._around.importing)
        few = 0 < len(importing) <= _MOST_CALLERS
        return few and all(runs_on_host(each.text) for each in self._readable(importing))

    def importers_speak(self, path: str) -> bool:
        """Whether a file that seems to import another one, by way of others too, speaks of devices;
        also where these are too many, or one can't be read."""
        above = (None if each is None else self._follow(each) for each in self._importing(path))
        return any(each is None or each.text.speaks_of_devices for each in above)

    def chooses_device(self, path: str, words: Iterable[str]) -> bool:
        """Whether one of these words, by which a process chooses its device, stands in a file that
        another one imports, or in one that imports it, by way of others too."""
        for word in words:
            naming = self._naming(path, word, self._around.mentioning)
            if len(naming) > _MOST_CALLERS:
                return True  # nobody knows which of them it is
            others = [each for each in naming if each != path]
            if any(self._imports(each, path) or self._imports(path, each) for each in others):
                return True
        return False

    def _imports(self, importer: str, imported: str) -> bool:
        """Whether a file seems to import another one, by way of others too."""
        return any(each is None or each == importer for each in self._importing(imported))

    def _importing(self, path: str) -> Iterator[str | None]:
        """The files that seem to import another one, by way of others too; at last None where these
        are too many."""
        seen, waiting = {path}, [path]
        while waiting:
            if len(seen) > _MOST_IMPORTING:
                yield None
                return
            for each in self._naming(waiting.pop(), "", self._around.importing):
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
                    yield each

    def hands_over(self, path: str, function: str) -> bool:
        """Whether another file of the project uses a function of a file as a value."""
        naming = self._naming(path, function, self._around.mentioning)
        others = self._readable(each for each in naming if each != path)
        return any(function in uncalled(each.text.module.body) for each in others)

    def is_for_samples(self, path: str, name: str) -> bool:
        """Whether another file makes batches with a function or class of a file, or changes samples
        with it."""
        naming = self._naming(path, name, self._around.mentioning)
        others = self._readable(each for each in naming[:_MOST_CALLERS] if each != path)
        return any(name in each.samples for each in others)

    def places(self, path: str, attr: str, is_module: bool) -> bool:
        """Whether a file of the project binds an attribute of that name from outside of the object,
        or moves the module that it is."""
        files = self._naming(path, attr, self._around.placing)
        done = {(attr, True), (attr, False)} if is_module else {(attr, True)}
        many = len(files) > _MOST_CALLERS
        return many or any(done & each.placed for each in self._readable(files))

    def _naming(
        self, path: str, word: str, look: Callable[[str, str, int], list[str]]
    ) -> list[str]:
        """The files in which a word stands: they are looked for once for each linted file."""
        asked = (path, word, look.__name__)
        if asked not in self._mentions:
            with self._watch.watched() as consulted:
                found = look(path, word, _MOST_CALLERS)
            self._mentions[asked] = found, frozenset(consulted)
        found, paths = self._mentions[asked]
        self._watch.consult(paths)
        return found

    def _readable(self, paths: Iterable[str]) -> Iterator[Guest]:
        """The followed files at these paths, without those that can't be read."""
        return (guest for guest in map(self._follow, paths) if guest is not None)

    def _follow(self, path: str) -> Guest | None:
        self._watch.consult((path,))
        guest = self._guests.get(path)
        if guest is not None and path not in self._checked:
            if self._watch.stamped(guest.stamps) != guest.stamps:
                self._leave(path)
                guest = None
        if guest is None:
            text = self._around.read(path)
            if text is None:
                return None
            guest = Guest(text, self._make_world(text, path, self), self._watch, self.heap)
            self._guests[path] = guest
            self._size += text.length
        self._checked.add(path)
        self._guests.move_to_end(path)
        return guest
