"""DEV203: a tensor made without a device meets one that follows the model or the input."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Level, Report
from devlint.flow.facts import Join, ModuleCall, Operand, Origin, Role
from devlint.rules import rule
from devlint.rules._meetings import (
    because,
    clash,
    device_of,
    fresh,
    made_on_default,
    move_to,
    named,
    pairs,
    remedy,
    sentence,
)


@rule("created-on-default-device", on=Join)
def created_on_default_device(join: Join) -> Iterator[Report]:
    """Report each fresh operand of an operation whose partner goes where the model goes."""
    for odd, partner in pairs(join.placed, join.context):
        if made_on_default(odd, partner, join.context):
            target = join.inplace and odd is join.placed[0]
            yield Report(
                at=odd.node,
                message=sentence(odd, partner),
                because=because(odd, partner),
                fix=None if target else move_to(odd, partner),
                help=remedy(odd, partner),
                level=None if join.context.role is Role.MODULE else Level.WARNING,
            )


@rule("created-on-default-device", on=ModuleCall)
def given_to_submodule(call: ModuleCall) -> Iterator[Report]:
    """Report each fresh input of a module that is called in a method of a module."""
    if call.context.role is not Role.MODULE:
        return  # DEV201 says it
    for odd in call.inputs:
        if fresh(odd) and clash(odd, call.module, call.context):
            near = _neighbour(call)
            yield Report(
                at=odd.node,
                message=sentence(odd, call.module),
                because=because(odd, call.module),
                fix=None if near is None else move_to(odd, near),
                help=remedy(odd, near or call.module, module=near is None),
            )


def _neighbour(call: ModuleCall) -> Operand | None:
    """Another input that is where the module is, and so tells the device."""
    for operand in call.inputs:
        follows = operand.origin is Origin.FOLLOWS or operand.device == call.module.device
        if follows and operand.kind.is_tensor_like and named(operand.node):
            return operand if device_of(operand) else None
    return None
