"""What comes together with something that is moved: it was where that was.

`for x, y in rows: model(x.to(device))` moves one of two, so neither has been there before; so does
a function that takes an argument apart. What moves one may be a function of the file as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import CPU, UNKNOWN
from devlint.flow.domain.values import Batch, Kind, Origin, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import (
    by_parameter,
    first_parameter,
    is_static,
    names_in,
    nodes_of,
)
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


def beside_moved(
    frame: Frame, source: ir.Expr, target: ir.Expr, value: Value, body: ir.Body
) -> Value:
    """What `source` gives and a target takes apart, where the body that does so moves one of the
    parts and nothing else tells where they are."""
    found = frame.object(value)
    if isinstance(target, ir.Display) and found is not None and found.items is not None:
        if value.kind is not Kind.TUPLE or len(found.items) != len(target.items):
            return value
        pairs = zip(target.items, found.items, strict=True)
        items = tuple(beside_moved(frame, source, each, item, body) for each, item in pairs)
        if items == found.items:
            return value
        return value.but(data=frame.allocate(target, replace(found, items=items)))
    if value.kind is not Kind.UNKNOWN or value.trait or frame.file.places_batches:
        return value
    whole = target.id if isinstance(target, ir.Name) else ""
    unpacked = frame.file.once(_unpacked, body)
    names = unpacked.get(whole, frozenset()) if whole else frozenset(names_in(target))
    row = next(_moves(frame, body, names, whole), None)
    if row is None:
        return value
    before = Step(Sort.HYPOTHESIS, source, name=row) if row else None
    told = Step(Sort.BESIDE_MOVED, source, before)
    batch = Batch(frozenset(((source, frame.site),)))
    return Value(Kind.BATCH, CPU, batch, Origin.LOADED, trace=told)


def may_be_number(frame: Frame, node: ir.Expr, value: Value) -> bool:
    """Whether it is such a part of which nothing else tells that it is a tensor: what comes beside
    a tensor may be its weight."""
    told = value.trace is not None and value.trace.sort is Sort.BESIDE_MOVED
    if not told or frame.function is None:
        return told
    scan = frame.file.scan(frame.function)
    return not isinstance(node, ir.Name) or node.id not in scan.tensors | scan.used


def _unpacked(body: ir.Body) -> dict[str, frozenset[str]]:
    """The names into which each name is unpacked."""
    found: dict[str, frozenset[str]] = {}
    for node in nodes_of(body):
        match node:
            case ir.Assign(targets=(ir.Display() as target,), value=ir.Name(id=name)):
                found[name] = found.get(name, frozenset()).union(names_in(target))
    return found


def _kept_calls(body: ir.Body) -> list[tuple[ir.Call, bool]]:
    """The calls in a body, and whether something is done with what each gives."""
    nodes = list(nodes_of(body))
    dropped = {node.value for node in nodes if isinstance(node, ir.Evaluate)}
    return [(node, node not in dropped) for node in nodes if isinstance(node, ir.Call)]


def _moves(frame: Frame | None, body: ir.Body, names: Set[str], whole: str = "") -> Iterator[str]:
    """For each move of one of these names, or of an item of the `whole`, to a place that none of
    them tells: the row of policy by which that is one, or ""."""
    calls = _kept_calls(body) if frame is None else frame.file.once(_kept_calls, body)
    for node, is_kept in calls:
        match node:
            case ir.Call(func=ir.Attribute(value=moved, attr="to" | "cuda" as attr)) if (
                is_kept and _is_part(moved, names, whole)  # modules are moved where they are
            ):
                told = {name for each in node.args for name in names_in(each.value)}
                if told.isdisjoint((*names, whole)):
                    yield from ("",) if attr == "cuda" else _places(frame, node)
            case ir.Call() if frame is not None:
                yield from _moves_inside(frame, node, names)


def _is_part(node: ir.Expr, names: Set[str], whole: str) -> bool:
    match node:
        case ir.Name(id=name):
            return name in names
        case ir.Subscript(value=ir.Name(id=name)):
            return name == whole
    return False


def _moves_inside(frame: Frame, call: ir.Call, names: Set[str]) -> Iterator[str]:
    """The same of a function of the file that is given such a name."""
    function, has_receiver = _called(frame, call.func)
    if function is None or any(each.star for each in call.args):
        return
    given = ((n, a.value) for n, a in by_parameter(function.params[has_receiver:], call.args))
    taking = {n for n, value in given if isinstance(value, ir.Name) and value.id in names}
    if taking:
        yield from _moves(None, function.body, taking)


def _called(frame: Frame, func: ir.Expr) -> tuple[ir.Function | None, bool]:
    """The function that a call runs, and whether it gets a receiver as well."""
    this = first_parameter(frame.function)
    match func:
        case ir.Attribute(value=ir.Name(id=name), attr=attr) if name == this and frame.owner:
            found = frame.owner.method(attr)
            return (None, False) if found is None else (found[1], not is_static(found[1]))
        case ir.Name(id=name):
            value = frame.look_up(name)
            closure = value.data if value is not None else None
            if isinstance(closure, Closure):
                return closure.node, False
    return None, False


def _places(frame: Frame | None, call: ir.Call) -> Iterator[str]:
    """The arguments of a move that name a place, each by the row of policy that says so, or ""."""
    for argument in call.args:
        if argument.keyword not in (None, "device"):
            continue
        node = argument.value
        known = frame.look_up(node.id) if frame is not None and isinstance(node, ir.Name) else None
        if known is not None and (known.kind is Kind.DEVICE or known.device != UNKNOWN):
            yield ""
        elif isinstance(node, ir.Name) or _is_held(node):
            row = means("goes-to-device", last_name(node), "variable")
            if row:
                yield row
        elif isinstance(node, ir.Constant) and isinstance(node.value, str) and node.value != "cpu":
            yield ""


def _is_held(node: ir.Expr) -> bool:
    """Whether it is what an object holds: `self.device`, and not the place of a part of it."""
    return isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name)
