"""Calls of what isn't known: of a part that a module was given or that a class of another project
made, of models, losses and tokenizers that nobody here made.

A module registers its parts and takes them along, so what one gives is where its input is. What
looks things up for the host, a matcher or a metric, is left alone. Of others the names say what
they are, where this code has moved what they are called with.
"""

from __future__ import annotations

import re

from devlint.flow.calls.integers import is_of_integers
from devlint.flow.calls.module_calls import call_module
from devlint.flow.devices.named import last_name
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

_ON_THE_HOST = re.compile(
    r"match|assign|sampl|token|process|decode(?!r)|metric|nms|select|logg|config|cfg|transform|callback"
    r"|writer|index|thresh|to_|item|len|collat|schedul|hook|host|numpy|cpu",
    re.IGNORECASE,
)


def of_part(frame: Frame, node: ir.Call, func: ir.Attribute, args: Arguments) -> Value:
    """What a part of `self` gives of tensors that follow the module."""
    if frame.role is not Role.MODULE or _ON_THE_HOST.search(func.attr):
        return NOTHING
    first = next((value for _, value in args.all if value.kind.is_tensor_like), None)
    if first is None or first.origin is not Origin.FOLLOWS or not _is_part(frame, func.attr):
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
    stores = frame.world.stores.get((frame.owner, name), []) if frame.owner is not None else []
    made = [operand.node for _, operand in stores if operand.kind is not Kind.NONE]
    return bool(made) and all(_gives_part(frame.owner, node) for node in made)


def _gives_part(owner: ClassInfo | None, node: ir.Expr) -> bool:
    if isinstance(node, ir.Call):
        return last_name(node.func)[:1].isupper()
    init = None if owner is None else owner.method("__init__")
    if init is None or not isinstance(node, ir.Name):
        return False
    return any(p.name == node.id and p.default is None for p in init[1].params)


_MODEL = re.compile(
    r"(^|_)(model|net|network|net[DG]|encoder|decoder|backbone|classifier|discriminator|generator"
    r"|student|teacher)$"
)
_TOKENIZER = re.compile(r"(^|_)tokenizer(_?\d)?$")
_LOSS = re.compile(r"(^|_)(criterion|loss_?(fn|func|function|fct))$")


_TOKENIZES = re.compile(r"tokeni[sz]|encode_plus", re.IGNORECASE)


def tokenizes(func: ir.Expr) -> bool:
    """Whether what is called makes tokens of texts, by its name."""
    return _TOKENIZES.search(last_name(func)) is not None


def is_loss(func: ir.Expr) -> bool:
    """Whether something is a loss by its name. Most of them hold nothing, and are nowhere."""
    return _LOSS.search(last_name(func)) is not None


def called(frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments) -> Value:
    """The result of something that isn't known, called with what this code has moved.

    A model that is called with a moved tensor first is where that was moved, or the call fails;
    what it gives is there too. A loss of two tensors takes both in one place. A tokenizer that is
    asked for tensors makes them on the host.
    """
    name = last_name(func)
    if args.keyword("return_tensors") is not None:
        if _TOKENIZER.search(name):
            return encoding(frame, node, args)
        if isinstance(func, ir.Attribute) and _TOKENIZER.search(last_name(func.value)):
            return encoded(frame, node, name, args)
    given = [(argument.value, value) for argument, value in args.all]
    tensors = [pair for pair in given if pair[1].kind in TENSORS]
    if not tensors or args.unpacked:
        return NOTHING
    if len(given) == len(tensors) == 2 and is_loss(func):
        return meet.meet(frame, node, ir.render(func), tensors)
    if _MODEL.search(name) and tensors[0] is given[0]:
        return _output(frame, node, func, args, tensors[0])
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
