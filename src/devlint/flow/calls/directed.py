"""Modules that are given a device beside their inputs, to take them there."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.frames.arguments import Arguments
from devlint.flow.syntax.walk import descendants, mentions, self_attribute
from devlint.model import ir
from devlint.policy import means

_DEVICE = "device"


def is_given_device(args: Arguments) -> bool:
    """`model(batch, device)`, `model(batch, device=self.device)`"""
    return any(argument.keyword == _DEVICE or _is_device(argument) for argument, _ in args.all)


def takes_inputs_there(forward: ir.Function, names: set[str]) -> bool:
    """Whether a `forward` with a parameter `device` moves there what it makes of an input, or hands
    an input on with it to a part of its module: `self.encoder(x, device)`."""
    if not any(means("device", each.name, "parameter") for each in forward.params):
        return False
    this, inputs = forward.params[0].name, names - {_DEVICE}
    calls = (node for node in descendants(forward) if isinstance(node, ir.Call))
    return any(
        _is_device(each) and _takes(node, this, inputs) for node in calls for each in node.args
    )


def _takes(call: ir.Call, this: str, inputs: Iterable[str]) -> bool:
    """Whether a call moves something made of an input, or gives one to a part of the module."""
    if isinstance(call.func, ir.Attribute) and call.func.attr == "to":
        return any(mentions(call.func.value, name) for name in inputs)
    given = {each.value.id for each in call.args if isinstance(each.value, ir.Name)}
    return bool(self_attribute(call.func, this)) and not given.isdisjoint(inputs)


def _is_device(argument: ir.Argument) -> bool:
    last = ir.render(argument.value, 80).rpartition(".")[2]
    return bool(means("device", last, "variable"))
