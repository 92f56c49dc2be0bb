"""What going through things makes of them, one after the other, together or in tuples."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import gathered
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.effects.use import Overlay
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import unpacking
from devlint.flow.operations.containers import lazily, pairs, reorder, rows
from devlint.flow.operations.unpacking import known_items
from devlint.model import ir
from devlint.torchapi.effects import Row


def yielded(frame: Frame, given: Given | None) -> Value:
    """What iterating over an argument yields."""
    return NOTHING if given is None else unpacking.element_of(frame, given[1], given[0])


def _iterate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`tqdm(x)`, `iter(x)`, `reversed(x)`, `list(x)`: they yield what iterating `x` yields."""
    given, name = args.find((0, "iterable", "population")), row.name.rpartition(".")[2]
    lazy, kind = name not in CONTAINERS, CONTAINERS.get(name, Kind.TUPLE)
    if given is None:
        if lazy or args.unpacked:
            return NOTHING
        return Value(kind, data=frame.allocate(node, Object(items=())))
    value = given[1]
    if value.kind is Kind.LOADER:
        return value
    found = frame.object(value)
    if found is not None and found.items is not None and name in ("list", "tuple", "deque"):
        return Value(kind, data=frame.allocate(node, Object(items=found.items)))
    element = yielded(frame, given)
    if element is NOTHING and not value.kind.is_container:
        return NOTHING if lazy else Value(kind)
    if lazy:
        return lazily(frame, node, Object(element=element))
    return Value(kind, data=frame.allocate(node, Object(element=element)))


CONTAINERS = {
    "list": Kind.LIST, "sorted": Kind.LIST, "deque": Kind.LIST, "tuple": Kind.TUPLE,
    "set": Kind.SET, "sample": Kind.LIST, "choices": Kind.LIST,
}  # fmt: skip


def _enumerate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0, "iterable"))
    if given is None:
        return NOTHING
    items = known_items(frame, given[1])
    if args.count == 1 and unpacking.are_one_by_one(frame, items):  # it is counted from zero
        numbered = ((Value(Kind.NUMBER, data=at), item) for at, item in enumerate(items))
        return rows(frame, node, (Object(items=pair) for pair in numbered))
    return pairs(frame, node, Value(Kind.NUMBER), yielded(frame, given))


def _filter(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`filter(f, x)` yields some of what iterating `x` yields."""
    element = yielded(frame, args.find((1,)))
    return NOTHING if element is NOTHING else lazily(frame, node, Object(element=element))


def _zip(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    turned = _columns(frame, args)
    if turned is not None:
        return rows(frame, node, (Object(element=each) for each in turned))
    if args.count == 1 and args.unpacked:  # nobody knows how many columns there are
        each = unpacking.element_of(frame, unpacking.element_of(frame, args.all[0][1]))
        column = frame.allocate((node, "column"), Object(element=each))
        return lazily(frame, node, Object(element=Value(Kind.TUPLE, data=column)))
    sources = [known_items(frame, value) for _, value in args.positional()]
    if (
        not args.unpacked
        and sources
        and all(unpacking.are_one_by_one(frame, each) for each in sources)
    ):
        return rows(frame, node, (Object(items=each) for each in zip(*sources, strict=False)))
    inside = tuple(yielded(frame, given) for given in args.positional())
    each_row = frame.allocate((node, "row"), Object(items=inside))
    return lazily(frame, node, Object(element=Value(Kind.TUPLE, data=each_row)))


def _tuples(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`product(a, b)`, `combinations(a, 2)`, `pairwise(a)`: tuples of what these yield."""
    if args.unpacked:
        return NOTHING
    if row.name.endswith(".product") and args.keyword("repeat") is None:
        held = Object(items=tuple(yielded(frame, given) for given in args.positional()))
    else:
        held = Object(element=yielded(frame, args.find((0, "iterable"))))
    each = Value(Kind.TUPLE, data=frame.allocate((node, "row"), held))
    return lazily(frame, node, Object(element=each))


def _repeat(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`repeat(x, 3)`"""
    given = args.find((0, "object"))
    return NOTHING if given is None else lazily(frame, node, Object(element=given[1]))


def _columns(frame: Frame, args: Arguments) -> tuple[Value, ...] | None:
    """What the columns hold that `zip(*rows)` makes of rows that are alike."""
    if args.count != 1 or args.all[0][0].star != "*":
        return None
    row = frame.object(unpacking.element_of(frame, args.all[0][1]))
    return None if row is None else row.items


def _choice(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`random.choice(x)` and `max(x)` are one of what iterating `x` yields; `max(x, y)` is one of
    these."""
    given = args.positional()
    if len(given) > 1:
        return gathered(frame.state, [value for _, value in given])
    return yielded(frame, given[0] if given else None)


def _chain(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`chain(a, b)` yields what each of these does, `chain.from_iterable(lists)` and
    `chain(*lists)` what is in what that yields."""
    parts: list[Value] = []
    for argument, value in args.all:
        several = argument.star or row.name.endswith("from_iterable")
        known = known_items(frame, value) if several else (value,)
        parts += known or [unpacking.element_of(frame, value)]
    inside = [known_items(frame, each) for each in parts]
    if all(inside):
        return lazily(frame, node, Object(items=tuple(chain.from_iterable(inside))))
    elements = [unpacking.element_of(frame, each) for each in parts]
    return lazily(frame, node, Object(element=gathered(frame.state, elements)))


def _shuffle(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`random.shuffle(rows)`: the same things, in any order."""
    given = args.find((0, "x"))
    if given is not None and given[1].kind.is_container:
        reorder(frame, given[1])
    return NONE


def _sum(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`sum(losses)` is where each of them is."""
    element = yielded(frame, args.find((0, "iterable")))
    return element.alike() if element.kind is Kind.TENSOR and args.count == 1 else NOTHING


ITERATION: Mapping[str, Overlay] = {
    "chain": _chain,
    "choice": _choice,
    "enumerate": _enumerate,
    "filter": _filter,
    "iterate": _iterate,
    "repeat": _repeat,
    "shuffle": _shuffle,
    "sum": _sum,
    "tuples": _tuples,
    "zip": _zip,
}
