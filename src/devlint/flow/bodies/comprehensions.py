"""Comprehensions: what they make, item by item where what they go through is known so."""

from __future__ import annotations

from devlint.flow.conditions import narrow
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import join_objects
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import containers, unpacking
from devlint.model import ir


def comprehension(frame: Frame, node: ir.Comprehension) -> Value:
    outside = frame.state
    frame.state = frame.fork(outside)
    source = frame.evaluate(node.clauses[0].iter)
    items = unpacking.known_items(frame, source) if _is_plain(node) else ()
    if unpacking.are_one_by_one(items):
        made = _of_each(frame, node, items)
    else:
        made = Object(element=_of_any(frame, node, source))
    inside, frame.state = frame.state, outside
    frame.state.copies, frame.state.busy = inside.copies, inside.busy
    for ref in inside.heap.written:
        before, found = frame.state.heap.get(ref), inside.heap[ref]
        if before is not found:  # where nobody knows the items, it may have been done to none
            maybe = None if made.items is not None else before
            frame.state.heap[ref] = found if maybe is None else join_objects(maybe, found)
    if node.kind == "generator":
        return containers.lazily(frame, node, made)
    kind = {"set": Kind.SET, "dict": Kind.DICT}.get(node.kind, Kind.LIST)
    return Value(kind, data=frame.allocate(node, made))


def _is_plain(node: ir.Comprehension) -> bool:
    """Whether it makes one thing of each item of one source."""
    return len(node.clauses) == 1 and not node.clauses[0].tests


def _of_each(frame: Frame, node: ir.Comprehension, items: tuple[Value, ...]) -> Object:
    """What it makes of items that are known, one after the other."""
    keys, values = [], []
    for item in items:
        unpacking.bind(frame, node.clauses[0].target, item)
        keys.append(NOTHING if node.key is None else frame.evaluate(node.key))
        values.append(frame.evaluate(node.element))
    if node.kind == "set":
        return Object(element=join_all(values))
    if node.key is None:
        return Object(items=tuple(values))
    names = [key.data for key in keys if isinstance(key.data, str)]
    if len(names) < len(keys):
        return Object(element=join_all(values))
    return Object(items=(), entries=dict(zip(names, values, strict=True)))


def _of_any(frame: Frame, node: ir.Comprehension, source: Value) -> Value:
    """What it makes of any item."""
    for number, clause in enumerate(node.clauses):
        if number:
            source = frame.evaluate(clause.iter)
        unpacking.bind(frame, clause.target, unpacking.element_of(frame, source))
        if source.trait is Trait.DEVICE_INDICES:
            frame.state.known[CUDA_AVAILABLE] = True
        for test in clause.tests:
            frame.evaluate(test)
            narrow.assume(frame, test, True)
    if node.key is not None:
        frame.evaluate(node.key)
    return frame.evaluate(node.element)
