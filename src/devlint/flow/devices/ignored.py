"""Devices that a function is given and has no use for: what it does in their place.

A parameter that nobody reads is no mistake by itself: an interface asks for it, or what the
function does needs no device. It is one where the function settles on another device.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.devices.dropped import device_parameter, record, tell_dropped
from devlint.flow.devices.named import accelerator_spelled
from devlint.flow.domain.derivation import shown
from devlint.flow.domain.lattice import Device, Symbol, is_place_of_argument, names_accelerator
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.values import Kind, Origin
from devlint.flow.domain.wording import hop
from devlint.flow.facts import AttributeWrite, DeviceUse, Fact, Ignored, Move
from devlint.flow.frames.files import ClassInfo, Closure, is_inner
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.forgotten import chosen_twice, goes_nowhere, parameter_like
from devlint.flow.syntax.walk import (
    by_parameter,
    descendants,
    docstring,
    mentions,
    nodes_of,
    self_attribute,
    uncalled,
)
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import called, dotted_name, last_name
from devlint.policy import means

_SEES_ALL_NAMES = frozenset(("locals", "vars", "eval", "exec"))
_TRANSPARENT = frozenset(("staticmethod", "classmethod", "no_grad", "inference_mode", "wraps"))
_MOVES = ("to", "cuda", "xpu")


def tell(frame: Frame, function: ir.Function, mark: int) -> None:
    """Record what a function that has run on its own did instead of using its device.

    `mark`: how many facts there were before it ran.
    """
    if not frame.recording:
        return
    _tell_chosen_twice(frame, function)
    named = device_parameter(function)
    parameter = named or parameter_like(function)
    if parameter is None or (frame.dropped_devices and tell_dropped(frame, parameter)):
        return
    scan = frame.file.scan(function)
    if scan.called & _SEES_ALL_NAMES or _is_documented(function):
        return
    if not any(mentions(each, parameter.name) for each in function.body):
        _tell_unread(frame, function, parameter, mark)
        return
    if named is None:
        return  # by another name, such as `gpu`, it may be there for something else
    if goes_nowhere(function, parameter.name):
        if _tell_unread(frame, function, parameter, mark, Ignored.UNUSED):
            return
    statement = _overwritten(function.body, parameter.name)
    if statement is not None and not _is_interface(frame, function):
        record(frame, parameter, statement, Ignored.OVERWRITTEN)
    late = _late(frame, function, parameter.name)
    if late is not None:
        record(frame, parameter, late[0], Ignored.LATE, (Hop(late[1], "stored here"),))


def _tell_chosen_twice(frame: Frame, function: ir.Function) -> None:
    if frame.owner is None or (twice := chosen_twice(function)) is None:
        return
    given, first, second = twice
    assert isinstance(first.targets[0], ir.Attribute)
    if frame.owner.method(first.targets[0].attr) is None:
        hops = (Hop(first, "stored here first"),)
        record(frame, given, second, Ignored.REPLACED, hops)


def _tell_unread(
    frame: Frame,
    function: ir.Function,
    parameter: ir.Parameter,
    mark: int,
    how: Ignored = Ignored.UNREAD,
) -> bool:
    """Record it where the function first settles on another device: that is what has to change.
    Whether there is anything to record."""
    instead = _instead(frame, parameter.name, mark)
    if not instead or _is_interface(frame, function):
        return False
    inside = set(nodes_of((*function.body, *frame.world.followed)))
    first = next((hop.node for hop in instead if hop.node in inside), None)
    if not isinstance(first, (ir.Expr, ir.Stmt)):
        record(frame, parameter, parameter, how, instead)
        return True
    others = tuple(hop for hop in instead if hop.node is not first)
    given = Hop(parameter, f"`{parameter.name}` is given here")
    record(frame, parameter, first, how, (given, *others))
    return True


def _is_documented(function: ir.Function) -> bool:
    """Whether the function says itself that a parameter of it does nothing."""
    return bool(means("unused", docstring(function), "docstring"))


# --- a parameter that nobody reads ---------------------------------------------------------------


def _instead(frame: Frame, name: str, mark: int) -> tuple[Hop, ...]:
    """The first lines of a function that settle on a device which isn't the one it was given."""
    facts = [f for f in frame.world.facts[mark:] if f.context.function == frame.qualname]
    settled = [(fact, hop) for fact in facts for hop in _of_fact(frame, fact, name)]
    used = [hop for fact, hop in settled if isinstance(fact, DeviceUse)]
    told = [hop for fact, hop in settled if not isinstance(fact, DeviceUse)]
    done = [*(told or used[:1] or _handed_on(frame)), *_returned(frame)]
    first = {hop.node: hop for hop in reversed(done)}
    return tuple(first.values())[::-1][:_MOST_HOPS]


_MOST_HOPS = 3


def _handed_on(frame: Frame) -> Iterator[Hop]:
    """Devices that are written where a function or a class of the project, or one that isn't known,
    is called with one: `build(n, device="cuda")`."""
    for node in nodes_of(frame.body):
        if isinstance(node, ir.Call):
            for name, given in by_parameter(_parameters(frame, node), node.args):
                device = accelerator_spelled(frame, given.value)
                if device is not None and means("device", name, "parameter"):
                    yield Hop(given.value, f"{device} is used here")


