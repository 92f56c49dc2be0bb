"""What a loader puts together: the dict that its data set gives of each sample, or its `collate_fn`
of several, with what stands under each key; or an object of the project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import CPU
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments, Partial
from devlint.flow.frames.files import Bound, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import is_static
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class Collate:
    """A function of the project that puts samples together, and what it is given besides these:
    before them, and by name."""

    function: Closure
    before: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()


def called(frame: Frame, value: Value) -> Collate | None:
    """What a call of a `collate_fn` runs: a function, a method, an object of the project, or one of
    these that has got some of its arguments."""
    match value.data:
        case Closure() as function:
            return Collate(function)
        case Bound(receiver=this, closure=Closure() as function):
            return Collate(function, () if is_static(function.node) else (this,))
        case Partial(function=inner, args=args) if not args.unpacked:
            of = called(frame, inner)
            before = tuple(value for _, value in args.positional())
            named = tuple((name, value) for name, (_, value) in args.keywords().items())
            return of and replace(of, before=(*of.before, *before), named=(*of.named, *named))
    info = frame.class_of(value)
    method = None if info is None else info.reached("__call__")
    return None if method is None else Collate(method, (value,))


def batch_of(
    frame: Frame, node: ir.Call, args: Arguments, collate: Collate | None, told: Step
) -> Value:
    """What a loader on the host yields, as far as its parts are known; NOTHING where they aren't.
    What it is called with is in sight, and makes dicts or objects."""
    made = NOTHING
    if collate is not None:
        sample = Value(Kind.BATCH, CPU, origin=Origin.LOADED, trace=told)
        rows = Value(Kind.LIST, data=frame.allocate((node, "samples"), Object(element=sample)))
        given = (*collate.before, rows)
        made = _run(frame, node, collate.function, *given, **dict(collate.named))
        if made.kind is Kind.INSTANCE and frame.class_of(made) is not None:
            return made
    elif not args.unpacked and args.keyword("collate_fn") is None:
        data_set = args.value((0, "dataset"))
        info = frame.class_of(data_set)
        method = None if info is None else info.reached("__getitem__")
        if method is not None:
            made = _run(frame, node, method, data_set, Value(Kind.NUMBER))
    if made.kind is Kind.STRING:
        return Value(Kind.LIST)
    found = frame.object(made) if made.kind.is_container else None
    if found is None or found.unsure or (made.kind is not Kind.TUPLE and not found.inside[1:]):
        return NOTHING
    if collate is None:
        return _put_together(frame, (node,), made, _stacked)
    pinned = args.keyword("pin_memory")
    as_lists = pinned is not None and pinned[1].data is not False
    return _put_together(frame, (node,), made, _given, as_lists=as_lists)


def _run(frame: Frame, node: ir.Call, function: Closure, *given: Value, **named: Value) -> Value:
    """What a function gives; nothing is told of what it does."""
    with frame.silently():
        return frame.world.invoke(frame, node, function, [*given], named)


def _put_together(
    frame: Frame,
    place: tuple[object, ...],
    value: Value,
    leaf: Callable[[Value], Value],
    trait: Trait | None = None,
    as_lists: bool = True,
) -> Value:
    """What a loader yields, with its parts; of these, what `leaf` makes. What puts samples together
    by itself and what pins memory make lists of tuples."""
    if value.kind is Kind.UNKNOWN:
        return Value(Kind.BATCH, CPU, origin=Origin.LOADED, trait=trait)
    found = frame.object(value) if value.kind.is_container else None
    if found is None or value.kind is Kind.SET:
        return leaf(value)
    kind = Kind.LIST if value.kind is Kind.TUPLE and as_lists else value.kind
    part, number = None if kind is Kind.DICT else Trait.UNPACKED, count()
    inside = found.mapped(
        lambda e: _put_together(frame, (*place, next(number)), e, leaf, part, as_lists)
    )
    return Value(kind, data=frame.allocate((*place, "batch"), inside))


_BECOME_TENSORS = (Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.BOOL)


def _stacked(value: Value) -> Value:
    """What `default_collate` makes of several things like one: numbers and arrays become tensors,
    texts stay a list."""
    if value.kind in _BECOME_TENSORS:
        return Value(Kind.TENSOR, CPU, origin=Origin.LOADED, scalar=False)
    return Value(Kind.LIST) if value.kind is Kind.STRING else NOTHING


def _given(value: Value) -> Value:
    """What a `collate_fn` gives is that, and comes from the loader."""
    if value.kind is Kind.TENSOR:
        return value.but(device=CPU, origin=Origin.LOADED, data=None, trace=None)
    return value
