"""Parts of batches: which of them are tensors.

A loader yields what its data set gives: images and labels, but captions, file names and numbers of
answers, too, as strings and lists. Nobody moves those. Whoever moves nothing of a batch has
forgotten it; but where some of it is moved, another part that stays is a tensor only if something
uses it as one, an operation, a loss, a layer, a method that nothing else has, or a move of its own,
or if it is called what tensors alone are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.flow.domain.lattice import Device, only_host
from devlint.flow.domain.values import Value
from devlint.flow.facts import Elsewhere, Fact, ModuleCall, Operand
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import World
from devlint.flow.syntax.scan import TENSOR_ONLY
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import key, last_name
from devlint.policy import means

_TENSORS_HAVE = TENSOR_ONLY | {"size"}
_ATTRIBUTES = frozenset(
    "shape dtype device ndim data grad grad_fn requires_grad is_cuda is_leaf layout T mT".split()
)
"""What tensors have that isn't called."""


def note_moved(frame: Frame, node: ir.Expr, value: Value, device: Device) -> None:
    """A part of a batch is moved: it is a tensor, and the others aren't forgotten."""
    note_tensor(frame, node, value)
    if value.batch is not None and not only_host(device):
        frame.world.moved_batches |= value.batch.refs


def note_tensor(frame: Frame, node: ir.Expr, value: Value) -> None:
    """Something is used as only tensors are."""
    if value.batch is not None and not frame.is_followed:
        frame.world.tensors_of_batches.setdefault(key(node), set()).add(frame.qualname)


def note_method(frame: Frame, node: ir.Attribute, value: Value) -> None:
    """A method of a part of a batch is called."""
    if node.attr in _TENSORS_HAVE:
        note_tensor(frame, node.value, value)


def is_object(frame: Frame, name: str) -> bool:
    """Whether the code that is running uses what a name stands for as something that holds tensors,
    a graph or an encoding: `graph.x`, `inputs["input_ids"]`, `**inputs`. That may move in place."""
    body = frame.file.body if frame.function is None else (frame.function,)
    nodes = list(nodes_of(body))
    called = {id(node.func) for node in nodes if isinstance(node, ir.Call)}
    for node in nodes:
        match node:
            case (
                ir.Subscript(value=ir.Name(id=whole), index=ir.Constant(value=str()))
                | ir.Argument(value=ir.Name(id=whole), star="**")
            ) if whole == name:
                return True
            case ir.Attribute(value=ir.Name(id=whole), attr=attr) if whole == name:
                if id(node) not in called and attr not in _ATTRIBUTES:
                    return True
    return False


def without_unproven(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without inputs of modules that may be no tensors."""
    for fact in facts:
        match fact:
            case ModuleCall():
                yield _with_tensors(world, fact)
            case Elsewhere(fact=ModuleCall() as inner):
                proved = _with_tensors(world, inner)
                yield fact if proved is inner else replace(fact, fact=proved)
            case _:
                yield fact


def _with_tensors(world: World, call: ModuleCall) -> ModuleCall:
    function = call.context.function
    proved = [each for each in call.inputs if _is_tensor(world, function, each)]
    told = set(world.moved_batches).union(*map(_batches, proved))
    kept: list[Operand] = []
    for operand in call.inputs:
        if operand in proved:
            kept.append(operand)
        elif told.isdisjoint(_batches(operand)):
            told |= _batches(operand)  # of those that are all left where they are, one is a tensor
            kept.append(operand)
    return call if len(kept) == len(call.inputs) else replace(call, inputs=tuple(kept))


def _batches(operand: Operand) -> frozenset[object]:
    """What the operand is a part of, whatever it is."""
    return frozenset() if operand.value.batch is None else operand.value.batch.refs


def _is_tensor(world: World, function: str, operand: Operand) -> bool:
    """Whether it isn't only a part of a batch that may be anything."""
    used = world.tensors_of_batches.get(key(operand.node), set())
    if not _batches(operand) or function in used:
        return True
    name = last_name(operand.node)
    if used and means("one-thing", name, "variable"):  # of what another loop gives
        return True
    return bool(means("tensor", name, "variable"))
