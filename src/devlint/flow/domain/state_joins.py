"""Where two paths meet: what of their names, objects and conditions is known after both."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from devlint.flow.domain.derivation import shown
from devlint.flow.domain.keys import asks_type, stands_in
from devlint.flow.domain.lattice import CPU, UNKNOWN, Guarded, Symbol, choose, join
from devlint.flow.domain.mixtures import mix
from devlint.flow.domain.parting import path_words
from devlint.flow.domain.paths import Path, Ref
from devlint.flow.domain.state import ANOTHER, MASKED, WAITED, Asked, Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import (
    both,
    is_read,
    join_apart,
    join_held,
    join_kept,
    join_placed,
    join_unlike,
    join_values,
)
from devlint.flow.domain.values import MADE, NAMED, NOTHING, TENSORS, Kind, Value, in_place_of
from devlint.model import ir
from devlint.policy import means


def join_objects(a: Object, b: Object, key: str | None = None, free: str | None = None) -> Object:
    """What is known of an object after two paths; `free` is what `path_words` gives."""
    if a is b or a == b:
        return a
    names = {**a.entries, **b.entries}
    join_entry = join_values if a.source is None or isinstance(a.source, str) else join_kept

    entries = dict[str, Value]()
    for name, value in names.items():
        pair = _entry(a, name, value), _entry(b, name, value)
        apart = join_apart(*pair, free) if any(map(is_read, pair)) else None
        entries[name] = apart or join_entry(*pair, key)
    items = None
    same = a.entries.keys() == b.entries.keys()  # else a dict may lack what one of them has
    if same and a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(join_values(x, y, key) for x, y in zip(a.items, b.items, strict=True))
    device = choose(key, a.device, b.device) if key else join(a.device, b.device)
    # Of two that are each on one path alone, either is where the other one is. A condition that
    # chooses the class chooses no place.
    moved = a.device != b.device and isinstance(device, Guarded) and a.source == b.source
    return Object(
        device=device,
        items=items,
        entries=entries,
        element=_join_elements(a, b, items, key, free),
        source=a.source if a.source == b.source else None,
        guarded=a.guarded or b.guarded or (moved and key is not None),
        managed=a.managed or b.managed,
        stateless=a.stateless and b.stateless,
        gives_number=a.gives_number and b.gives_number,
        unsure=a.unsure.union(b.unsure, a.entries.keys() ^ b.entries.keys()),
        trace=b.trace or a.trace if shown(a.trace) is None else a.trace,
    )


def _entry(found: Object, name: str, other: Value) -> Value:
    """An entry; where it isn't known one by one, what may stand there; else the other side's."""
    if name in found.entries:
        return found.entries[name]
    if found.items is None and found.element is not NOTHING:
        return found.element
    opened = found.items is None and found.source is None
    return found.elements() if opened else other  # most likely it is what the others are


def _join_elements(
    a: Object,
    b: Object,
    items: tuple[Value, ...] | None,
    key: str | None,
    free: str | None,
) -> Value:
    if items is not None:
        return join_values(a.element, b.element)
    present = [o.others() for o in (a, b) if o.items != ()]
    if key is not None and len(present) == 2:
        return join_values(present[0], present[1], key)
    read = len(present) == 2 and any(map(is_read, present))
    apart = join_apart(present[0], present[1], free) if read else None
    return apart or join_held(present)


def join_states(a: State, b: State, key: str | None = None, test: ir.Expr | None = None) -> State:
    """The state after two paths meet; `key` is the condition that holds on the path of `a`, `test`
    one that may change between two looks at it."""
    if not a.alive:
        return b
    if not b.alive:
        return a
    joined = State(default=join(a.default, b.default))
    held = None if key is not None and asks_type(key) else key
    free = path_words(key, test)
    joined.heap = a.heap.fork()
    differing: list[tuple[Ref, Object, Object]] = []
    ours_of, theirs_of = a.heap.get, b.heap.get
    written = a.heap.written | b.heap.written
    for ref in [ref for ref in written if ours_of(ref) is not theirs_of(ref)]:
        ours, theirs = ours_of(ref), theirs_of(ref)
        if theirs is not None:
            joined.heap[ref] = theirs if ours is None else join_objects(ours, theirs, held, free)
            if ours is not None:
                differing.append((ref, ours, theirs))
        if held is not None and (ours is None or theirs is None) and not stands_in(held):
            joined.heap[ref] = _only_where(joined.heap[ref], held, theirs is None)
    for ref, ours, theirs in differing:
        joined.heap[ref] = _with_joined_objects(joined, ref, (ours, a), (theirs, b), held, free)
    env, mine_of = dict(a.env), a.env.get
    for name, other in [each for each in b.env.items() if mine_of(each[0]) is not each[1]]:
        mine = mine_of(name)
        if mine is None:
            env[name] = other
        else:
            mine, other = _as_found_out(a, mine), _as_found_out(b, other)
            module = _join_module(joined, (mine, a), (other, b), free)
            env[name] = module or _join_bindings(joined, mine, other, key, free)
            if env[name].device == UNKNOWN and env[name].kind in _UNPROVEN:
                if means("about-devices", name, "variable"):
                    env[name] = _join_places(name, mine, other, env[name])
    joined.env = env
    if a.paths or b.paths:
        joined.paths = {
            path: join_values(value, b.paths[path], held)
            for path, value in a.paths.items()
            if path in b.paths
        }
    joined.known = a.known.common(b.known)
    if a.parted or b.parted:
        joined.parted = dict(a.parted.items() & b.parted.items())
    joined.asked = _join_asked(joined.known.names(), a.asked, b.asked)
    joined.copies = _join_copies(a.copies, b.copies)
    joined.busy = _join_work(a.busy, b.busy)
    return joined


def _as_found_out(state: State, value: Value) -> Value:
    """A value with what its path has found out of the place that only a run can tell."""
    if value.kind is not Kind.TENSOR or not isinstance(value.device, Symbol):
        return value
    return value.but(device=CPU) if state.simplify(value.device) == CPU else value


def _join_work(a: Hashable, b: Hashable) -> Hashable:
    """What may still be done; who may have waited is taken to have."""
    if a is b:
        return a
    waited = next((each for each in (WAITED, MASKED) if each in (a, b)), None)
    return waited or (b if a is None else a)


def _only_where(found: Object, key: str, holds: bool) -> Object:
    """What is there only where a condition holds, or only where it doesn't."""
    yes, no = (found.device, UNKNOWN) if holds else (UNKNOWN, found.device)
    return replace(found, device=choose(key, yes, no))


