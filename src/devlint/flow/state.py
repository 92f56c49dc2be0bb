"""What is known at one point of a program: names, objects, conditions; how two points join."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from devlint.flow.lattice import CPU, IS_NONE, UNKNOWN, Device, Symbol, choose, given, join
from devlint.flow.values import NONE, NOTHING, Kind, Origin, Trace, Value

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
class Object:
    """Something with an identity: a module, a container, an instance.

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
        return join_all(inside)


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


class State:
    """The abstract state. Branches work on forks; nothing else shares one.

    `env` are names, `paths` what was written to attributes and items of values that aren't known
    (`args.device`), `heap` the objects, `known` the conditions that are settled, `default` where
    tensors are made that nobody places.
    """

    __slots__ = ("alive", "default", "env", "heap", "known", "paths")

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
        self.alive = True

    def fork(self) -> State:
        """A copy that can be changed alone."""
        paths = dict(self.paths) if self.paths else None
        other = State(dict(self.env), self.heap.fork(), dict(self.known), self.default, paths)
        other.alive = self.alive
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


_PLACES = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)
_NAMED = (Kind.DEVICE, Kind.STRING)


def join_values(a: Value, b: Value, key: str | None = None) -> Value:
    """What is known of a value that is `a` on one path (where `key` holds) and `b` on the other."""
    if a is b or a == b:
        return a
    if a.kind is b.kind is Kind.NONE:
        return NONE
    if a.kind is Kind.NONE and b.kind is not Kind.UNKNOWN:
        return b
    if b.kind is Kind.NONE and a.kind is not Kind.UNKNOWN:
        return a
    kind = _join_kinds(a.kind, b.kind)
    if key is not None and key.endswith(IS_NONE) and a.kind in _PLACES:
        return _join_default(a, b, key)
    if kind is Kind.UNKNOWN:
        return _join_unproven(a, b)
    device = join(a.device, b.device) if key is None else choose(key, a.device, b.device)
    longer = a if a.trace is not None and a.origin is not Origin.DEFAULT else b
    return Value(
        kind=kind,
        device=device,
        data=a.data if a.data == b.data else None,
        origin=a.origin if a.origin is b.origin else Origin.MOVED,
        scalar=a.scalar if a.scalar == b.scalar else None,
        grad=a.grad or b.grad,
        note=_join_notes(a, b, kind),
        trace=longer.trace,
    )


def _join_default(a: Value, b: Value, key: str) -> Value:
    """`if mask is None: mask = torch.ones(n)`: the default `a` stands in for a tensor `b`."""
    if b.kind is Kind.UNKNOWN:
        path = b.data if isinstance(b.data, Path) and b.data.given else None
        place = UNKNOWN if path is None else Symbol(f"{path.text}.device", f"{path.text}.device")
        b = Value(Kind.TENSOR, place, origin=Origin.INPUT)
    if b.kind not in _PLACES:
        return NOTHING
    return a.but(
        device=choose(key, a.device, b.device),
        data=None,
        scalar=a.scalar if a.scalar == b.scalar or b.scalar is None else None,
        note=a.note if a.note in _REGISTERED else "",
    )


_REGISTERED = ("parameter", "buffer")


def _join_notes(a: Value, b: Value, kind: Kind) -> str:
    if a.note == b.note:
        return a.note
    if {a.note, b.note} == set(_REGISTERED):
        return "buffer"
    for one, other in ((a, b), (b, a)):  # what held its place before it was registered
        if one.note in _REGISTERED and other.device == UNKNOWN:
            return one.note
    return "choice" if kind in _NAMED else ""


def _join_unproven(a: Value, b: Value) -> Value:
    """Two values of which at least one isn't proved: an identity survives where both share it."""
    if isinstance(a.data, Path) and a.data == b.data:
        return Value(Kind.UNKNOWN, data=a.data)
    return NOTHING


