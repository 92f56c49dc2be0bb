"""Calls of what isn't known: of a part that a module was given or that a class of another project
made, of models, losses and tokenizers that nobody here made.

A module registers its parts and takes them along, so what one gives is where its input is. What
looks things up for the host, a matcher or a metric, is left alone. Of others the names say what
they are, where this code has moved what they are called with.
"""

from __future__ import annotations

from devlint.flow.calls.module_calls import call_module
from devlint.flow.calls.module_inputs import is_of_integers
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, Symbol, may_be_accelerator
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.effects.model_overlays import encoded, encoding
from devlint.flow.facts import Role
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import meet
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


def of_part(frame: Frame, node: ir.Call, func: ir.Attribute, args: Arguments) -> Value:
    """What a part of `self` gives of tensors that follow the module."""
    first = next((value for _, value in args.all if value.kind.is_tensor_like), None)
    if first is None or first.origin is not Origin.FOLLOWS or not _is_part(frame, func.attr):
        return NOTHING
    if frame.role is not Role.MODULE or means("looks-up", func.attr, "variable"):
        return NOTHING
    if not isinstance(frame.place(first), Symbol):
        return NOTHING
    told = Step(Sort.PART_FOLLOWS, node, first.trace, name=ir.render(func))
    part = Value(Kind.MODULE, first.device, origin=Origin.FOLLOWS, trace=first.trace)
    given = [(argument.value, v) for argument, v in args.all if not is_of_integers(v)]
    meet.call_module(frame, node, (func, part), given)
    return Value(
        Kind.BATCH, first.device, origin=Origin.FOLLOWS, grad=True, trait=Trait.PART, trace=told
    )


def _is_part(frame: Frame, name: str) -> bool:
    """Whether the constructor was given an attribute, or calls a class to make it; it may be left
    out (`self.decoder = None`)."""
    stores, owner = frame.world.classes.stores, frame.owner
    stored = [] if owner is None else stores.get((owner, name), [])
    made = [operand.node for _, operand in stored if operand.kind is not Kind.NONE]
    return bool(made) and all(_gives_part(owner, node) for node in made)


def _gives_part(owner: ClassInfo | None, node: ir.Expr) -> bool:
    if isinstance(node, ir.Call):
        return bool(means("class", last_name(node.func), "function"))
    init = None if owner is None else owner.method("__init__")
    if init is None or not isinstance(node, ir.Name):
        return False
    return any(p.name == node.id and p.default is None for p in init[1].params)


def tokenizes(func: ir.Expr) -> bool:
    """Whether what is called makes tokens of texts, by its name."""
    return bool(means("tokenizer", last_name(func), "function"))


def is_loss(func: ir.Expr) -> str:
    """The row by which something is a loss, "" for none. Most of them hold nothing, and are
    nowhere."""
    return means("loss", last_name(func), "variable")


def called(frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments) -> Value:
    """The result of something that isn't known, called with what this code has moved.

    A model that is called with a moved tensor first is where that was moved, or the call fails;
    what it gives is there too. A loss of two tensors takes both in one place. A tokenizer that is
    asked for tensors makes them on the host.
    """
    name = last_name(func)
    if args.keyword("return_tensors") is not None:
        owner = last_name(func.value) if isinstance(func, ir.Attribute) else ""
        if row := means("tokenizer", owner, "variable"):
            return encoded(frame, node, name, args, row)
        if row := means("tokenizer", name, "variable"):
            return encoding(frame, node, args, row)
    given = [(argument.value, value) for argument, value in args.all]
    tensors = [pair for pair in given if pair[1].kind in TENSORS]
    if not tensors or args.unpacked:
        return NOTHING
    if len(given) == len(tensors) == 2 and (row := is_loss(func)):
        taken = [(each, value.step(Sort.HYPOTHESIS, node, row)) for each, value in tensors]
        return meet.meet(frame, node, ir.render(func), taken)
    if tensors[0] is given[0] and (row := means("model", name, "variable")):
        expression, value = tensors[0]
        first = expression, value.step(Sort.HYPOTHESIS, node, row)
        return _output(frame, node, func, args, first)
    return NOTHING


def _output(
    frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments, first: tuple[ir.Expr, Value]
) -> Value:
    expression, value = first
    place = frame.place(value)
    if value.origin is not Origin.MOVED or place == UNKNOWN or not may_be_accelerator(place):
        return NOTHING
    moved = Step(Sort.MODEL_FOLLOWS, node, value.trace, place, ir.render(expression))
    guarded = Trait.GUARDED if value.trait is Trait.GUARDED else None
    model = Value(Kind.MODULE, place, trait=guarded, trace=moved)
    if isinstance(func, ir.Name) and not guarded:
        before = frame.look_up(func.id) or NOTHING  # it takes what is there
        frame.state.env[func.id] = Value(
            Kind.UNKNOWN, place, before.data, trait=Trait.IF_MODULE, trace=moved
        )
    return call_module(frame, node, func, model, args)
