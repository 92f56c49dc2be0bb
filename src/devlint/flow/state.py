"""What is known at one point of a program: names, objects, conditions; how two values join."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from devlint.flow.lattice import (
    CPU,
    UNKNOWN,
    Device,
    Symbol,
    asks_type,
    choose,
    given,
    join,
    only_host,
    stands_in,
)
from devlint.flow.mixtures import mix
from devlint.flow.values import (
    CHOICE,
    EITHER_CHOICE,
    NONE,
    NOTHING,
    TENSORS,
    Condition,
    Kind,
    Origin,
    Trace,
    Value,
)

Ref = Hashable
"""Where an object was allocated: the node that made it and the calls that led there."""


@dataclass(frozen=True, slots=True)
class Path:
    """The identity of a value that isn't known: a parameter, `args.device`, `cfg["device"]`.

    `given`: it came in through a parameter, so a caller may have put it on any device. What a
    function got elsewhere may never leave the host: nothing is said of where that is.
    """

    text: str
    given: bool = False


@dataclass(frozen=True, slots=True)
class Remembered(Path):
    """A device that a module stored when it was made: `owner` is its class and the attribute.
    `moves`: a move to it is one, also where the constructor was given no device."""

    owner: object = None
    moves: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """Marks a tensor as a parameter of the module at `ref`."""

    ref: Ref


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
    trace: Trace | None = field(default=None, compare=False)

    def with_entry(self, key: str, value: Value) -> Object:
        """A copy in which one attribute or dict entry is bound."""
        return replace(self, entries={**self.entries, key: value})

    def elements(self) -> Value:
        """The join of everything inside."""
        inside = list(self.items or ()) + list(self.entries.values())
        if self.items is None and self.element is not NOTHING:
            inside.append(self.element)
        return join_held(inside)


class Heap(dict[Ref, Object]):
    """Objects by reference. `written` are the references bound since the frame began: where two
    paths meet again, the others can't differ."""

    __slots__ = ("written",)

    def __init__(self, objects: Mapping[Ref, Object], written: Iterable[Ref] = ()) -> None:
        super().__init__(objects)
        self.written = set(written)

    def __setitem__(self, ref: Ref, found: Object) -> None:
        self.written.add(ref)
        super().__setitem__(ref, found)

    def fork(self) -> Heap:
        """A copy that can be changed alone."""
        return Heap(self, self.written)


WAITED = "waited"
NO_COPIES: Mapping[Hashable, bool] = MappingProxyType({})


class State:
    """The abstract state. Branches work on forks; nothing else shares one.

    `env` are names, `paths` what was written to attributes and items of values that aren't known
    (`args.device`), `heap` the objects, `known` the conditions that are settled, `default` where
    tensors are made that nobody places, `copies` the copies to the host that were begun and not
    waited for, and whether they may still be under way, `busy` what an accelerator was given to do
    since the clock was read: None for nothing, `WAITED` where the program has waited since.
    """

    __slots__ = ("alive", "busy", "copies", "default", "env", "heap", "known", "paths")

    def __init__(
        self,
        env: dict[str, Value] | None = None,
        heap: Mapping[Ref, Object] | None = None,
        known: dict[str, bool] | None = None,
        default: Device = CPU,
        paths: dict[str, Value] | None = None,
    ) -> None:
        self.env = {} if env is None else env
        self.heap = heap if isinstance(heap, Heap) else Heap(heap or {}, heap or ())
        self.known = {} if known is None else known
        self.default = default
        self.paths = {} if paths is None else paths
        self.copies: Mapping[Hashable, bool] = NO_COPIES
        self.busy: Hashable = WAITED
        self.alive = True

    def fork(self) -> State:
        """A copy that can be changed alone."""
        paths = dict(self.paths) if self.paths else None
        other = State(dict(self.env), self.heap.fork(), dict(self.known), self.default, paths)
        other.alive = self.alive
        other.copies, other.busy = self.copies, self.busy
        return other

    def same_as(self, other: State) -> bool:
        """Whether nothing that matters differs."""
        return (
            self.env == other.env
            and all(
                self.heap.get(ref) == other.heap.get(ref)
                for ref in self.heap.written | other.heap.written
            )
            and self.default == other.default
            and self.paths == other.paths
            and self.copies == other.copies
            and self.busy == other.busy
        )

    def bind(self, name: str, value: Value) -> None:
        """Bind a name; what was known of `name.attr` goes with the old value."""
        self.env[name] = value
        if self.paths:
            below = (f"{name}.", f"{name}[")
            for path in [path for path in self.paths if path.startswith(below)]:
                del self.paths[path]

    def simplify(self, device: Device) -> Device:
        """The device under the conditions that hold here."""
        for key, holds in self.known.items():
            device = given(device, key, holds)
        return device


MADE = (Origin.DEFAULT, Origin.HOST_DATA)
"""The origins of what was made on its own, not moved."""
NAMED = (Kind.DEVICE, Kind.STRING)
"""The kinds that name a device."""