def _join_kinds(a: Kind, b: Kind) -> Kind:
    if a is b:
        return a
    if a in _PLACES and b in _PLACES:
        return Kind.PLACED if Kind.PLACED in (a, b) else Kind.BATCH
    if a in _NAMED and b in _NAMED:
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


def join_objects(a: Object, b: Object, key: str | None = None) -> Object:
    """What is known of an object after two paths."""
    if a is b or a == b:
        return a
    names = {**a.entries, **b.entries}
    entries = {
        name: join_values(_entry(a, name, value), _entry(b, name, value), key)
        for name, value in names.items()
    }
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join_values(x, y, key) for x, y in zip(a.items, b.items, strict=True))
    moved = a.device != b.device
    return Object(
        device=choose(key, a.device, b.device) if key else join(a.device, b.device),
        items=items,
        entries=entries,
        element=_join_elements(a, b, items),
        source=a.source if a.source == b.source else None,
        guarded=a.guarded or b.guarded or (moved and key is not None),
        managed=a.managed or b.managed,
        stateless=a.stateless and b.stateless,
        trace=b.trace if a.trace is None else a.trace,
    )


def _entry(found: Object, name: str, other: Value) -> Value:
    """An entry; where it isn't known one by one, what may stand there; else the other side's."""
    opened = found.items is None and found.element is not NOTHING
    return found.entries.get(name, found.element if opened else other)


def _join_elements(a: Object, b: Object, items: tuple[Value, ...] | None) -> Value:
    if items is not None:
        return join_values(a.element, b.element)
    present = [o.elements() for o in (a, b) if o.items != ()]
    return join_all(present)


def join_states(a: State, b: State, key: str | None = None) -> State:
    """The state after two paths meet; `key` is the condition that holds on the path of `a`."""
    if not a.alive:
        return b
    if not b.alive:
        return a
    joined = State(default=join(a.default, b.default))
    joined.heap = a.heap.fork()
    for ref in a.heap.written | b.heap.written:
        ours, theirs = a.heap.get(ref), b.heap.get(ref)
        if ours is not theirs and theirs is not None:
            joined.heap[ref] = theirs if ours is None else join_objects(ours, theirs, key)
    env = dict(a.env)
    for name, other in b.env.items():
        mine = a.env.get(name)
        if mine is None:
            env[name] = other
        elif mine is not other:
            env[name] = _join_bindings(joined, mine, other, key)
    joined.env = env
    if a.paths or b.paths:
        joined.paths = {
            path: join_values(value, b.paths[path], key)
            for path, value in a.paths.items()
            if path in b.paths
        }
    joined.known = {k: v for k, v in a.known.items() if b.known.get(k) is v}
    return joined


def widened(before: State, after: State) -> State:
    """What is known of a loop that doesn't settle: what its rounds agree on."""
    wide = after.fork()
    wide.env = {
        name: value if before.env.get(name, value) == value else NOTHING
        for name, value in after.env.items()
    }
    for ref in after.heap.written:
        found = after.heap[ref]
        if before.heap.get(ref, found) != found:
            wide.heap[ref] = Object(source=found.source)
    return wide


def _join_bindings(state: State, a: Value, b: Value, key: str | None) -> Value:
    """As `join_values`, and where both are objects of one kind, the join is a new object."""
    if a.kind is b.kind and a.data != b.data:
        mine, theirs = state.heap.get(a.data), state.heap.get(b.data)
        if mine is not None and theirs is not None:
            ref = _both(a.data) | _both(b.data)
            state.heap[ref] = join_objects(mine, theirs, key)
            return a.but(data=ref)
    guarded = key is not None and not key.endswith(IS_NONE)
    if guarded and a.kind in _PLACES and b.kind in _PLACES and a.device != b.device:
        return join_values(a, b, key).but(note="guarded")
    return join_values(a, b, key)


def _both(ref: object) -> frozenset[object]:
    return ref if isinstance(ref, frozenset) else frozenset((ref,))