def _join_places(name: str, a: Value, b: Value, joined: Value) -> Value:
    """A name that stands for one device on one path and for another on the other names a place
    still: its own."""
    if joined.data is not None or not (_names_place(a) and _names_place(b)):
        return joined
    if joined.kind in NAMED:
        return joined.but(device=Symbol(name, name))
    return Value(Kind.UNKNOWN, data=Path(name))


_UNPROVEN = (Kind.UNKNOWN, Kind.DEVICE, Kind.STRING)


def _names_place(value: Value) -> bool:
    if value.kind in NAMED:
        return value.device != UNKNOWN
    return value.kind is Kind.UNKNOWN and isinstance(value.data, Path)


def _join_asked(
    known: Container[str], a: Mapping[str, Asked], b: Mapping[str, Asked]
) -> dict[str, Asked]:
    """Of what the known conditions were asked on both paths; what one of these has bound since has
    changed."""
    joined: dict[str, Asked] = {}
    for key in filter(known.__contains__, {**a, **b} if a or b else ()):
        ours, theirs = a.get(key), b.get(key)
        if ours is None or theirs is None or ours == theirs:
            if found := ours or theirs:
                joined[key] = found
        else:
            differ = [path for path in theirs if ours.get(path) is not theirs[path]]
            joined[key] = {**ours, **dict.fromkeys(differ, ANOTHER)}
    return joined


def _join_copies(a: Mapping[Hashable, bool], b: Mapping[Hashable, bool]) -> Mapping[Hashable, bool]:
    """A copy is under way where no path on which it was begun has waited for it."""
    if a is b or not b:
        return a
    return {call: a.get(call, True) and b.get(call, True) for call in {**a, **b}}


def _with_joined_objects(
    state: State,
    ref: Ref,
    a: tuple[Object, State],
    b: tuple[Object, State],
    key: str | None,
    free: str | None,
) -> Object:
    """The joined object at `ref`; attributes that are objects of one kind on both paths are joined
    as objects, too, and so are those that are modules on one."""
    found = state.heap[ref]
    for name, ours in a[0].entries.items():
        theirs = b[0].entries.get(name)
        if theirs is None or ours.data == theirs.data:
            continue
        joined = _join_module(state, (ours, a[1]), (theirs, b[1]), free)
        if joined is None and ours.kind is theirs.kind:
            joined = _join_bindings(state, ours, theirs, key, free)
        if joined is not None and joined.data is not None:
            found = replace(found, entries={**found.entries, name: joined})
    return _with_joined_element(state, found, a[0], b[0], (key, free), frozenset((ref,)))