def join_values(a: Value, b: Value, key: str | None = None) -> Value:
    """What is known of a value that is `a` on one path (where `key` holds) and `b` on the other."""
    if a is b or a == b:
        return a
    if key is not None and asks_type(key) and a.origin not in MADE:
        key = None  # what isn't made of something else than a tensor may be that
    if a.kind is b.kind is Kind.NONE:
        return NONE
    if a.kind is Kind.NONE and b.kind is not Kind.UNKNOWN:
        return _or_none(b)
    if b.kind is Kind.NONE and a.kind is not Kind.UNKNOWN:
        return _or_none(a)
    kind = _join_kinds(a.kind, b.kind)
    if key is not None and kind is Kind.BOOL and isinstance(a.data, bool):
        return Value(kind, data=_condition(a, b, key))
    if key is not None and stands_in(key) and a.kind in TENSORS:
        return _join_default(a, b, key)
    if kind is Kind.UNKNOWN:
        return _join_unproven(a, b)
    device = join(a.device, b.device) if key is None else choose(key, *_bound(a, b))
    longer = a if a.trace is not None and a.origin is not Origin.DEFAULT else b
    return Value(
        kind=kind,
        device=device,
        data=_join_references(a, b, kind),
        origin=a.origin if a.origin is b.origin else Origin.MOVED,
        scalar=a.scalar if a.scalar == b.scalar else None,
        grad=a.grad or b.grad,
        note=_join_notes(a, b, kind),
        trace=longer.trace,
    )


def _or_none(value: Value) -> Value:
    """What may be left out: an index of a device then isn't taken of any tensor."""
    return value.but(note="") if value.note == "get_device" else value


def _bound(a: Value, b: Value) -> tuple[Device, Device]:
    """Where two values are; UNKNOWN of the one that may be a 0-dimensional tensor on the host,
    which may meet any device, unless the other one is what a move made of it."""
    if a.kind not in TENSORS or b.kind not in TENSORS:
        return a.device, b.device
    yes = UNKNOWN if _is_free(a) and not _came_from(b, a) else a.device
    return yes, UNKNOWN if _is_free(b) and not _came_from(a, b) else b.device


def _is_free(value: Value) -> bool:
    host = only_host(value.device) and value.scalar is not False
    return host and (value.scalar is True or value.origin not in _SHAPED)


_SHAPED = (Origin.LOADED, Origin.ENCODED)


def _came_from(moved: Value, value: Value) -> bool:
    link = moved.trace
    while link is not None and link is not value.trace:
        link = link.before
    return link is not None


def _condition(a: Value, b: Value, key: str) -> Condition | None:
    """`cuda = True` where a condition holds, else `False`: the condition by another name."""
    if a.data is b.data or not isinstance(b.data, bool):
        return None
    where_true, where_false = ((key, a.data is holds) for holds in (True, False))
    return Condition(where_true, (where_true,), (where_false,))


def _join_references(a: Value, b: Value, kind: Kind) -> object:
    """One of several modules: whatever is done to it is done to each."""
    if kind is Kind.MODULE and a.data != b.data and a.data is not None and b.data is not None:
        return both(a.data) | both(b.data)
    return a.data if a.data == b.data else None


def _join_default(a: Value, b: Value, key: str) -> Value:
    """`if mask is None: mask = torch.ones(n)`: the default `a` stands in for a tensor `b`."""
    if b.kind is Kind.UNKNOWN:
        path = b.data if isinstance(b.data, Path) and b.data.given else None
        place = UNKNOWN if path is None else Symbol(f"{path.text}.device", f"{path.text}.device")
        b = Value(Kind.TENSOR, place, origin=Origin.INPUT)
    if b.kind not in TENSORS:
        return NOTHING
    return a.but(
        device=choose(key, *_bound(a, b)),
        data=None,
        scalar=a.scalar if a.scalar == b.scalar or b.scalar is None else None,
        note=a.note if a.note in REGISTERED else "",
    )


REGISTERED = ("parameter", "buffer")
"""The notes of tensors that a module holds and takes along."""


def _join_notes(a: Value, b: Value, kind: Kind) -> str:
    if a.note == b.note:
        return a.note
    if {a.note, b.note} == set(REGISTERED):
        return "buffer"
    for one, other in ((a, b), (b, a)):  # what held its place before it was registered
        if one.note in REGISTERED and other.device == UNKNOWN:
            return one.note
    if kind not in NAMED:
        return ""
    either = a.kind is not b.kind or EITHER_CHOICE in (a.note, b.note)
    return EITHER_CHOICE if either else CHOICE


def _join_unproven(a: Value, b: Value) -> Value:
    """Two values of which at least one isn't proved: an identity survives where both share it."""
    if isinstance(a.data, Path) and a.data == b.data:
        return Value(Kind.UNKNOWN, data=a.data)
    return NOTHING


def _join_kinds(a: Kind, b: Kind) -> Kind:
    if a is b:
        return a
    if a in TENSORS and b in TENSORS:
        return Kind.PLACED if Kind.PLACED in (a, b) else Kind.BATCH
    if a in NAMED and b in NAMED:
        return Kind.DEVICE
    return Kind.UNKNOWN


def join_all(values: list[Value]) -> Value:
    """The join of any number of values; NOTHING of none."""
    if not values:
        return NOTHING
    joined = values[0]
    for value in values[1:]:
        joined = join_values(joined, value)
    return joined


def join_held(values: list[Value]) -> Value:
    """What a list holds of which these are elements, all of them; NOTHING of none."""
    if not values:
        return NOTHING
    joined = values[0]
    for value in values[1:]:
        joined = mix(joined, value) or join_values(joined, value)
    return joined


def both(ref: object) -> frozenset[object]:
    """The references that a reference stands for."""
    return ref if isinstance(ref, frozenset) else frozenset((ref,))
