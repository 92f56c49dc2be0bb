"""Calls of methods that are bound to a receiver: of a library's type, or of a class in sight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.flow.calls import gradients
from devlint.flow.calls.function_calls import call_function
from devlint.flow.calls.module_calls import call_module
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Value
from devlint.flow.effects import frameworks, moves, transfer
from devlint.flow.effects.model_overlays import encoding_method
from devlint.flow.facts import Move
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import Bound, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import library_value
from devlint.flow.modules.holdings import base_of_torch, inherit
from devlint.flow.operations import arrivals, containers
from devlint.model import ir
from devlint.torchapi.effects import Effect
from devlint.torchapi.spellings import is_known_class

_COPIES = ("to", "cuda", "cpu")
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
            moves.move(frame, node, func.attr, func.value, base, args)
        return base.but(trait=Trait.SELF)
    info = _below(frame, func)
    for parent in info.bases if info is not None else ():
        if isinstance(parent, str):
            if is_known_class(parent) or func.attr == "__init__":
                continue
            break  # it comes first, and may have what is asked for
        method = parent.reached(func.attr)
        if method is not None:
            return call_function(frame, node, method, args, base.but(trait=Trait.SELF))
    if func.attr == "__setattr__" and base.kind is Kind.INSTANCE:
        this = ir.Argument(func.value), base.but(trait=Trait.SELF)
        plain = library_value("builtins.object.__setattr__")
        return frame.world.call(frame, node, func, plain, Arguments((this, *args.all)))
    forward = func.attr in ("forward", "__call__")
    own = frame.class_of(base) if func.attr == "__call__" else None
    if own is not None and (method := own.reached("forward")) is not None:
        return call_function(frame, node, method, args, base.but(trait=Trait.SELF))
    if info is not None and base.kind is Kind.MODULE and func.attr == "__init__":
        inherit(frame, base, info, args)
    layer = None if info is None else base_of_torch(frame, info)
    whole = frame.object(base)
    if layer is not None and whole is not None and base.kind is Kind.MODULE and forward:
        # what the class adds to: `nn.Embedding.forward`
        part = frame.allocate((node, layer.name), replace(whole, entries={}, source=layer.name))
        return call_module(frame, node, func.value, base.but(data=part, trait=None), args)
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
        held = _held(frame, bound.receiver) if frame.discarded is node else None
        made = call_function(frame, node, bound.closure, Arguments(args.all), bound.receiver)
        if held and all(frame.state.heap[ref] is found for ref, found in held.items()):
            _tell_lost(frame, node, bound, made)
        return made
    arrivals.of_library(frame, bound.name, frame.world.table.get(bound.name))
    if gradients.is_about_gradients(bound):
        return gradients.called(frame, node, bound, args)
    if bound.receiver.kind is Kind.ENCODING:
        return encoding_method(frame, node, bound, args)
    args = replace(args, receiver=(bound.node, bound.receiver))
    row = frame.world.table.get(bound.name)
    if row is None:
        return NOTHING
    if row.managed:
        for _, value in args.all:
            frameworks.prepared(frame, node, value)
    owner, _, name = bound.name.rpartition(".")
    is_module = owner == "torch.nn.Module" or bound.receiver.kind is Kind.MODULE
    if is_module and name in SAME_MODULE:
        return bound.receiver
    if bound.receiver.kind is Kind.MODULE and row.effect is Effect.KEEP and row.inplace:
        if (given := args.find((0,))) is not None:
            containers.extend_module(frame, bound.receiver, given[1])
    return transfer.apply(frame, node, row, args)


def _held(frame: Frame, value: Value) -> dict[Ref, Object]:
    """An object, and all that it holds."""
    held: dict[Ref, Object] = {}
    waiting = [value]
    for each in waiting:
        found = frame.state.heap.get(each.data)
        if found is not None and each.data not in held:
            held[each.data] = found
            waiting += found.inside
    return held


def _tell_lost(frame: Frame, node: ir.Call, bound: Bound, made: Value) -> None:
    """An object of the project that holds nothing but tensors and plain values has given another
    one, on a device, and nobody takes that."""
    receiver, func = bound.receiver, node.func
    if not isinstance(func, ir.Attribute) or func.attr not in _COPIES or not frame.tells:
        return
    info = frame.class_of(receiver) if receiver.kind is Kind.INSTANCE else None
    another = made.kind is Kind.INSTANCE and made.data != receiver.data
    if info is None or not another or frame.class_of(made) is not info:
        return
    held = [each for found in _held(frame, receiver).values() for each in _contents(found)]
    if any(each.kind in TENSORS for each in held) and not any(each.kind in _OPEN for each in held):
        operand = frame.operand(func.value, receiver)
        context, device = frame.context(), frame.place(made)
        frame.record(
            Move(node, context, operand, func.attr, None, device, discarded=True, copies=True)
        )


def _contents(found: Object) -> Iterator[Value]:
    """What an object or a container is known to hold, and what stands for the rest of it."""
    yield from (*(found.items or ()), *found.entries.values())
    if found.items is None and not isinstance(found.source, ClassInfo):
        yield found.element


_OPEN = (Kind.UNKNOWN, Kind.PLACED, Kind.MODULE)
"""What a move may change in place."""
