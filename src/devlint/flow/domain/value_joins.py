"""What is known of a value that is one thing on one path and another on the other."""

from __future__ import annotations

from functools import reduce

from devlint.flow.domain.derivation import Sort, Step, shown, steps
from devlint.flow.domain.keys import (
    IS_NONE,
    OF_PROCESSES,
    Settled,
    asks_type,
    is_about_devices,
    stands_in,
)
from devlint.flow.domain.lattice import (
    CPU,
    UNKNOWN,
    Device,
    choose,
    is_place_of_argument,
    join,
    may_be_accelerator,
    may_be_host,
    only_host,
)
from devlint.flow.domain.mixtures import mix
from devlint.flow.domain.paths import Path, as_device, place_of_path
from devlint.flow.domain.traits import REGISTERED, Fixed, Trait
from devlint.flow.domain.values import (
    MADE,
    MOST_OPTIONS,
    NAMED,
    NONE,
    NOTHING,
    READ_BACK,
    SHAPED,
    TENSORS,
    Batch,
    Condition,
    Kind,
    OneOf,
    Origin,
    Value,
    is_fresh,
)


def join_values(a: Value, b: Value, key: str | None = None) -> Value:
    """What is known of a value that is `a` on one path (where `key` holds) and `b` on the other."""
    if a is b or a == b:
        return a
    if key is not None and asks_type(key) and a.origin not in MADE:
        key = None  # what isn't made of something else than a tensor may be that
    if a.kind is b.kind is Kind.NONE:
        return NONE
    if a.kind is Kind.NONE and b.kind is not Kind.UNKNOWN:
        return _or_none(b, key, UNKNOWN, b.device)
    if b.kind is Kind.NONE and a.kind is not Kind.UNKNOWN:
        return _or_none(a, key, a.device, UNKNOWN)
    kind = _join_kinds(a.kind, b.kind)
    if key is not None and kind is Kind.BOOL and isinstance(a.data, bool):
        return Value(kind, data=_condition(a, b, key))
    tensors = a.kind in TENSORS and b.kind in (Kind.UNKNOWN, *TENSORS)
    if tensors and key is not None and stands_in(key):
        return _join_default(a, b, key)
    if kind is Kind.UNKNOWN:
        return _join_unproven(a, b, key)
    device = join(a.device, b.device) if key is None else choose(key, *_bound(a, b))
    told = (a if shown(a.trace) is not None and a.origin is not Origin.DEFAULT else b).trace
    trait = _join_traits(a, b, kind)
    if kind is Kind.NUMBER and trait is None:
        told = None  # it may as well be any other number
    told = told and Step(Sort.OPAQUE if key is None else Sort.JOIN, told.node, told)
    return Value(
        kind=kind,
        device=device,
        data=_join_references(a, b, kind, key),
        origin=_join_origins(a.origin, b.origin),
        scalar=a.scalar if a.scalar == b.scalar else None,
        grad=a.grad or b.grad,
        trait=trait,
        trace=told,
    )


def _join_origins(a: Origin, b: Origin) -> Origin:
    """What was made on its own on both paths is that still, in one way or in the other."""
    if a is b:
        return a
    return Origin.HOST_DATA if a in MADE and b in MADE else Origin.MOVED


def _or_none(value: Value, key: str | None, yes: Device, no: Device) -> Value:
    """What may be left out: it is at its place on one path only, `yes` or `no`. An index of a
    device isn't taken of any tensor then. A tensor that an argument is needed for is there if that
    is, which tells nothing of places."""
    if value.trait is Trait.INDEX_OF_TENSOR:
        value = value.but(trait=None)
    if key is None or (value.kind is not Kind.DEVICE and stands_in(key)):
        return value
    device = choose(key, yes, no)
    return value if device == UNKNOWN else value.but(device=device)


def _bound(a: Value, b: Value) -> tuple[Device, Device]:
    """Where two values are; UNKNOWN of the one that may be a 0-dimensional tensor on the host,
    which may meet any device, unless the other one is what a move made of it, or has no dimension
    either; and of a parameter or a buffer beside a plain tensor, for its module takes it along."""
    if a.kind not in TENSORS or b.kind not in TENSORS:
        return a.device, b.device
    if (a.trait in REGISTERED) is not (b.trait in REGISTERED):
        return (UNKNOWN, b.device) if a.trait in REGISTERED else (a.device, UNKNOWN)
    if a.scalar is b.scalar is True:
        return a.device, b.device
    yes = UNKNOWN if _is_free(a) and not _came_from(b, a) else a.device
    return yes, UNKNOWN if _is_free(b) and not _came_from(a, b) else b.device


