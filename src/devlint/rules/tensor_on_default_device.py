"""DEV203: a tensor made without a device meets one that follows the model or the input."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    TENSORS,
    THE_MODULE,
    AttributeWrite,
    Fact,
    Guarded,
    Join,
    Kind,
    ModuleCall,
    Operand,
    Origin,
    Role,
    Symbol,
    device_at,
    difference,
    only_host,
)
from devlint.model import ir
from devlint.model.findings import Confidence, Level, Safety
from devlint.model.reports import Change, Hop, Report
from devlint.model.trees import is_named, written
from devlint.rules import rule
from devlint.rules._meetings import (
    clash,
    confidence,
    creation,
    distinct,
    fresh,
    is_own_place,
    is_place_of,
    made_on_default,
    pairs,
    place,
    where,
)
from devlint.rules._moving import keep_target, make_there, move_where_used, put_in_creation
from devlint.rules._remedies import Words, devices_of, first_name, names_in


@rule("tensor-on-default-device", on=Join)
def tensor_on_default_device(join: Join) -> Iterator[Report]:
    """Report each fresh operand of an operation whose partner goes where the model goes."""
    for odd, partner in pairs(join.placed, join.context):
        if made_on_default(odd, partner, join.context):
            level = None if join.context.role is Role.MODULE else Level.WARNING
            yield _report(join, odd, partner, partner, level)


@rule("tensor-on-default-device", on=ModuleCall)
def given_to_submodule(call: ModuleCall) -> Iterator[Report]:
    """Report each fresh input of a module that is called in a method of a module."""
    if call.context.role is not Role.MODULE:
        return  # DEV201 says it
    for odd in call.inputs:
        if fresh(odd) and clash(odd, call.module, call.context):
            yield _report(call, odd, call.module, _neighbour(call), None)


@rule("tensor-on-default-device", on=AttributeWrite)
def made_anew(write: AttributeWrite) -> Iterator[Report]:
    """`reset_parameters` runs again after the module has been moved or taken off the meta device:
    report a parameter or a buffer that it makes on the CPU."""
    value = write.value
    if not write.anew or not fresh(value) or not only_host(value.device) or value.value.scalar:
        return
    target = f"{written(write.receiver.node)}.{write.attr}"
    rewrites = put_in_creation(value.node, f"{target}.device")
    yield Report(
        at=write.node,
        message=f"`{target}` is made on cpu here, wherever the module is when "
        "`reset_parameters` runs again",
        because=value.trace,
        fix=Change(f"Make it on `{target}.device`", rewrites, Safety.UNSAFE) if rewrites else None,
        help=f"make it where it was: `device={target}.device`",
        level=Level.WARNING,
        confidence=Confidence.MEDIUM,
        cause=creation(value),
    )


def _report(
    fact: Fact, odd: Operand, partner: Operand, near: Operand | None, level: Level | None
) -> Report:
    """The creation is what to fix, so it is reported, however often the tensor is used.

    `near` is a tensor that is where `partner` is, and so tells the device.
    """
    made = creation(odd)
    fix = _make_it_there(fact, odd, partner, near)
    if fix is not None and near is not None:
        help = f"make it where `{near}` is"
    else:
        help = f"{_elsewhere(partner)}, or move it before they meet"
    first = tuple(hop for hop in odd.trace if hop.node is made)
    meeting = Hop(fact.node, "they meet here")
    return Report(
        at=made,
        message=_sentence(odd, partner, " here"),
        from_afar=_sentence(odd, partner, ""),
        because=distinct((*first, *partner.trace, *odd.trace, meeting)),
        fix=fix,
        help=help,
        level=level,
        confidence=confidence(odd.device, partner.device),
        cause=made,
        root=made,
    )


def _sentence(odd: Operand, partner: Operand, here: str) -> str:
    named, followed = isinstance(odd.node, ir.Name), odd.is_moved
    name = f"`{odd}`" if named and not followed and not odd.passed else "this tensor"
    found = difference(odd.device, partner.device)
    placed, when = where(odd, partner)
    made = f"{name} is made {placed}{here}{when}, but"
    if named and followed:
        made += f" `{odd}`, which goes along,"
    if odd.node is partner.node:
        return f"this tensor is made {place(odd)}, but others in `{odd}` are not"
    if is_own_place(partner):
        return f"{made} meets `{partner}`, which may be on an accelerator"
    if isinstance(partner.device, Guarded) and found is not None:
        there = device_at(partner.device, found.when)
        return f"{made} meets `{partner}`, which may be {place(there)}"
    return f"{made} meets `{partner}`, which is {place(partner)}"


def _neighbour(call: ModuleCall) -> Operand | None:
    """Another input that is where the module is, and so tells the device."""
    for operand in call.inputs:
        follows = operand.origin is Origin.FOLLOWS or operand.device == call.module.device
        if follows and operand.kind.is_tensor_like and is_named(operand.node):
            return operand
    return None


def _elsewhere(partner: Operand) -> str:
    """How to make it where `partner` is, of which nothing else is known to be there."""
    if partner.device == THE_MODULE:
        return "make it on the device of the module, as `device=next(self.parameters()).device`"
    return f"make it with `device={_expression(partner)}`"


def _expression(partner: Operand) -> str:
    """The expression of the source that says where `partner` is, or ""."""
    device = partner.device
    return device.label if isinstance(device, Symbol) and device.is_spelled else ""


# --- the fix -------------------------------------------------------------------------------


def _make_it_there(
    fact: Fact, odd: Operand, partner: Operand, near: Operand | None
) -> Change | None:
    """Make it where `partner` is, by what can be typed where it is made: where `near` is, as the
    program says it of `partner`, or where the module is whose method this is. Else move it."""
    if odd.kind not in TENSORS or odd.node is partner.node:
        return None
    devices = devices_of(partner, partner.kind is Kind.MODULE)
    if near is not None and odd.node is not near.node:
        own = Words(f"{written(near.node)}.device", names_in(near.node), near.node)
        if _is_argument(near) and (device := _expression(near)):
            own = Words(device, (first_name(device),), near.node)
        if is_named(near.node) or _is_argument(near):
            devices = [own, *(words for words in devices if words.told is not near.node)]
    this = fact.context.receiver
    if partner.device == THE_MODULE and this:
        devices.append(
            Words(f"next({this}.parameters()).device", (this,), peers=partner.node, of_module=True)
        )
    if isinstance(fact, Join) and fact.inplace and odd is fact.placed[0]:
        return keep_target(odd, partner, devices)
    return make_there(odd, devices, move_where_used(odd, devices))


def _receiver(node: ir.Expr) -> ir.Expr | None:
    """`x` of `x[0]` and `x.sum()`."""
    match node:
        case ir.Call(func=ir.Attribute(value=inner)) | ir.Subscript(value=inner):
            return inner
    return None


def _is_argument(operand: Operand) -> bool:
    """Whether it is an argument of the function, or made of one: `x`, `x.sum()`, `batch.x[0]`."""
    node, inner = operand.node, _receiver(operand.node)
    while inner is not None:
        node, inner = inner, _receiver(inner)
    return is_named(node) and is_place_of(operand.device, node)
