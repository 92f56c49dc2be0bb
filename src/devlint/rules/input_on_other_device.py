"""DEV201: a module on one device is called with a value on another."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

from devlint.flow.facts import Kind, ModuleCall, Operand, Origin, Role, Symbol
from devlint.model import ir
from devlint.model.reports import Report
from devlint.model.trees import key
from devlint.rules import rule
from devlint.rules._meetings import because, clash, confidence, fresh, is_left, root, sentence
from devlint.rules._moving import move_from_the_start
from devlint.rules._remedies import remedy


@rule("input-on-other-device", on=ModuleCall)
def input_on_other_device(call: ModuleCall) -> Iterator[Report]:
    """Report each input that is elsewhere than the module: `x` of `model(x, labels=x)` once."""
    module = call.module
    if module.origin is Origin.INPUT and isinstance(module.device, Symbol):
        return  # a model that came as an argument may well be meant to be on the CPU
    if is_left(module):
        return  # DEV208 says it
    told: set[Hashable] = set()
    for given in call.inputs:
        if key(given.node) in told or (fresh(given) and call.context.role is Role.MODULE):
            continue  # said already, or DEV203 says it
        if clash(given, module, call.context):
            told.add(key(given.node))
            yield Report(
                at=given.node,
                message=sentence(given, module),
                because=because(given, module),
                fix=move_from_the_start(_whole(call, given), module, module=True),
                help=remedy(given, module, module=True),
                confidence=confidence(given.device, module.device),
                root=root(given),
            )


def _whole(call: ModuleCall, given: Operand) -> Operand:
    """What a loader gives is a dict where it is unpacked into keywords."""
    for argument in call.node.args:
        if argument.value is given.node and argument.star == "**" and given.kind is Kind.BATCH:
            return replace(given, node=ir.Unpacked(argument))
    return given