def _join_module(
    state: State, a: tuple[Value, State], b: tuple[Value, State], free: str | None
) -> Value | None:
    """A module that one path has made, where nothing is seen of what the other one has, but for
    where that may have been moved: it is the module, and where that is on its own path."""
    if free is None:
        return None
    for (one, here), (other, there), holds in ((a, b, True), (b, a, False)):
        found = state.heap.get(one.data) if one.kind is Kind.MODULE else None
        made = found is not None and one.data in here.heap and one.data not in there.heap
        if found is not None and made and other.kind in _UNSEEN and other.trait in _NOT_SEEN:
            places = here.heap[one.data].device, other.device
            device = choose(free, *(places if holds else reversed(places)))
            state.heap[one.data] = replace(found, device=device)
            return one
    return None


_UNSEEN = (Kind.UNKNOWN, Kind.PLACED)
_NOT_SEEN = (None, Trait.LOADED, Trait.IF_MODULE)


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


End = tuple[Value, State]
"""What a path gives, and the state that it leaves."""


def join_ends(a: End, b: End, key: str | None = None, test: ir.Expr | None = None) -> End:
    """What one of two paths gives: of containers on both, what is known of each."""
    state, free = join_states(a[1], b[1], key, test), path_words(key, test)
    if test is not None or (a[0].kind is b[0].kind and a[0].kind.is_container):
        return _join_bindings(state, a[0], b[0], key, free), state
    return join_unlike(a[0], b[0], key, free), state


def _join_bindings(
    state: State,
    a: Value,
    b: Value,
    key: str | None,
    free: str | None,
    around: frozenset[Ref] = frozenset(),
) -> Value:
    """As `join_values`, and where both are objects of one kind, the join is a new object. `around`
    are the joined objects that these two are elements of: containers may hold themselves."""
    if key is not None and asks_type(key) and a.origin not in MADE:
        key = None
    if a.kind is b.kind and a.data != b.data:
        mine, theirs = state.heap.get(a.data), state.heap.get(b.data)
        if mine is not None and theirs is not None:
            ref = both(a.data) | both(b.data)
            if ref in around:
                return a.but(data=ref)
            found, around = join_objects(mine, theirs, key, free), around | {ref}
            found = _with_joined_element(state, found, mine, theirs, (key, free), around)
            state.heap[ref] = found
            return a.but(data=ref)
    a, b = in_place_of(b, a), in_place_of(a, b)
    if a.kind in TENSORS and b.kind in TENSORS and a.device != b.device:
        return join_placed(a, b, key, free)
    return join_unlike(a, b, key, free)


def _with_joined_element(
    state: State,
    found: Object,
    a: Object,
    b: Object,
    keys: tuple[str | None, str | None],
    around: frozenset[Ref],
) -> Object:
    """The joined object; what its elements are is joined, too. One that holds nothing holds nothing
    that may be elsewhere."""
    if found.items is not None or found.element.kind not in _HELD or a.is_empty or b.is_empty:
        return found
    elements = gathered(state, a.held()), gathered(state, b.held())
    return replace(found, element=_join_bindings(state, *elements, *keys, around))


_HELD = (Kind.MODULE, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.INSTANCE)


def gathered(state: State, values: Sequence[Value]) -> Value:
    """What a container holds of which these are elements, all of them; NOTHING of none."""
    return reduce(lambda a, b: mix(a, b) or either(state, a, b), values) if values else NOTHING


def either(state: State, a: Value, b: Value) -> Value:
    """One of two things: of containers, what is known of each."""
    if a.kind is b.kind and a.kind.is_container and a.data != b.data:
        return _join_bindings(state, a, b, None, None)
    return join_values(a, b)


def united(base: Object, other: Object) -> Object:
    """A container with what further code has put into a copy of it."""
    items, element = None, NOTHING
    if base.items is not None and other.items is not None:
        items = (*base.items, *other.items[len(base.items) :])
    else:
        element = join_held([each.others() for each in (base, other) if each.items != ()])
    return replace(base, items=items, entries={**other.entries, **base.entries}, element=element)
