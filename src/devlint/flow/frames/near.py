"""What can be typed where things meet to say where one of them is; and a fact of a function of
another file, in words that can be typed at the call that led there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.values import TENSORS, Kind
from devlint.flow.facts import Fact, Operand
from devlint.flow.facts.meetings import changed
from devlint.flow.syntax.walk import by_parameter, descendants, first_row, mentions, targets
from devlint.model import ir
from devlint.model.trees import children, is_named, root_name

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame


def with_near(frame: Frame, operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """Operands, each with the part of it by which its place can be said, of a list the first, and
    with a variable for its device; and whether it is one of several that its node gives."""
    return tuple(
        replace(
            each,
            near=_near(frame, each),
            said=device_in(frame, each.device),
            among=each.among or _is_among(frame, each),
        )
        for each in operands
    )


def _is_among(frame: Frame, operand: Operand) -> bool:
    """Whether its node stands for a container, of which it is what all elements are."""
    whole = frame.ask(operand.node) if is_named(operand.node) else operand.value
    return whole.kind.is_container and not operand.kind.is_container


def device_in(frame: Frame, device: Device) -> ir.Expr | None:
    """A variable of a function, or of its file, that holds a device. Of a followed file only the
    names are known that somebody has asked for: it isn't looked through."""
    if device in (UNKNOWN, CPU):
        return None
    file = frame.file.names if frame.file.guest is None else {}
    for scope in (*frame.scopes, file):
        for name, value in scope.items():
            if value.kind is Kind.DEVICE and frame.state.simplify(value.device) == device:
                return ir.Name(name)
    return None


def _near(frame: Frame, operand: Operand) -> ir.Expr | None:
    if operand.device == UNKNOWN or is_named(operand.node) or frame.world.trial is not None:
        return None
    for node in _named(operand.node):
        value = frame.ask(node)
        found = frame.object(value)
        if found is not None and value.kind in (Kind.LIST, Kind.TUPLE):
            value, node = found.elements(), ir.Subscript(node, ir.Constant(0))
        if value.kind in TENSORS and frame.place(value) == operand.device:
            return node
    return None


def _named(node: ir.Node) -> Iterator[ir.Expr]:
    """The parts of an expression that have a name, from the left; not what it binds itself."""
    if isinstance(node, (ir.Comprehension, ir.Lambda, ir.Walrus, ir.Unpacked)):
        return
    if isinstance(node, ir.Expr) and is_named(node):
        yield node
    for child in children(node):
        yield from _named(child)


def at_call(frame: Frame, caller: Frame, call: ir.Call, fact: Fact) -> Fact:
    """The fact with the arguments of the call for what is made of them, each operand with a
    variable of the calling function for its device."""
    direct = frame.caller is caller

    def named(operand: Operand) -> Operand:
        given = _given(frame, call, operand.node) if direct else None
        near, said = _words(caller, call, operand.device)
        return replace(operand, node=operand.node if given is None else given, near=near, said=said)

    context = replace(fact.context, receiver=caller.context().receiver)
    return replace(changed(fact, named), context=context)


def _given(frame: Frame, call: ir.Call, node: ir.Expr) -> ir.Expr | None:
    """The argument of a call from which an expression of the function is made, if that is a tensor
    and still what it was."""
    name, function = root_name(node), frame.function
    if function is None or frame.loop is not None:
        return None
    if not frame.takes(name) or _is_bound_before(function, name, first_row(node)):
        return None
    value = frame.look_up(name)
    if value is None or value.kind not in TENSORS:
        return None
    taken = by_parameter(function.params[frame.owner is not None :], call.args)
    return next((argument.value for parameter, argument in taken if parameter == name), None)


def _is_bound_before(function: ir.Function, name: str, row: int) -> bool:
    return any(
        first_row(node) < row and any(mentions(target, name) for target in targets(node))
        for node in descendants(function)
    )


def _words(caller: Frame, call: ir.Call, device: Device) -> tuple[ir.Expr | None, ir.Expr | None]:
    """What stands for a tensor of a device among the arguments of a call, and a variable for that
    device, in the calling function or kept by the object whose method is called."""
    if device in (UNKNOWN, CPU) or caller.world.trial is not None:
        return None, None
    said = device_in(caller, device)
    if said is None and isinstance(call.func, ir.Attribute) and is_named(call.func.value):
        kept = ir.Attribute(call.func.value, "device")
        value = caller.ask(kept)
        if value.kind is Kind.DEVICE and caller.state.simplify(value.device) == device:
            said = kept
    for argument in call.args:
        if is_named(argument.value) and not argument.star:
            value = caller.ask(argument.value)
            if value.kind in TENSORS and caller.place(value) == device:
                return argument.value, said
    return None, said
