"""What goes wrong inside a function of another file that a call of this file leads to."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from devlint.flow.domain.keys import LOCAL, asks_for_accelerator, is_local
from devlint.flow.domain.lattice import conditions, only_host, symbols
from devlint.flow.domain.paths import Turn
from devlint.flow.facts import (
    AttributeRead,
    Device,
    Draw,
    Elsewhere,
    Fact,
    HostRead,
    Operand,
    Origin,
    Role,
    Symbol,
)
from devlint.flow.facts.meetings import changed, met
from devlint.flow.frames.files import Closure
from devlint.flow.frames.near import at_call
from devlint.flow.syntax.walk import descendants, names_in
from devlint.model import ir
from devlint.model.trees import last_name

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame


def at_call_site(frame: Frame, fact: Fact) -> Elsewhere | None:
    """A fact of a followed function, as one of the call that leads there from the linted file.

    Only where things meet hangs on what they are called with; all else is told of the other file
    itself. Conditions that are settled at the call are settled for what it passes on.
    """
    caller = frame
    while caller.is_guest and caller.caller is not None and not caller.expecting:
        caller = caller.caller
    if caller.is_guest or caller.expecting:
        return None
    seen = _seen_by(caller, fact)
    if (
        seen is None
        or _on_purpose(frame, caller, seen)
        or _is_its_own(seen)
        or _is_asked(frame, seen)
    ):
        return None
    call = next(each for each in frame.site[len(caller.site) :] if not isinstance(each, Turn))
    here = at_call(frame, caller, call, seen) if isinstance(call, ir.Call) else None
    return Elsewhere(call, caller.context(), seen, frame.qualname, here)


def _seen_by(caller: Frame, fact: Fact) -> Fact | None:
    """A fact under the conditions that hold at the call; None where it doesn't hang on that."""

    def seen(operand: Operand) -> Operand:
        return replace(operand, device=caller.state.simplify(operand.device))

    found = changed(fact, seen)
    own = found is fact or (isinstance(fact, AttributeRead) and fact.call is None)
    return None if own else found


def _on_purpose(frame: Frame, caller: Frame, fact: Fact) -> bool:
    """Whether something was brought to the host to meet arguments of the calling function that may
    well be there too, or was made there by what makes data."""
    operands = _operands(fact)
    away = [each for each in operands if not only_host(each.device)]
    brought = any(only_host(each.device) and each.origin is Origin.MOVED for each in operands)
    on_host = brought or frame.role is Role.DATA
    return on_host and all(_is_of_argument(caller, each.device) for each in away)


def _is_its_own(fact: Fact) -> bool:
    """Whether a place hangs on what the functions themselves found out, or on several conditions
    of their caller, besides what is there, which may leave no other choice."""
    return hangs_on_finding(fact) or any(
        sum(not asks_for_accelerator(key) for key in conditions(each.device)) > 1
        or any(is_local(symbol.key) for symbol in symbols(each.device))
        for each in _operands(fact)
    )


def hangs_on_finding(fact: Fact) -> bool:
    """Whether where something is hangs on a condition that another file found out for itself:
    what it brings together may leave no other choice."""
    return any(is_local(key) for each in _operands(fact) for key in conditions(each.device))


_ASK_FOR_TYPE = ("isinstance", "issubclass", "hasattr", "type", "is_tensor", "is_floating_point")


def _is_asked(frame: Frame, fact: Fact) -> bool:
    """Whether the function asks what it is given: a call may as well take the other branch.

    One that makes an array of something takes tensors and arrays, and does with each what can be
    done with it. Only a tensor has `.numpy()`; who speaks of arrays beside it may give back what
    came as one.
    """
    if frame.function is None:
        return False
    if not isinstance(fact, HostRead):
        return frame.arm is not None and _asks(frame, frame.arm.test)
    if fact.method == "numpy":
        inside = descendants(frame.function)
        return any(isinstance(node, ir.Attribute) and node.attr == "ndarray" for node in inside)
    return _asks(frame, frame.function, set(names_in(fact.receiver.node)))


def _asks(frame: Frame, inside: ir.Node, names: Container[str] | None = None) -> bool:
    """Whether a node asks of what type a name is: one of `names`, or any."""
    return any(
        isinstance(node, ir.Call)
        and (_asks_for_type(node) or _leads_to_question(frame, node.func))
        and any(
            isinstance(a.value, ir.Name) and (names is None or a.value.id in names)
            for a in node.args
        )
        for node in descendants(inside)
    )


def _asks_for_type(node: ir.Node) -> bool:
    return isinstance(node, ir.Call) and last_name(node.func) in _ASK_FOR_TYPE


def _leads_to_question(frame: Frame, func: ir.Expr) -> bool:
    """Whether a function of the project asks itself: `is_one(index)`."""
    value = frame.look_up(func.id) if isinstance(func, ir.Name) else None
    if value is None or not isinstance(value.data, Closure):
        return False
    return any(map(_asks_for_type, descendants(value.data.node)))


def local_name(frame: Frame, name: str) -> str:
    """How a name that a function binds is called outside of it: its file may be another one."""
    return f"{name}{LOCAL}{frame.qualname}" if frame.is_guest else name


def _operands(fact: Fact) -> tuple[Operand, ...]:
    match fact:
        case Draw(generator=Operand() as operand):
            return (operand,)
    return met(fact)


def _is_of_argument(caller: Frame, device: Device) -> bool:
    """Whether a place is where an argument of the calling function is."""
    if not isinstance(device, Symbol) or not device.key.endswith(".device"):
        return False
    given = () if caller.function is None else caller.function.params
    return device.is_spelled and any(device.key.startswith(f"{each.name}.") for each in given)