def _is_free(value: Value) -> bool:
    host = only_host(value.device) and value.scalar is not False
    return host and (value.scalar is True or value.origin not in SHAPED)


def _came_from(moved: Value, value: Value) -> bool:
    return shown(value.trace) in steps(moved.trace)


def _condition(a: Value, b: Value, key: str) -> Condition | None:
    """`cuda = True` where a condition holds, else `False`: the condition by another name."""
    if a.data is b.data or not isinstance(b.data, bool):
        return None
    where_true, where_false = ((key, a.data is holds) for holds in (True, False))
    return Condition(where_true, (where_true,), (where_false,))


def _join_references(a: Value, b: Value, kind: Kind, key: str | None) -> object:
    """One of several objects: whatever is done to it is done to each. So it is with batches, and
    with functions and classes, of which each may be called."""
    if a.batch is not None and b.batch is not None:
        return Batch(a.batch.refs | b.batch.refs)
    if a.data == b.data or a.data is None or b.data is None:
        return a.data if a.data == b.data else None
    if kind in (Kind.MODULE, Kind.INSTANCE):
        return both(a.data) | both(b.data)
    return _one_of(a.data, b.data, key) if kind in _CALLED else None


_CALLED = (Kind.FUNCTION, Kind.LIBRARY, Kind.CLASS)


def _one_of(a: object, b: object, key: str | None) -> object:
    """What is called where `key` holds, and what is called where it doesn't."""
    found: list[tuple[object, Settled]] = []
    for data, holds in ((a, True), (b, False)):
        condition = () if key is None else ((key, holds),)
        for each, settled in data.options if isinstance(data, OneOf) else ((data, ()),):
            if (option := (each, (*settled, *condition))) not in found:
                found.append(option)
    return OneOf(tuple(found)) if len(found) <= MOST_OPTIONS else None


def _join_default(a: Value, b: Value, key: str) -> Value:
    """`if mask is None: mask = torch.ones(n)`: the default `a` stands in for a tensor `b`. Where it
    was brought to the host, what is given is most likely there as well."""
    if b.kind is Kind.UNKNOWN:
        place = place_of_path(b.data) if isinstance(b.data, Path) else UNKNOWN
        b = Value(Kind.TENSOR, place, origin=Origin.INPUT)
    if a.origin is Origin.MOVED and only_host(a.device) and is_place_of_argument(b.device):
        b = b.but(device=UNKNOWN)
    return a.but(
        device=choose(key, *_bound(a, b)),
        data=None,
        scalar=a.scalar if a.scalar == b.scalar or b.scalar is None else None,
        trait=a.trait if a.trait in REGISTERED else None,
        trace=a.trace and Step(Sort.STAND_IN, a.trace.node, a.trace),
    )


def _join_traits(a: Value, b: Value, kind: Kind) -> Trait | Fixed | None:
    if a.trait == b.trait and (a.kind is b.kind or kind not in NAMED):
        return a.trait
    if {a.trait, b.trait} == REGISTERED:
        return Trait.BUFFER
    for one, other in ((a, b), (b, a)):  # what held its place before it was registered
        if one.trait in REGISTERED and other.device == UNKNOWN:
            return one.trait
        if one.trait is Trait.GLOBAL_RANK and isinstance(other.data, int):
            return one.trait  # 0 where nothing is distributed
    if kind not in NAMED:
        return None
    either = a.kind is not b.kind or Trait.EITHER_CHOICE in (a.trait, b.trait)
    return Trait.EITHER_CHOICE if either else Trait.CHOICE


def join_kept(a: Value, b: Value, key: str | None = None) -> Value:
    """What a name stands for after two paths: also what is a tensor on one of them."""
    if (moved := _join_moved(a, b, key)) is not None:
        return moved
    joined = join_values(a, b, key)
    if joined.kind is not Kind.UNKNOWN:
        return joined
    for one, other in ((a, b), (b, a)):
        if one.trait is Trait.SPREAD and other.kind is Kind.UNKNOWN:
            return one
        unlike = other.kind in (Kind.UNKNOWN, Kind.NUMBER) and other.trait in (None, Trait.PERHAPS)
        if unlike and (one.trait is Trait.PERHAPS or _is_made(one)):
            return Value(
                Kind.UNKNOWN, CPU, origin=one.origin, scalar=False, trait=Trait.PERHAPS,
                trace=one.trace,
            )  # fmt: skip
    return joined


