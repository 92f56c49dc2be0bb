"""Statements: one function for each kind, over the state of the frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devlint.flow.bodies import branches, definitions, loops
from devlint.flow.bodies.annotations import annotated, loader
from devlint.flow.conditions import narrow, questions
from devlint.flow.conditions.guards import guard_of
from devlint.flow.conditions.required import names_backend_of_cuda
from devlint.flow.conditions.settled import settled
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Kind, Value
from devlint.flow.effects import frameworks
from devlint.flow.effects.host import tell_read
from devlint.flow.effects.moves import METHODS
from devlint.flow.facts import BareReference
from devlint.flow.frames import library, protocols
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import (
    arrivals,
    containers,
    meet,
    objects,
    operators,
    stores,
    subscripts,
    unpacking,
)
from devlint.flow.operations.siblings import beside_moved
from devlint.model import ir
from devlint.model.trees import key, words
from devlint.policy import means


def run(frame: Frame, body: ir.Body) -> None:
    """Run statements one after the other, as long as the path goes on."""
    for statement in body:
        if not frame.state.alive:
            return
        frame.world.step()
        _STATEMENTS[type(statement)](frame, statement)


def _evaluate(frame: Frame, node: ir.Evaluate) -> None:
    before = frame.discarded
    frame.discarded = node.value
    frame.evaluate(node.value)
    frame.discarded = before
    _note_bare(frame, node.value)
    if isinstance(node.value, ir.Call) and names_backend_of_cuda(node.value):
        frame.state.known[CUDA_AVAILABLE] = True


def _note_bare(frame: Frame, node: ir.Expr) -> None:
    """Look at a method that is named and not called: does it move something?"""
    if isinstance(node, ir.Attribute) and node.attr in METHODS and frame.tells:
        operand = frame.operand(node.value, frame.evaluate(node.value))
        frame.record(BareReference(node, frame.context(), operand, node.attr))


def _assign(frame: Frame, node: ir.Assign) -> None:
    if node.value is None:
        return
    value = frame.evaluate(node.value)
    match node:
        case ir.Assign(targets=(target,), value=ir.Attribute(value=base)) if key(target) == key(
            base
        ):
            _note_bare(frame, node.value)
    if node.annotation is not None and value.kind is Kind.UNKNOWN:
        value = annotated(frame, node.annotation, value)
    if value.kind is Kind.UNKNOWN and _unpacks_size(frame, node):
        value = Value(Kind.UNKNOWN, trait=Trait.SHAPE)
    for target in node.targets:
        if isinstance(target, ir.Display) and isinstance(node.value, ir.Name):
            if frame.function is not None and frame.takes(node.value.id):
                value = beside_moved(frame, node.value, target, value, frame.function.body)
        store(frame, target, frameworks.named(target, value), node)
        if isinstance(target, ir.Name) and target.id == "pytestmark" and frame.function is None:
            frame.guard = guard_of(frame, frame.guard, (node.value,))


def _unpacks_size(frame: Frame, node: ir.Assign) -> bool:
    """`n, c = x.size()` of something that isn't an object of the project: several sizes are
    numbers."""
    match node:
        case ir.Assign(
            targets=(ir.Display(),),
            value=ir.Call(func=ir.Attribute(value=ir.Name(id=name), attr="size"), args=()),
        ):
            value = frame.look_up(name)
            return value is not None and value.kind in (Kind.UNKNOWN, *TENSORS)
    return False


def store(
    frame: Frame, target: ir.Expr, value: Value, statement: ir.Assign | ir.Augment | None = None
) -> None:
    """Write a value into a target."""
    if isinstance(target, ir.Name):
        if isinstance(statement, ir.Assign) and statement.value is not None:
            value = _loader_by_name(frame, target, value, statement.value)
        unpacking.bind(frame, target, value)
    elif isinstance(target, ir.Attribute):
        stores.store(frame, target, value, statement or ir.Evaluate(target))
    elif isinstance(target, ir.Subscript):
        _store_item(frame, target, value, statement)
    elif isinstance(target, ir.Display):
        parts = unpacking.unpack(frame, value, target.items)
        for item, part in zip(target.items, parts, strict=True):
            store(frame, item, part, statement)
    elif isinstance(target, ir.Starred):
        store(frame, target.value, value if value.kind is Kind.LIST else NOTHING)


def _loader_by_name(frame: Frame, target: ir.Name, value: Value, source: ir.Expr) -> Value:
    """What a name for a loader is bound to, where nothing else is known of it. A call that is given
    a loader or a device may make something that places its batches."""
    if value.kind is not Kind.UNKNOWN or value.trait is not None:
        return value
    row = means("loader", target.id, "variable")
    given = source.args if isinstance(source, ir.Call) else ()
    if not row or any(
        means(sort, word, "variable")
        for argument in given
        for word in words(argument)
        for sort in ("loader", "about-devices", "accelerator-flag")
    ):
        return value
    return loader(frame, target, target.id, row)


def _store_item(
    frame: Frame, target: ir.Subscript, value: Value, statement: ir.Stmt | None
) -> None:
    """`base[index] = value`. What is written may come from another device, and so may the index:
    `index_put_` moves it, unlike a read. But at places that a tensor or a list names, several
    values must be where the base is."""
    base, index = frame.evaluate(target.value), frame.evaluate(target.index)
    if base.kind is Kind.TENSOR and base.scalar is None and isinstance(target.value, ir.Name):
        if _is_element(index):
            base = base.but(scalar=False)
            frame.state.env[target.value.id] = base
    if base.kind is Kind.TENSOR and value.kind in _ONE_TENSOR and value.scalar is False:
        parts = subscripts.index_parts(frame, target.index, index)
        arrivals.by_index(frame, base, parts)
        if isinstance(statement, ir.Assign) and any(_picks(part) for _, part in parts):
            written = (statement.value or target, value)
            meet.meet(frame, statement, "[]=", [(target.value, base), written], inplace=True)
    if base.kind is Kind.NDARRAY and value.scalar is False:
        tell_read(frame, target, (getattr(statement, "value", None) or target, value), "__array__")
    if protocols.defines(frame, base, "__setitem__"):
        protocols.answer(frame, target, base, "__setitem__", index, value)
    elif base.kind is Kind.BATCH and isinstance(target.value, ir.Name):
        frame.state.env[target.value.id] = NOTHING
    elif base.kind is Kind.UNKNOWN and isinstance(base.data, Path):
        if isinstance(index.data, str):
            frame.state.paths[f'{base.data.text}["{index.data}"]'] = value
    else:
        containers.store_item(frame, base, index, value)
        objects.write_back(frame, target.value, base)
        stores.put_in(frame, target, value)


_ONE_TENSOR = (Kind.TENSOR, Kind.PLACED)


def _is_element(index: Value) -> bool:
    """Whether what has such an index has a dimension: `x[3]`, `x[1:]`, `x[mask]`."""
    return index.kind in (Kind.NUMBER, Kind.TENSOR) or index.trait is Trait.SLICE


def _picks(index: Value) -> bool:
    """Whether an index is a tensor, or a list, that may name several places."""
    return index.kind is Kind.LIST or (index.kind is Kind.TENSOR and index.scalar is False)


def _augment(frame: Frame, node: ir.Augment) -> None:
    left, right = frame.evaluate(node.target), frame.evaluate(node.value)
    value = operators.binary(frame, node, left, right)
    if left.kind is Kind.TENSOR and left.trait is Trait.PARAMETER:
        value = left  # changed in place: it is still registered
    if left.kind is Kind.BATCH and node.op == "|":
        value = NOTHING  # a dict, that holds something else now
    store(frame, node.target, value, node)


def _delete(frame: Frame, node: ir.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ir.Name):
            frame.state.env.pop(target.id, None)
        elif isinstance(target, ir.Attribute):
            stores.remove(frame, target)
        elif isinstance(target, ir.Subscript):
            base, index = frame.evaluate(target.value), frame.evaluate(target.index)
            containers.remove(frame, base, index)


def _return(frame: Frame, node: ir.Return) -> None:
    value = NONE if node.value is None else frame.evaluate(node.value)
    if frame.state.alive:
        frame.returns.append((value, frame.state))
    _stop(frame)


def _stop(frame: Frame) -> None:
    frame.state = frame.fork()
    frame.state.alive = False


def _raise(frame: Frame, node: ir.Raise) -> None:
    """The error is looked at where its function is run on its own: nothing is left of it here."""
    if node.value is not None and frame.is_alone:
        frame.evaluate(node.value)
    _stop(frame)


def _break(frame: Frame, node: ir.Break) -> None:
    frame.breaks.append(frame.state)
    _stop(frame)


def _continue(frame: Frame, node: ir.Continue) -> None:
    frame.continues.append(frame.state)
    _stop(frame)


def _assert(frame: Frame, node: ir.Assert) -> None:
    tested = questions.test(frame, node.test)
    if settled(frame, node.test, tested) is False:
        _stop(frame)
    narrow.assume(frame, node.test, True)


def _scope(frame: Frame, node: ir.Scope) -> None:
    if node.kind == "global":
        frame.globals = frame.globals | frozenset(node.names)


_STATEMENTS: dict[type, Callable[[Frame, Any], None]] = {
    ir.Evaluate: _evaluate,
    ir.Assign: _assign,
    ir.Augment: _augment,
    ir.Delete: _delete,
    ir.Return: _return,
    ir.Raise: _raise,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Assert: _assert,
    ir.If: branches.branch,
    ir.While: loops.while_loop,
    ir.For: loops.for_loop,
    ir.With: branches.enter,
    ir.Try: branches.attempt,
    ir.Match: branches.match,
    ir.Function: definitions.define_function,
    ir.Class: definitions.define_class,
    ir.Import: library.import_names,
    ir.ImportFrom: library.import_from,
    ir.Scope: _scope,
}
