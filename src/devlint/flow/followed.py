"""Other files of the project: what their names stand for where a linted file uses them.

Of a file that is followed, only what is asked for is run: the statements of its top level that
have to do with a name, and what those need in turn. Its functions and classes are then used as
those of the linted file are; what goes wrong in them is told at the call that leads there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import united
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import File
from devlint.flow.frames.steps import UnfinishedError
from devlint.flow.frames.world import World
from devlint.flow.guests import Guest
from devlint.flow.shared import Shared
from devlint.flow.surroundings import Inquiry, Text, Watch
from devlint.model.reports import Located

if TYPE_CHECKING:
    from devlint.project.neighbours import Neighbours

DEEPEST = 8
"""Names that stand for names that stand for names ..."""
_MOST_STARS = 16
"""Modules of which one file imports all names."""
_MOST_REGISTERING = 32
"""Files that may put something into an object of another file."""
MOST_CALLERS = 8
"""Files that are asked what they give to one function."""
_KEPT = 8_000_000
"""Characters of the files that are remembered: neighbours import the same ones, and a run goes
folder by folder. What was read of a file and found out takes some thirty bytes for each."""

_Told = TypeVar("_Told")
_Asked = dict[tuple[File, str], tuple[int, Value | None]]
"""What dotted names stand for in files that were asked for to answer one question, and how deep
below the question that was."""


class Followed:
    """The names of other files. Files are remembered as long as nothing of them changes."""

    def __init__(
        self,
        surroundings: Neighbours,
        make_world: Callable[[Text, str], World],
    ) -> None:
        self._watch = Watch(surroundings)
        self._around = surroundings
        self._make_world = make_world
        self._guests: OrderedDict[str, Guest] = OrderedDict()
        self._size = 0
        self._checked: set[str] = set()
        self._mentions: dict[tuple[str, str, str], tuple[list[str], frozenset[str]]] = {}
        """The files in which words stand, and what was consulted for that."""
        self.shared = Shared(self._watch)
        self.steps = self._watch.steps
        self.heap: dict[Ref, Object] = {}
        """What the names of other files refer to, as these files leave it."""
        self._filled: dict[tuple[Ref, str], tuple[Object, Inquiry]] = {}
        """The same with what further files put into it, but for one of them."""

    @contextmanager
    def visit(self) -> Iterator[set[str]]:
        """Follow the names of one linted file; gives the paths that were consulted."""
        self._checked.clear()
        self._mentions.clear()
        self._filled.clear()
        self._watch.begin()
        with self._watch.watched(settled=True) as consulted:
            try:
                yield consulted
            except UnfinishedError:  # what was half found out isn't kept for the next file
                self._guests.clear()
                self.heap.clear()
                self.shared = Shared(self._watch)
                self._size = 0
                raise
        while self._size > _KEPT:
            self._leave(next(iter(self._guests)))

    def recount(self) -> None:
        """Count the steps for the linted file from now on."""
        self._watch.recount()

    def _leave(self, path: str) -> None:
        guest = self._guests.pop(path)
        self.shared.forget(path)
        self._size -= guest.text.length
        for ref in guest.heap:
            self.heap.pop(ref, None)

    def default_for(self, path: str) -> Device:
        """Where a file makes tensors that nobody places, before it says so itself."""
        return UNKNOWN if self._around.sets_default(path) else CPU

    def sets_tensor_type(self, path: str) -> bool:
        """Whether the type of tensors says so, by which `torch.Tensor` goes as well."""
        return self._around.sets_default(path) == "type"

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
        if not module or depth > DEEPEST:
            return None
        path = file.modules[module]
        while rest:
            first, _, rest = rest.partition(".")
            guest = self._follow(path)
            if guest is not None:
                bound = guest.get(first)
                if bound is None and not guest.binds(first) and not rest and depth < DEEPEST:
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

    def object(self, ref: Any, home: str) -> Object | None:
        """What a name of another file refers to. A plain container that is a registry holds what
        the files put there that import its own, but for `home`: `@MODELS.register("small")`."""
        found = self.heap.get(ref)
        if found is None or found.source is not None or self._watch.top_levels:
            return found
        if (ref, home) not in self._filled:
            self._filled[ref, home] = found, Inquiry()  # what is run may ask for it
            with self._watch.inquiry() as inquiry:
                filled = self._with_additions(ref, found, home)
            self._filled[ref, home] = filled, inquiry
        found, inquiry = self._filled[ref, home]
        self._watch.rely_on(inquiry)
        return found

    def _with_additions(self, ref: Ref, found: Object, home: str) -> Object:
        owner = next((each for each in self._guests.values() if ref in each.heap), None)
        if owner is None or not self._may_register(owner):
            return found
        for guest in [*self._readable(self._registering(owner.file.path))]:
            if guest.file.path != home:
                guest.registers(owner.bound)
                added = guest.added.get(ref)
                found = found if added is None else united(found, added)
        return found

    def _may_register(self, owner: Guest) -> bool:
        """Whether functions of a file, or of one that it imports, put something into containers."""
        imported = (self._guests.get(path) for path in owner.file.modules.values())
        return owner.fills or any(each is not None and each.fills for each in imported)

    def _registering(self, path: str) -> list[str]:
        """The files that may put something into objects of a file: those that import it, or the
        package that it is a part of; none where these are too many."""
        found = dict.fromkeys(self._importing_directly(path))
        for each in [*found]:
            if Path(each).name == "__init__.py":
                found.update(dict.fromkeys(self._importing_directly(each)))
        found.pop(path, None)
        return [*found] if len(found) <= _MOST_REGISTERING else []

    def _importing_directly(self, path: str) -> list[str]:
        return self._naming(path, "", self._around.importing, _MOST_REGISTERING)

    # --- files -----------------------------------------------------------------------------

    def own(self, path: str, ask: Callable[[Text], Mapping[Located, int]]) -> Mapping[Located, int]:
        """What `ask` says of a followed file."""
        return self._once(path, "own", {}, lambda guest: ask(guest.text))

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

    def _naming(
        self,
        path: str,
        word: str,
        look: Callable[[str, str, int], list[str]],
        most: int = MOST_CALLERS,
    ) -> list[str]:
        """The files in which a word stands: they are looked for once for each linted file."""
        asked = (path, word, f"{look.__name__} {most}")
        if asked not in self._mentions:
            with self._watch.watched() as consulted:
                found = look(path, word, most)
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
            guest = Guest(text, self._make_world(text, path), self._watch, self.heap)
            self._guests[path] = guest
            self._size += text.length
        self._checked.add(path)
        self._guests.move_to_end(path)
        return guest