def _join_moved(a: Value, b: Value, key: str | None) -> Value | None:
    """What one path moves and the other one leaves where it was: there, it can be moved as well."""
    for moved, left, holds in ((a, b, True), (b, a, False)):
        is_path = left.kind is Kind.UNKNOWN and isinstance(left.data, Path) and left.trait is None
        if key is None or not is_path or left.data != moved.data:
            continue
        places = (moved.device, UNKNOWN) if holds else (UNKNOWN, moved.device)
        if moved.trait is Trait.IF_MODULE:
            return moved.but(device=choose(key, *places))
        if moved.kind is Kind.PLACED and moved.origin is Origin.MOVED:
            free = stands_in(key) or key in OF_PROCESSES
            return moved.but(device=choose(key, *places), trait=None if free else Trait.GUARDED)
    return None


def join_placed(a: Value, b: Value, key: str | None, free: str | None) -> Value:
    """A tensor that two paths leave in two places: moved on one of them, or made anew there."""
    if (apart := join_apart(a, b, free)) is not None:
        return apart
    if key is None and free is not None and a.kind is b.kind is Kind.TENSOR:
        if (a.device == UNKNOWN) is not (b.device == UNKNOWN):  # on one path it is known
            return join_values(a, b).but(device=choose(free, *_bound(a, b)))
    if key is not None and not stands_in(key):
        joined = join_values(a, b, key)
        return joined if key in OF_PROCESSES else joined.but(trait=Trait.GUARDED)
    return join_kept(a, b, key)


def join_apart(a: Value, b: Value, free: str | None) -> Value | None:
    """A tensor that one path has made on the host, or read from a file there, and that is elsewhere
    on the other; None of others."""
    if free is None or is_about_devices(free):
        return None
    for fresh, other in ((a, b), (b, a)):
        if _is_made_apart(fresh, other):
            return fresh.but(device=choose(free, a.device, b.device), data=None, trait=None)
    return None


def join_unlike(a: Value, b: Value, key: str | None, free: str | None) -> Value:
    """As `join_kept`; what a name stands for that is a fresh tensor on one path is that where the
    condition holds which has parted the paths."""
    joined = join_kept(a, b, key)
    if joined.trait is not Trait.PERHAPS or free is None or is_about_devices(free):
        return joined
    yes, no = (each.device if each.origin in MADE else UNKNOWN for each in (a, b))
    return joined.but(device=choose(free, yes, no))


def _is_made_apart(fresh: Value, other: Value) -> bool:
    """Whether one path made a tensor on the host, or read it there, and the other one has another
    tensor, that is elsewhere."""
    if (
        not (is_fresh(fresh) or is_read(fresh))
        or not (fresh.scalar is False or fresh.scalar is other.scalar is True)
        or not may_be_host(fresh.device)
    ):
        return False
    return may_be_accelerator(other.device) and not _came_from(other, fresh)


def is_read(value: Value) -> bool:
    """Whether it is a tensor as a file holds it."""
    told = shown(value.trace)
    return value.kind is Kind.TENSOR and told is not None and told.sort is Sort.PRETRAINED


def _is_made(value: Value) -> bool:
    """Whether it is a tensor with dimensions that was made on the host."""
    return is_fresh(value) and value.device == CPU and value.scalar is False


def _join_unproven(a: Value, b: Value, key: str | None) -> Value:
    """Two values of which at least one isn't proved: an identity survives where both share it, or
    where one is the device that the other one names. `torch.device("cpu") if device is None else
    device` is the device that was chosen, by the name of the argument that chooses it."""
    if isinstance(a.data, Path) and a.data == b.data:
        return Value(Kind.UNKNOWN, data=a.data)
    for one, other in ((a, b), (b, a)):
        named = isinstance(other.data, Path) and one.kind in NAMED and one.device != UNKNOWN
        chosen = one is a and key is not None and key.endswith(IS_NONE)
        if named and (chosen or as_device(other) == one.device):
            return Value(Kind.UNKNOWN, data=other.data)
    is_read = any(each.origin is Origin.MOVED and only_host(each.device) for each in (a, b))
    return READ_BACK if is_read else NOTHING


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
    return reduce(join_values, values) if values else NOTHING


def join_held(values: list[Value]) -> Value:
    """What a list holds of which these are elements, all of them; NOTHING of none."""
    return reduce(lambda a, b: mix(a, b) or join_values(a, b), values) if values else NOTHING


def both(ref: object) -> frozenset[object]:
    """The references that a reference stands for."""
    return ref if isinstance(ref, frozenset) else frozenset((ref,))
