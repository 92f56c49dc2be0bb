"""Calls of methods that are bound to a receiver: of a library's type, or of a class in sight."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.calls import gradients
from devlint.flow.calls.function_calls import call_function
from devlint.flow.calls.library_calls import give_up
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.effects import moves, transfer
from devlint.flow.effects.model_overlays import encoding_method
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import Bound, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import arrivals, containers
from devlint.flow.syntax.walk import is_static
from devlint.model import ir
from devlint.torchapi.effects import Effect

SAME_MODULE = frozenset(
    "eval train float half double bfloat16 requires_grad_ share_memory apply type compile".split()
)


def call_super(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> Value:
    """`super().name(...)`: a method of the next class, or a move or a registration of modules."""
    if func.attr in moves.METHODS:
        found = frame.object(base)
        if found is not None and base.kind is Kind.MODULE and func.attr != "type":
            moves.move(frame, node, func.value, base, args)
        return base.but(trait=Trait.SELF)
    info = _below(frame, func)
    for parent in info.bases if info is not None else ():
        method = parent.reached(func.attr) if isinstance(parent, ClassInfo) else None
        if method is not None:
            return call_function(frame, node, method, args, base.but(trait=Trait.SELF))
    row = frame.world.table.get(f"torch.nn.Module.{func.attr}")
    if row is not None and row.effect is Effect.REGISTER:
        return transfer.apply(frame, node, row, replace(args, receiver=(func.value, base)))
    return NOTHING


def _below(frame: Frame, func: ir.Attribute) -> ClassInfo | None:
    """The class whose bases are asked: the one that `super(Class, self)` names, or the method's."""
    match func.value:
        case ir.Call(args=(ir.Argument(value=named), *_)):
            value = frame.evaluate(named)
            return value.data if isinstance(value.data, ClassInfo) else None
    return frame.owner


def call_bound(frame: Frame, node: ir.Call, bound: Bound, args: Arguments) -> Value:
    """Call a method with its receiver."""
    if bound.closure is not None:
        static = is_static(bound.closure.node)
        receiver = None if static else bound.receiver
        return call_function(frame, node, bound.closure, Arguments(args.all), receiver)
    arrivals.of_library(frame, bound.name, frame.world.table.get(bound.name))
    if gradients.is_about_gradients(bound):
        return gradients.called(frame, node, bound, args)
    if bound.name.startswith("ENCODING."):
        return encoding_method(frame, node, bound, args)
    args = replace(args, receiver=(bound.node, bound.receiver))
    row = frame.world.table.get(bound.name)
    if row is None:
        return NOTHING
    if row.managed:
        give_up(frame, args)
    if bound.receiver.kind is Kind.MODULE and row.effect is Effect.KEEP and row.inplace:
        containers.extend_module(frame, bound.receiver, args)
    owner, _, name = bound.name.rpartition(".")
    is_module = owner == "torch.nn.Module" or bound.receiver.kind is Kind.MODULE
    if is_module and name in SAME_MODULE:
        return bound.receiver
    return transfer.apply(frame, node, row, args)
