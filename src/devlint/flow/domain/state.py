"""What is known at one point of a program: names, objects, conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from types import MappingProxyType

from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Guarded, Known, given, rekeyed
from devlint.flow.domain.paths import Ref, identity
from devlint.flow.domain.settled import Conditions
from devlint.flow.domain.value_joins import join_held
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.model import ir


@dataclass(slots=True, unsafe_hash=True)
class Object:
    """Something with an identity: a module, a container, an instance. As a value, it never changes.

    `items` are the elements of a sequence where they are known one by one, `entries` those of a
    dict or the attributes of an instance, `element` the join of all others where `items` is None
    (a dict whose entries are all known has no items). `source` is the dotted name or the class
    that made it. `guarded`: its last move stands under an `if`.
    """

    device: Device = UNKNOWN
    items: tuple[Value, ...] | None = None
    entries: Mapping[str, Value] = field(default_factory=dict)
    element: Value = NOTHING
    source: object = None
    guarded: bool = False
    managed: bool = False
    stateless: bool = False
    """A module that holds no parameter and no buffer: it is nowhere, wherever it is moved."""
    gives_number: bool = False
    """A loss that gives one number, which has no dimensions."""
    unsure: frozenset[str] = frozenset()
    """Entries that only some of the paths have bound which lead here."""
    trace: Step | None = field(default=None, compare=False)

    def with_entry(self, key: str, value: Value) -> Object:
        """A copy in which one attribute or dict entry is bound."""
        return self.with_entries({key: value})

    def with_entries(self, given: Mapping[str, Value], unsure: Collection[str] = ()) -> Object:
        """A copy in which attributes or dict entries are bound. Where one is `unsure`, what stood
        there before may do so still."""
        kept = {name: value for name, value in self.entries.items() if name in unsure}
        bound = {
            name: join_held([kept[name], value]) if name in kept else value
            for name, value in given.items()
        }
        perhaps = self.unsure.difference(given) | {
            name for name in unsure if name not in kept or name in self.unsure
        }
        return replace(self, entries={**self.entries, **bound}, unsure=perhaps)

    def without(self, names: Collection[str]) -> Object:
        """A copy in which some attributes or dict entries aren't bound any more."""
        kept = {name: value for name, value in self.entries.items() if name not in names}
        return replace(self, entries=kept)

    @property
    def library_class(self) -> str:
        """The dotted name of the library's class that made it, or ""."""
        return self.source if isinstance(self.source, str) else ""

    @property
    def is_empty(self) -> bool:
        """Whether it is a container that holds nothing, for sure."""
        return self.items == () and not self.entries

    def mapped(self, change: Callable[[Value], Value]) -> Object:
        """A copy in which everything inside is what `change` makes of it; itself where that is
        what is there."""
        inside = self.inside
        changed = tuple(map(change, inside))
        if all(map(is_, changed, inside)):
            return self
        first = len(self.items or ())
        return replace(
            self,
            items=self.items and changed[:first],
            entries=dict(zip(self.entries, changed[first:-1], strict=True)),
            element=changed[-1],
        )

    def rekeyed(self, named: Callable[[str], str]) -> Object:
        """A copy in which each condition that a place hangs on goes by another key."""
        found = self.mapped(lambda value: value.rekeyed(named))
        return replace(found, device=rekeyed(self.device, named))

    @property
    def inside(self) -> tuple[Value, ...]:
        """Everything inside, last what stands for all that isn't known one by one."""
        return (*(self.items or ()), *self.entries.values(), self.element)

    @property
    def places(self) -> Iterator[Device]:
        """Where it is, and everything inside."""
        yield self.device
        yield from (each.device for each in self.inside)

    def others(self) -> Value:
        """The join of what is inside besides the entries."""
        return self.element if self.items is None else join_held(list(self.items))

    def elements(self) -> Value:
        """The join of everything inside."""
        return join_held(self.held())

    def held(self) -> list[Value]:
        """Everything inside that is known, one by one."""
        inside = [*(self.items or ()), *self.entries.values()]
        if self.items is None and self.element is not NOTHING:
            inside.append(self.element)
        return inside


class Heap(dict[Ref, Object]):
    """Objects by reference. `written` are the references bound since the frame began, in the order
    of that: where two paths meet again, the others can't differ."""

    __slots__ = ("written",)

    def __init__(self, objects: Mapping[Ref, Object], written: Iterable[Ref] = ()) -> None:
        super().__init__(objects)
        self.written = dict.fromkeys(written)

    def __setitem__(self, ref: Ref, found: Object) -> None:
        self.written[ref] = None
        super().__setitem__(ref, found)

    def fork(self) -> Heap:
        """A copy that can be changed alone."""
        return Heap(self, self.written)


