"""What a loader puts together: the dict that its data set gives of each sample, or its `collate_fn`
of several, with what stands under each key; or an object of the project."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from devlint.flow.domain.derivation import Step
from devlint.flow.domain.lattice import CPU
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.model import ir

Collate = tuple[Closure, tuple[Value, ...]]
"""A function that puts samples together, and what it is given before all else."""


def called(frame: Frame, value: Value) -> Collate | None:
    """The function of the project that a call of a value runs, and what it is given before all
    else."""
    if isinstance(value.data, Closure):
        return value.data, ()
    info = frame.class_of(value)
    method = None if info is None else info.reached("__call__")
    return None if method is None else (method, (value,))


def batch_of(
    frame: Frame, node: ir.Call, args: Arguments, collate: Collate | None, told: Step
) -> Value:
    """What a loader on the host yields, as far as its parts are known; NOTHING where they aren't.
    What it is called with is in sight, and makes dicts or objects."""
    made = NOTHING
    if collate is not None:
        sample = Value(Kind.BATCH, CPU, origin=Origin.LOADED, trace=told)
        rows = Value(Kind.LIST, data=frame.allocate((node, "samples"), Object(element=sample)))
        made = _run(frame, node, collate[0], *collate[1], rows)
        if made.kind is Kind.INSTANCE and frame.class_of(made) is not None:
            return made
    elif not args.unpacked and args.keyword("collate_fn") is None:
        data_set = args.value((0, "dataset"))
        info = frame.class_of(data_set)
        method = None if info is None else info.reached("__getitem__")
        if method is not None:
            made = _run(frame, node, method, data_set, Value(Kind.NUMBER))
    found = frame.object(made) if made.kind is Kind.DICT else None
    if found is None or not found.entries or found.unsure:
        return NOTHING
    return _put_together(frame, (node,), made, _stacked if collate is None else _given)


def _run(frame: Frame, node: ir.Call, function: Closure, *given: Value) -> Value:
    """What a function gives; nothing is told of what it does."""
    with frame.silently():
        return frame.world.invoke(frame, node, function, [*given], {})


def _put_together(
    frame: Frame, place: tuple[object, ...], value: Value, leaf: Callable[[Value], Value]
) -> Value:
    """A dict or a list of what a loader yields, with its parts; of these, what `leaf` makes."""
    found = frame.object(value) if value.kind.is_container else None
    if found is None or value.kind is Kind.SET:
        return leaf(value)
    kind = Kind.DICT if value.kind is Kind.DICT else Kind.LIST
    number = count()
    inside = found.mapped(lambda e: _put_together(frame, (*place, next(number)), e, leaf))
    return Value(kind, data=frame.allocate((*place, "batch"), inside))


_BECOME_TENSORS = (Kind.TENSOR, Kind.NDARRAY, Kind.NUMBER, Kind.BOOL)


def _stacked(value: Value) -> Value:
    """What `default_collate` makes of several things like one: numbers and arrays become tensors,
    texts stay a list."""
    if value.kind in _BECOME_TENSORS:
        return Value(Kind.TENSOR, CPU, origin=Origin.LOADED, scalar=False)
    if value is NOTHING or value.kind is Kind.UNKNOWN:
        return Value(Kind.BATCH, CPU, origin=Origin.LOADED)
    return Value(Kind.LIST) if value.kind is Kind.STRING else NOTHING


def _given(value: Value) -> Value:
    """What a `collate_fn` gives is that, and comes from the loader."""
    if value.kind is Kind.TENSOR:
        return value.but(device=CPU, origin=Origin.LOADED, data=None, trace=None)
    if value is NOTHING or value.kind is Kind.UNKNOWN:
        return Value(Kind.BATCH, CPU, origin=Origin.LOADED)
    return value
