"""Where something stands in a file: under which conditions, and which calls lead there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace

from devlint.model import ir
from devlint.model.trees import children, dotted_name, key

Guards = tuple[tuple[ir.Node, bool], ...]
"""Conditions, and whether they hold. What is no expression is a condition of its own."""
Around = ir.Function | None
"""A function; None for the top level of the file."""

_EXITS = ("sys.exit", "exit", "quit", "os._exit")
_RUN_BY_CALLS = ("__init__", "__post_init__", "__call__", "forward")
"""The methods that run where an object is made or called."""


@dataclass(frozen=True, slots=True)
class Place:
    """`statement` stands in `block`, which belongs to a function."""

    function: Around
    guards: Guards
    statement: ir.Stmt
    block: ir.Body

    def under(self, test: ir.Node, holds: bool) -> Place:
        return replace(self, guards=(*self.guards, (test, holds)))


@dataclass(slots=True)
class Reach:
    """Where all expressions of a file stand, and which functions call which."""

    places: dict[ir.Node, Place] = field(default_factory=dict)
    calls: dict[Around, list[tuple[Around, Guards]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    callers: dict[Around, list[tuple[Around, Guards]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    named: dict[str, list[ir.Function]] = field(default_factory=lambda: defaultdict(list))
    methods: dict[str, list[ir.Function]] = field(default_factory=lambda: defaultdict(list))
    """What calls of names run, and what calls of attributes may run."""

    def ways_to(self, place: Place) -> Iterator[tuple[Around, Guards]]:
        """The functions from which calls lead to a place, its own first, and the conditions of all
        that on one way."""
        ways: dict[Around, Guards] = {place.function: place.guards}
        waiting = [place.function]
        while waiting:
            function = waiting.pop(0)
            yield function, ways[function]
            for caller, guards in self.callers[function]:
                if caller not in ways:
                    ways[caller] = (*ways[function], *guards)
                    waiting.append(caller)

    def reached(self, root: Around, holds: Callable[[Guards], bool]) -> set[Around]:
        """The functions that run where one does, by calls whose conditions hold."""
        found, waiting = {root}, [root]
        while waiting:
            for function, guards in self.calls[waiting.pop()]:
                if function not in found and holds(guards):
                    found.add(function)
                    waiting.append(function)
        return found


def reach(body: ir.Body) -> Reach:
    """Look over a file."""
    found = Reach()
    _block(body, None, (), found)
    for node, place in found.places.items():
        match node:
            case ir.Call(func=ir.Name(id=name)):
                functions = found.named[name]
            case ir.Call(func=ir.Attribute(attr=name)):
                functions = found.methods[name]
            case _:
                continue
        for function in functions:
            found.calls[place.function].append((function, place.guards))
            found.callers[function].append((place.function, place.guards))
    return found


def _block(
    body: ir.Body, function: Around, guards: Guards, found: Reach, owner: ir.Class | None = None
) -> None:
    """Look over a block, which may be the body of a class."""
    for statement in body:
        here = Place(function, guards, statement, body)
        match statement:
            case ir.Function(name=name):
                if owner is not None:
                    found.methods[name].append(statement)
                if owner is None or name in _RUN_BY_CALLS:
                    found.named[name if owner is None else owner.name].append(statement)
                for decorator in statement.decorators:
                    _expression(decorator, here, found)
                _block(statement.body, statement, (), found)
            case ir.Class():
                _block(statement.body, function, guards, found, statement)
            case ir.If(test=test, body=then, orelse=orelse):
                _expression(test, here, found)
                _block(then, function, (*guards, (test, True)), found)
                _block(orelse, function, (*guards, (test, False)), found)
                if _ends(then):
                    guards = (*guards, (test, False))
                if _ends(orelse):
                    guards = (*guards, (test, True))
            case ir.Try():
                for handler in statement.handlers:
                    _block(handler.body, function, (*guards, (handler, True)), found)
                for block in (statement.body, statement.orelse, statement.final):
                    _block(block, function, guards, found)
            case ir.Match():
                _expression(statement.subject, here, found)
                for case in statement.cases:
                    _block(case.body, function, (*guards, (case, True)), found)
            case _:
                inner: list[ir.Stmt] = []
                for part in children(statement):
                    if isinstance(part, ir.Stmt):
                        inner.append(part)
                    else:
                        _expression(part, here, found)
                _block(tuple(inner), function, guards, found)


def _ends(body: ir.Body) -> bool:
    """Whether nothing after a block runs where the block does."""
    match body[-1:]:
        case (ir.Return() | ir.Raise() | ir.Continue() | ir.Break(),):
            return True
        case (ir.Evaluate(value=ir.Call(func=func)),):
            return dotted_name(func) in _EXITS
    return False


def _expression(node: ir.Node, place: Place, found: Reach) -> None:
    waiting = [(node, place)]
    while waiting:
        each, around = waiting.pop()
        found.places[each] = around
        match each:
            case ir.Conditional(test=test, body=then, orelse=orelse):
                waiting += [(test, around), (then, around.under(test, True))]
                waiting.append((orelse, around.under(test, False)))
            case ir.Boolean(op=op, left=left, right=right):
                waiting += [(left, around), (right, around.under(left, op == "and"))]
            case _:
                waiting += [(part, around) for part in children(each)]


def atoms(node: ir.Node, holds: bool) -> Iterator[tuple[Hashable, bool]]:
    """What a condition says in parts that all hold, so that two that mean the same are the same."""
    match node:
        case ir.Unary(op="not", operand=inner):
            yield from atoms(inner, not holds)
        case ir.Boolean(op=op, left=left, right=right) if (op == "and") is holds:
            yield from atoms(left, holds)
            yield from atoms(right, holds)
        case ir.Compare(op="!=" | "is not" as op, left=left, right=right):
            yield (
                (ir.Compare, op.replace("!=", "==").replace(" not", ""), key(left), key(right)),
                (not holds),
            )
        case ir.Compare(op=op, left=left, right=right):
            yield (ir.Compare, op, key(left), key(right)), holds
        case ir.Expr():
            yield key(node), holds
        case _:
            yield id(node), holds
