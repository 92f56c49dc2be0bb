"""Containers that are spelled out, and comprehensions, which make them item by item where what they
go through is known so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from devlint.flow.conditions import narrow
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.mixtures import put_together
from devlint.flow.domain.paths import Turn
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import gathered, join_objects
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import containers, unpacking
from devlint.flow.operations.yielded import part_of_any
from devlint.model import ir

_KINDS: Mapping[str, Kind] = {
    "list": Kind.LIST, "tuple": Kind.TUPLE, "set": Kind.SET, "dict": Kind.DICT,
}  # fmt: skip


def display(frame: Frame, node: ir.Display) -> Value:
    """`[a, b]`, `(a, *b)`, `{a, b}`."""
    values: list[Value] = []
    spread: list[Value] = []
    for item in node.items:
        if isinstance(item, ir.Starred):
            value = frame.evaluate(item.value)
            found = frame.object(value) if value.kind in (Kind.LIST, Kind.TUPLE) else None
            if found is not None and found.items is not None:
                values.extend(found.items)
            else:
                spread.append(unpacking.element_of(frame, value))
        else:
            values.append(frame.evaluate(item))
    if spread:
        parts = values + spread
        found = Object(element=put_together(parts) or containers.element_of_all(frame, parts))
    else:
        found = Object(items=tuple(values))
    return Value(_KINDS[node.kind], data=frame.allocate(node, found))


def mapping(frame: Frame, node: ir.Mapping) -> Value:
    """`{"a": b, **c}`."""
    found = Object(items=())
    entries: dict[str, Value] = {}
    others: list[Value] = []
    for key, item in node.items:
        value = frame.evaluate(item)
        if key is None:
            found, entries = found.with_entries(entries), {}
            frame.world.step(len(found.entries))
            merged = frame.object(value)
            if merged is not None and value.kind is Kind.DICT:
                found = found.with_entries(merged.entries, merged.unsure)
                if merged.items is None:
                    others.append(merged.element)
            else:  # it may override what stands before it
                others.extend((*found.entries.values(), part_of_any(value)))
                found = Object()
            continue
        frame.evaluate(key)
        if isinstance(key, ir.Constant) and isinstance(key.value, str):
            entries[key.value] = value
        else:
            others.append(value)
    found = found.with_entries(entries)
    found = replace(found, items=None if others else (), element=gathered(frame.state, others))
    return Value(Kind.DICT, data=frame.allocate(node, found))


def comprehension(frame: Frame, node: ir.Comprehension) -> Value:
    """`[f(x) for x in xs]` and its like."""
    outside = frame.state
    frame.state = frame.fork(outside)
    source = frame.evaluate(node.clauses[0].iter)
    items = unpacking.known_items(frame, source)
    known = unpacking.are_one_by_one(frame, items)
    each = items if known else (unpacking.element_of(frame, source),)
    parts, turns = list[tuple[Value, Value]](), frame.turns
    for number, item in enumerate(each):
        frame.turns = (*turns, Turn(node, number))
        parts.append(_of_item(frame, node, source, item))
    frame.turns = turns
    made = _made(frame, node, parts, known)
    inside, frame.state = frame.state, outside
    frame.state.copies, frame.state.busy = inside.copies, inside.busy
    for ref in inside.heap.written:
        before, found = frame.state.heap.get(ref), inside.heap[ref]
        if before is not found:  # where nobody knows the items, it may have been done to none
            maybe = None if made.items is not None else before
            frame.state.heap[ref] = found if maybe is None else join_objects(maybe, found)
    if node.kind == "generator":
        return containers.lazily(frame, node, made)
    return Value(_KINDS[node.kind], data=frame.allocate(node, made))


def _made(
    frame: Frame, node: ir.Comprehension, made: list[tuple[Value, Value]], known: bool
) -> Object:
    """What holds these keys and elements; `known`: of one item of its first source each."""
    values = [value for _, value in made]
    names = [key.data for key, _ in made if isinstance(key.data, str)]
    if known and node.kind != "set" and len(node.clauses) == 1 and not node.clauses[0].tests:
        if node.key is None:
            return Object(items=tuple(values))
        if len(names) == len(made):
            return Object(items=(), entries=dict(zip(names, values, strict=True)))
    return Object(element=gathered(frame.state, values))


def _of_item(
    frame: Frame, node: ir.Comprehension, source: Value, item: Value
) -> tuple[Value, Value]:
    """The key and the element that it makes of an item of its first source, and of any of the
    others."""
    known = frame.state.known
    frame.state.known = known.copy()
    for number, clause in enumerate(node.clauses):
        if number:
            source = frame.evaluate(clause.iter)
            item = unpacking.element_of(frame, source)
        frame.world.store(frame, clause.target, item)
        if source.trait is Trait.DEVICE_INDICES:
            frame.state.known[CUDA_AVAILABLE] = True
        for test in clause.tests:
            frame.evaluate(test)
            narrow.assume(frame, test, True)
    key = NOTHING if node.key is None else frame.evaluate(node.key)
    made = frame.evaluate(node.element)
    frame.state.known = known
    return key, made