def _parameters(frame: Frame, node: ir.Call) -> tuple[ir.Parameter, ...]:
    """The parameters of what a call runs, where these are known."""
    value = frame.look_up(node.func.id) if isinstance(node.func, ir.Name) else None
    closure = value.data if value is not None else None
    return closure.node.params if isinstance(closure, Closure) else ()


def _returned(frame: Frame) -> Iterator[Hop]:
    """What is made where nobody asked for it, and returned."""
    for value, state in frame.returns:
        found = frame.object(value)
        parts = found.items or () if found is not None and value.kind is Kind.TUPLE else (value,)
        for part in parts:
            made = shown(part.trace)
            if part.kind is Kind.TENSOR and part.origin is Origin.DEFAULT and made is not None:
                if part.scalar is not True and state.default == part.device:
                    yield hop(made)


def _of_fact(frame: Frame, fact: Fact, name: str) -> Iterator[Hop]:
    match fact:
        case Move(method=method, target=target, device=device) if method in _MOVES:
            if _settles(frame, device) and (target is not None or method != "to"):
                yield Hop(fact.node, f"moved to {device} here")
        case DeviceUse(operand=operand, via=via) if via != "default":
            used = as_device(operand.value)
            if _settles(frame, used):
                yield Hop(fact.node, f"{used} is used here")
        case AttributeWrite(attr=attr, value=value) if attr == name:
            if value.kind is not Kind.NONE:
                yield Hop(fact.node, f"`{attr}` becomes `{value}` here")


def _settles(frame: Frame, device: Device) -> bool:
    """Whether a device is one that the function, and none of its arguments, decides on."""
    if not isinstance(device, Symbol):
        return names_accelerator(device)
    function = frame.function
    names = {p.name for p in function.params[1:]} if function is not None else set()
    return not is_place_of_argument(device) and device.key.split(".")[0] not in names


def _is_interface(frame: Frame, function: ir.Function) -> bool:
    """Whether others may ask for the parameter: a method that overrides or is overridden, a
    function that is decorated or handed over, or one inside of another."""
    if is_inner(frame) or any(
        last_name(called(each)) not in _TRANSPARENT for each in function.decorators
    ):
        return True
    info = frame.owner
    if info is None:
        return _is_handed_over(frame, function.name)
    if function.name == "__init__":
        return False
    if function.name.startswith("__") and function.name.endswith("__"):
        return True
    return _is_overridden(frame, info, function.name) or _is_handed_over(frame, function.name)


def _is_overridden(frame: Frame, info: ClassInfo, name: str) -> bool:
    """Whether a method overrides another or is overridden, or whether another class of the file
    has one of that name, as classes with one interface do."""
    return info.is_open or any(
        name in each.methods for each in frame.file.classes.values() if each is not info
    )


def _is_handed_over(frame: Frame, name: str) -> bool:
    """Whether a function is used as a value somewhere in the file: it may be a callback."""
    return any(
        isinstance(node, ir.Name) or not dotted(frame, node.value)  # `torch.cuda` is no method
        for node in frame.file.once(uncalled, frame.file.body).get(name, ())
    )


# --- one that is bound anew ----------------------------------------------------------------------


def _overwritten(body: ir.Body, name: str) -> ir.Assign | None:
    """The assignment that binds a parameter anew before anything has read it."""
    for statement in body:
        if isinstance(statement, ir.Assign) and statement.value is not None:
            bound = any(isinstance(t, ir.Name) and t.id == name for t in statement.targets)
            if bound and not mentions(statement.value, name):
                return statement if _decides(statement.value) else None
        if mentions(statement, name):
            return None
    return None


def _decides(value: ir.Expr) -> bool:
    """Whether a value is a device that the function chooses, rather than none, or one on which
    nothing is computed."""
    if isinstance(value, ir.Constant) and not isinstance(value.value, str):
        return False
    spelled = (each.value for each in descendants(value) if isinstance(each, ir.Constant))
    return "meta" not in spelled


# --- one that is stored too late -----------------------------------------------------------------


def _late(frame: Frame, function: ir.Function, name: str) -> tuple[ir.Expr, ir.Stmt] | None:
    """`self.device` used as a device, before `self.device = device`."""
    if frame.owner is None or function.name == "__init__" or not function.params:
        return None
    this, used = function.params[0].name, None
    for statement in function.body:
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Name):
            stores = any(self_attribute(target, this) == name for target in statement.targets)
            if stores and statement.value.id == name:
                return None if used is None else (used, statement)
        used = used or next(_used_as_device(statement, this, name), None)
    return None


def _used_as_device(statement: ir.Stmt, this: str, name: str) -> Iterator[ir.Expr]:
    for node in descendants(statement):
        if isinstance(node, ir.Call):
            given = [a.value for a in node.args if a.keyword == name]
            if isinstance(node.func, ir.Attribute) and node.func.attr == "to" and node.args:
                given.append(node.args[0].value)
            if dotted_name(node.func).startswith("torch.cuda."):
                given = []
        elif isinstance(node, ir.Mapping):
            given = [v for k, v in node.items if isinstance(k, ir.Constant) and k.value == name]
        else:
            continue
        yield from (each for each in given if self_attribute(each, this) == name)