WAITED = "waited"
MASKED = "waited for a mask"
Asked = Mapping[str, Value | None]
"""The names and paths that a test has asked about; what an attribute was, None for a name."""
ANOTHER = Value(Kind.UNKNOWN, data="bound anew")
"""Stands for a name that has been bound since."""
NO_COPIES: Mapping[Hashable, bool] = MappingProxyType({})
NO_TESTS: dict[ir.Expr, bool] = {}


class State:
    """The abstract state. Branches work on forks; nothing else shares one.

    `env` are names, `paths` what was written to attributes and items of values that aren't known
    (`args.device`), `heap` the objects, `known` the conditions that are settled, `asked` what those
    were asked of that a test has settled, as it was then, `parted` how the tests came out here that
    may come out otherwise the next time, `default` where tensors are made that nobody places,
    `copies` the copies to the host that were begun and not waited for, and whether they may still
    be under way, `busy` what an accelerator was given to do since the clock was read: None for
    nothing, `WAITED` where the program has waited since, `MASKED` where it has, and may go backward
    through what it has waited for.
    """

    __slots__ = (
        "alive", "asked", "busy", "copies", "default", "env", "heap", "known", "parted", "paths",
    )  # fmt: skip

    def __init__(
        self,
        env: dict[str, Value] | None = None,
        heap: Mapping[Ref, Object] | None = None,
        known: Mapping[str, bool] | Conditions | None = None,
        default: Device = CPU,
        paths: dict[str, Value] | None = None,
    ) -> None:
        self.env = {} if env is None else env
        self.heap = heap if isinstance(heap, Heap) else Heap(heap or {}, heap or ())
        self.known = known if isinstance(known, Conditions) else Conditions(known)
        self.asked: dict[str, Asked] = {}
        self.parted: dict[ir.Expr, bool] = NO_TESTS
        self.default = default
        self.paths = {} if paths is None else paths
        self.copies: Mapping[Hashable, bool] = NO_COPIES
        self.busy: Hashable = WAITED
        self.alive = True

    def fork(self) -> State:
        """A copy that can be changed alone."""
        other = State(self.env.copy(), self.heap.fork(), self.known.copy(), self.default)
        if self.paths:
            other.paths = self.paths.copy()
        if self.asked:
            other.asked = self.asked.copy()
        other.alive, other.parted = self.alive, self.parted
        other.copies, other.busy = self.copies, self.busy
        return other

    @property
    def besides(self) -> tuple[object, ...]:
        """What is known besides names, objects and conditions."""
        return self.default, self.paths, self.copies, self.busy

    def same_as(self, other: State) -> bool:
        """Whether nothing that matters differs."""
        return (
            self.env == other.env
            and all(
                self.heap.get(ref) == other.heap.get(ref)
                for ref in self.heap.written | other.heap.written
            )
            and self.besides == other.besides
        )

    def bind(self, name: str, value: Value, is_same: bool = False) -> None:
        """Bind a name; what was known of `name.attr` goes with the old value. `is_same`: it stands
        for what has gone by that name already."""
        self.env[name] = value
        if is_same:
            return
        self.answer_anew(name)
        if self.paths:
            below = (f"{name}.", f"{name}[")
            for path in [path for path in self.paths if path.startswith(below)]:
                del self.paths[path]

    def answer_anew(self, path: str) -> None:
        """What a test has settled of a name or an attribute says nothing of what it is now."""
        for key, parts in self.asked.items():
            if path in parts:
                self.asked[key] = {**parts, path: ANOTHER}

    def narrow(self, node: ir.Expr, value: Value) -> None:
        """What an expression names is found to be this value: it was so before."""
        if isinstance(node, ir.Name):
            self.env[node.id] = value
        elif path := identity(node):
            self.paths[path] = value

    def replace(self, was: Value, now: Value) -> None:
        """A value itself has changed: wherever it is held, under a name or in a container."""
        self.env |= {name: now for name, each in self.env.items() if each is was}
        for ref, found in self.heap.items():
            if any(each is was for each in found.inside):
                self.heap[ref] = found.mapped(lambda each: now if each is was else each)

    def wait(self) -> None:
        """Every copy that was begun has arrived, and all work is done."""
        self.busy = WAITED
        if self.copies:
            self.copies = dict.fromkeys(self.copies, False)

    def simplify(self, device: Device) -> Device:
        """The device under the conditions that hold here."""
        if isinstance(device, Known) or device is UNKNOWN:
            return device
        for key, holds in self.known.of_place(device):
            if holds or isinstance(device, Guarded):
                device = given(device, key, holds)
        return device
