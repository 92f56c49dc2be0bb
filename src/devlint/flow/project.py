"""What the other files of a project say of a file: what their calls bring, what they make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from devlint.flow.followed import DEEPEST, MOST_CALLERS, Followed
from devlint.flow.frames.others import Heard, Parameter, Use
from devlint.flow.frames.world import World
from devlint.flow.surroundings import (
    Text,
    gives_host,
    runs_on_host,
    shows_on_host,
    tries_its_own,
)
from devlint.flow.syntax.imports import imported
from devlint.flow.syntax.processes import is_on_one_machine
from devlint.flow.syntax.walk import bases_named, uncalled

if TYPE_CHECKING:
    from devlint.project.neighbours import Neighbours

_MOST_IMPORTING = 32
"""Files that are asked who imports them, to tell whether one imports another."""


_OF_PROCESSES = ("MASTER_ADDR", "init_process_group")
"""One of these words stands where a program says how its processes meet."""


class Project(Followed):
    """The files around linted ones, which can be asked."""

    def __init__(
        self,
        surroundings: Neighbours,
        make_world: Callable[[Text, str, Project], World],
        hear: Callable[[Text, str, Project], Heard],
    ) -> None:
        super().__init__(surroundings, lambda text, path: make_world(text, path, self))
        self._hear = hear

    def _heard(self, path: str) -> Heard:
        nothing = Heard({}, frozenset())
        return self._once(path, "heard", nothing, lambda guest: self._hear(guest.text, path, self))

    def brings(self, parameter: Parameter) -> bool:
        """Whether the calls of a function bring from the host what a parameter takes, in all of the
        project's files."""
        return self._given(parameter, ()) == {True}

    def gives_another(self, parameter: Parameter) -> bool:
        """Whether a call of a function gives to a parameter what isn't on the host."""
        return False in self._given(parameter, ())

    def _given(self, parameter: Parameter, below: tuple[Parameter, ...]) -> set[bool]:
        """What all calls give to a parameter, those that hand on what they are given themselves
        included; nothing where nobody calls."""
        callers = self._callers(parameter)
        if len(callers) > MOST_CALLERS or len(below) > DEEPEST:
            return {False}
        told: set[bool] = set()
        for each in callers:
            for given in self._heard(each).brought.get(parameter, ()):
                if isinstance(given, bool):
                    told.add(given)
                elif self.is_for_samples(given[0], given[1].partition(".")[0]):
                    told.add(True)
                elif given not in (parameter, *below):
                    told |= self._given(given, (*below, parameter)) or {False}
        return told

    def _callers(self, parameter: Parameter) -> list[str]:
        """The files that name a function; of a method, its class, or the method itself unless many
        others are called so."""
        path, function, _ = parameter
        first, _, method = function.partition(".")
        found = self._naming(path, first, self._around.mentioning)
        named = self._naming(path, method, self._around.mentioning) if method else []
        return found if len(named) > MOST_CALLERS else list(dict.fromkeys((*found, *named)))

    def passes(self, parameter: Parameter) -> bool:
        """Whether another file has something to pass for a parameter of a class."""
        path, name, _ = parameter
        naming = self._naming(path, name, self._around.mentioning)
        heard = (self._heard(each) for each in naming[:MOST_CALLERS] if each != path)
        return len(naming) > MOST_CALLERS or any(parameter in each.passed for each in heard)

    def uses(self, path: str) -> Sequence[Use]:
        """What in a file may use an accelerator."""
        return self._heard(path).uses

    def spawned(self, path: str, functions: Iterable[str]) -> dict[str, bool]:
        """The functions of a file for which others start processes, and whether each is given the
        number of its process."""
        found: dict[str, bool] = {}
        for name in functions:
            naming = self._naming(path, name, self._around.mentioning)
            for each in self._readable(each for each in naming[:MOST_CALLERS] if each != path):
                found.update({name: each.starts[name]} if name in each.starts else {})
        return found

    def is_program(self, path: str) -> bool:
        """Whether no other file of the project imports a file."""
        return not self._naming(path, "", self._around.importing)

    def gives_host(self, path: str) -> bool:
        """Whether a file is a program that no other file imports, and runs on the host."""
        guest = self._follow(path)
        return guest is not None and gives_host(guest.text) and self.is_program(path)

    def shows_on_host(self, path: str) -> bool:
        """Whether what a file does where it is run only shows its classes, and on the host."""
        guest = self._follow(path)
        return guest is not None and shows_on_host(guest.text)

    def tries_its_own(self, path: str) -> bool:
        """Whether a file is a program that no other file imports, and that trains a model of its
        own, or tries it out: its modules are where it has them."""
        guest = self._follow(path)
        return guest is not None and tries_its_own(guest.text) and self.is_program(path)

    def runs_on_host(self, path: str) -> bool:
        """Whether a file never speaks of devices, and no other file imports it than programs that
        run on the host."""
        guest = self._follow(path)
        if guest is None or guest.text.speaks_of_devices:
            return False
        importing = self._naming(path, "", self._around.importing)
        few = 0 < len(importing) <= MOST_CALLERS
        return few and all(runs_on_host(each.text) for each in self._readable(importing))

    def importers_speak(self, path: str) -> bool:
        """Whether a file that seems to import another one, by way of others too, speaks of devices;
        also where these are too many, or one can't be read."""
        above = (None if each is None else self._follow(each) for each in self._importing(path))
        return any(each is None or each.text.speaks_of_devices for each in above)

    def says(self, path: str, words: Iterable[str]) -> bool:
        """Whether one of these words, by which a process chooses its device or how others start,
        stands in a file that another one imports, or in one that imports it, by way of others
        too."""
        for word in words:
            naming = self._naming(path, word, self._around.mentioning)
            if len(naming) > MOST_CALLERS:
                return True  # nobody knows which of them it is
            others = [each for each in naming if each != path]
            if any(self._imports(each, path) or self._imports(path, each) for each in others):
                return True
        return False

    def is_on_one_machine(self, path: str) -> bool:
        """Whether a file of the project says that all processes run on one machine."""
        naming = (self._naming(path, each, self._around.mentioning) for each in _OF_PROCESSES)
        files = {each for found in naming for each in found[:MOST_CALLERS]}
        modules = (each.text.module for each in self._readable(files))
        return any(is_on_one_machine(each.body, imported(each)) for each in modules)

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
        others = self._readable(each for each in naming[:MOST_CALLERS] if each != path)
        return any(name in each.samples for each in others)

    def gives_modules(self, path: str, attr: str) -> bool:
        """Whether a file of the project gives `nn.Module` an attribute of that name, or puts
        another class in its place."""
        files = self._naming(path, "Module", self._around.placing)[:MOST_CALLERS]
        done = {("nn.Module", True), (f"Module.{attr}", True)}
        return any(done & each.placed for each in self._readable(files))

    def may_bind(self, path: str, name: str) -> bool:
        """Whether a file of the project seems to bind an attribute of that name from outside of
        what has it: an object, or a module."""
        return bool(self._naming(path, name, self._around.placing))

    def may_give(self, path: str, class_name: str, attr: str) -> bool:
        """Whether a file of the project may give the objects of a class of a file an attribute of
        that name: it builds a class on theirs, or seems to bind one of whatever object."""
        files = self._naming(path, class_name, self._around.mentioning)
        binding = self._naming(path, attr, self._around.placing)
        if not files or max(len(files), len(binding)) > MOST_CALLERS:
            return True
        bound = {(attr, True), (attr, None)}
        if any(bound & each.placed for each in self._readable(binding)):
            return True
        bases = (bases_named(each.text.module.body) for each in self._readable(files))
        return any(class_name in each for each in bases)

    def places(self, path: str, attr: str, is_module: bool) -> bool:
        """Whether a file of the project binds an attribute of that name from outside of the object,
        or moves the module that it is."""
        files = self._naming(path, attr, self._around.placing)
        done = {(attr, True), (attr, False)} if is_module else {(attr, True)}
        many = len(files) > MOST_CALLERS
        return many or any(done & each.placed for each in self._readable(files))

    def stores(self, path: str, attr: str) -> bool:
        """As `places`, where it takes a file that is seen to do so: of many nothing is said."""
        files = self._naming(path, attr, self._around.placing)[:MOST_CALLERS]
        return any((attr, True) in each.placed for each in self._readable(files))

    def lends_device(self, path: str, method: str) -> bool:
        """Whether the files of the project that call a method by its name all lend it a default
        device."""
        files = self._naming(path, method, self._around.mentioning)[:MOST_CALLERS]
        told = [each.lent[method] for each in self._readable(files) if method in each.lent]
        return bool(told) and all(told)
