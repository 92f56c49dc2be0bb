"""Followed files: what their names stand for is found out as it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.values import DEFINED, NOTHING, Value
from devlint.flow.frames.changed import leave_changed
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import World
from devlint.flow.surroundings import Inquiry, Text, Watch
from devlint.flow.syntax.imports import imported
from devlint.flow.syntax.lookahead import Outline, outline
from devlint.flow.syntax.outside import Done, lent, placed
from devlint.flow.syntax.processes import spawned
from devlint.flow.syntax.samples import of_samples
from devlint.flow.syntax.walk import fills_others, names_in, statements_of
from devlint.model import ir


class Guest(dict[str, Value]):
    """The names of a followed file: what has to do with one is run when it is asked for."""

    def __init__(self, text: Text, world: World, watch: Watch, shared: dict[Ref, Object]) -> None:
        super().__init__()
        self.file = world.home
        self.file.guest = self
        self.heap: dict[Ref, Object] = {}
        self.added: dict[Ref, Object] = {}
        """What its statements have made of objects of other files, such as a registry."""
        self.stamps = watch.stamped((self.file.path,))
        """What it hangs on, as it was."""
        self.text = text
        self.told: dict[str, Any] = {}
        """What it tells of itself where it is linted, and what its calls bring and pass, once these
        were asked for."""
        self.inquiries: dict[str, Inquiry] = {}
        """How each of that was found out."""
        self._outline: Outline = outline(text.module)
        self._world = world
        self._watch = watch
        self._shared = shared
        self._inquiries: dict[int, Inquiry] = {}
        """By the places of the statements that have been run."""
        self._running: list[int] = []
        """The places of those that are running: each needs a name that the next has to do with."""

    @cached_property
    def placed(self) -> frozenset[Done]:
        """The attributes that the file binds or moves from outside of their objects."""
        return placed(self.text.module)

    @cached_property
    def lent(self) -> dict[str, bool]:
        """The methods that the file calls, and whether it lends them a default device."""
        return lent(self.text.module)

    @cached_property
    def starts(self) -> dict[str, bool]:
        """The functions for which the file starts processes, and whether each is given the number
        of its process."""
        return spawned(self.text.module.body, imported(self.text.module))

    @cached_property
    def samples(self) -> frozenset[str]:
        """What makes batches and changes samples, by what the file says of it."""
        return frozenset(of_samples(self.text.module.body))

    @cached_property
    def fills(self) -> bool:
        """Whether a function of the file puts something into what isn't its own, as one does that
        registers what it is given."""
        functions = (
            each for each in statements_of(self.text.module.body) if isinstance(each, ir.Function)
        )
        return any(map(fills_others, functions))

    @property
    def bound(self) -> frozenset[str]:
        """The names that the file itself binds."""
        return self._outline.binds

    def binds(self, name: str) -> bool:
        """Whether the file itself binds a name."""
        return name in self._outline.binds

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> Value:
        found: Value | None = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name at the end of the file; what a function of it binds anew through
        `global` may have any."""
        if name not in self._outline.binds:
            return default
        self._settle(name)
        found: Value | None = dict.get(self, name, default)
        stays = name not in self.file.rebound or (found is not None and found.kind in DEFINED)
        return found if stays else NOTHING

    def registers(self, names: frozenset[str]) -> None:
        """Run the functions and classes that decorators with one of these names are given, and the
        calls of such names: they may put something into objects of another file."""
        for place, statement in enumerate(self._outline.body):
            match statement:
                case ir.Function(decorators=given) | ir.Class(decorators=given):
                    used: Iterable[ir.Node] = given
                case ir.Evaluate(value=ir.Call() as call):
                    used = (call,)
                case _:
                    continue
            if not names.isdisjoint(chain(*map(names_in, used))):
                if place not in self._inquiries:
                    self._find_out(place, "")
                self._watch.rely_on(self._inquiries[place])

    def settle_stars(self) -> None:
        """Find out of which modules all names are imported."""
        if "*" in self._outline.binds:
            self._settle("*")

    def _settle(self, name: str, below: int | None = None) -> None:
        """Run what has to do with a name, or only what of it stands above a place. A statement may
        bind other names as well: what bound those above it comes first, as it does in the file.
        What stands below one that is running hasn't run yet."""
        running = self._running[-1] if self._running else None
        for place in self._outline.mentions[name]:
            if below is not None and place >= below:
                break
            if place not in self._inquiries:
                if running is not None and place > running:
                    continue
                self._find_out(place, name)
            self._watch.rely_on(self._inquiries[place])

    def _find_out(self, place: int, name: str) -> None:
        """Run a statement that has to do with a name."""
        with self._watch.inquiry() as inquiry:
            self._inquiries[place] = inquiry
            for other in self._outline.bound[place] - {name, "*"}:
                self._settle(other, place)
            self._running.append(place)
            try:
                self._run(place)
            finally:
                self._running.pop()
        self.stamps.update(self._watch.stamped(inquiry.consulted - self.stamps.keys()))

    def _run(self, place: int) -> None:
        names = self._outline.names[place]
        if self._outline.is_table(place):
            self.update(dict.fromkeys(names & self._outline.binds, NOTHING))
            return
        bound = {
            name: dict.__getitem__(self, name) for name in names if dict.__contains__(self, name)
        }
        state = State(bound, Heap({**self.heap, **self.added}))
        frame = Frame(self._world, self.file, state, of_role=self.file.role, recording=False)
        with self._watch.top_level():
            self._world.run(frame, (self._outline.body[place],))
        leave_changed(frame)
        for ref in frame.state.heap.written:
            is_own = ref in self.heap or ref not in self._shared
            (self.heap if is_own else self.added)[ref] = frame.state.heap[ref]
        self._shared.update(self.heap)
        self.update(frame.state.env)
