"""Calls that leave it to a default where something is: an accelerator that the default of a
parameter names, though the program has a device at hand, and nothing where what they call hands the
parameter on to `torch.load` as `map_location`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.devices.named import accelerator_spelled
from devlint.flow.domain.lattice import UNKNOWN, Device, Known
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.values import NOTHING, TENSORS
from devlint.flow.facts import Ignored, IgnoredDevice, LeftOut
from devlint.flow.frames.arguments import omitted
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.syntax.walk import (
    always,
    by_parameter,
    defaults_to_none,
    descendants,
    first_parameter,
    inner_blocks,
    is_static,
    nodes_of,
)
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import is_named, last_name
from devlint.policy import means
from devlint.torchapi.effects import Row


def note(frame: Frame, node: ir.Call, closure: Closure, count: int) -> None:
    """Look at a call of a function of the project: what does it leave out?

    `count`: how many arguments it is given by position, its receiver among them.
    """
    function = closure.node
    if any(argument.star for argument in node.args):
        return
    named = {argument.keyword for argument in node.args}
    left = [each for each in omitted(function.params, named, count) if each.default is not None]
    if left:
        _note_load(frame, node, closure, {each.name for each in left if defaults_to_none(each)})
        _note_default(frame, node, closure, function, left)


def _note_default(
    frame: Frame,
    node: ir.Call,
    closure: Closure,
    function: ir.Function,
    left: list[ir.Parameter],
) -> None:
    """A default that names an accelerator, where the caller could say which device it is."""
    taken = next((each for each in left if accelerator_spelled(frame, each.default)), None)
    row = "" if taken is None else means("a-device", taken.name, "parameter")
    if taken is None or not row or _asks_for_cuda(function.body):
        return
    at_hand = next(_at_hand(frame, node, taken.name), None)
    if at_hand is None:
        return
    hop = Hop(taken, "the default is here")
    frame.record(
        IgnoredDevice(
            node, frame.context(row), taken.name, frame.name, Ignored.DEFAULTED, (hop,),
            closure.called_as, at_hand=at_hand,
        )
    )  # fmt: skip


def _at_hand(frame: Frame, call: ir.Call, name: str) -> Iterator[ir.Expr]:
    """What the caller could say: the device that it moves the result to, that of an argument, a
    variable of that name, or the device of its object."""
    inside = descendants(frame.function) if frame.function else nodes_of(frame.file.body)
    for node in inside:
        match node:
            case ir.Call(func=ir.Attribute(value=moved, attr="to"), args=(to, *_)):
                if moved is call and _is_open(frame, as_device(frame.ask(to.value))):
                    yield to.value
    for argument in call.args:
        value = frame.ask(argument.value) if is_named(argument.value) else NOTHING
        if value.kind in TENSORS and _is_open(frame, frame.place(value)):
            yield ir.Attribute(argument.value, "device")
    for each in dict.fromkeys((name, "device")):
        if _is_open(frame, as_device(frame.look_up(each) or NOTHING)):
            yield ir.Name(each)
    this = first_parameter(frame.function) if frame.owner is not None else ""
    found = frame.object(frame.look_up(this) or NOTHING) if this else None
    for each, value in ({} if found is None else found.entries).items():
        if means("device", each.lstrip("_"), "parameter") and _is_open(frame, as_device(value)):
            yield ir.Attribute(ir.Name(this), each)


def _is_open(frame: Frame, device: Device) -> bool:
    """Whether a device is one, and isn't known to be an accelerator."""
    device = frame.state.simplify(device)
    return device != UNKNOWN and not isinstance(device, Known)


def _asks_for_cuda(body: ir.Body) -> bool:
    return any(isinstance(n, ir.Attribute) and n.attr == "is_available" for n in nodes_of(body))


def _note_load(frame: Frame, node: ir.Call, closure: Closure, left: set[str]) -> None:
    for name, calls in _handed_on(frame, closure, left).items() if left else ():
        way = tuple(Hop(each, f"`{last_name(each.func)}` gets it here") for each in calls)
        frame.record(LeftOut(node, frame.context(), name, closure.name, way))
        return


_Ways = dict[str, tuple[ir.Call, ...]]
"""Calls that lead to what loads tensors, by the parameter that they hand on."""


def _handed_on(
    frame: Frame, closure: Closure, names: set[str], above: tuple[ir.Node, ...] = ()
) -> _Ways:
    """Which of its parameters a function gives to what loads tensors, as they came, whenever it
    runs: itself or by functions that it calls."""
    function = closure.node
    if function in above:
        return {}
    scan = closure.file.scan(function)
    frame.world.step(scan.size)
    names = names.difference(scan.assigned)
    return _in_body(frame, closure, function.body, names, (*above, function)) if names else {}


def _in_body(
    frame: Frame, closure: Closure, body: ir.Body, names: set[str], above: tuple[ir.Node, ...]
) -> _Ways:
    found: _Ways = {}
    for statement in body:
        if isinstance(statement, ir.If):
            first, second = (
                _in_body(frame, closure, branch, names, above)
                for branch in (statement.body, statement.orelse)
            )
            found |= {name: way for name, way in first.items() if name in second}
            continue
        for block, is_sure in inner_blocks(statement):
            if is_sure:
                found |= _in_body(frame, closure, block, names, above)
        for node in always(statement):
            if isinstance(node, ir.Call):
                found |= _in_call(frame, closure, node, names, above)
    return found


def _in_call(
    frame: Frame, closure: Closure, call: ir.Call, names: set[str], above: tuple[ir.Node, ...]
) -> _Ways:
    row = frame.world.table.get(name_in(closure.file, call.func))
    if row is not None:
        given = _place(call, row) if row.overlay == "load" else None
        return {given.id: (call,)} if isinstance(given, ir.Name) and given.id in names else {}
    called = _called(closure, call.func)
    if called is None:
        return {}
    bound = isinstance(call.func, ir.Attribute) and not is_static(called.node)
    taken = {
        name: each.value.id
        for name, each in by_parameter(called.node.params[bound:], call.args)
        if isinstance(each.value, ir.Name) and each.value.id in names
    }
    ways = _handed_on(frame, called, set(taken), above) if taken else {}
    return {taken[name]: (call, *way) for name, way in ways.items()}


def _called(closure: Closure, func: ir.Expr) -> Closure | None:
    """A function of the same file, or a method of the same object."""
    match func:
        case ir.Name(id=name):
            found = closure.file.names.get(name, NOTHING).data
            return found if isinstance(found, Closure) else None
        case ir.Attribute(value=ir.Name(id=this), attr=attr) if closure.owner is not None:
            if this == first_parameter(closure.node) and (method := closure.owner.method(attr)):
                return closure.owner.closure_of(method[1], method[0])
    return None


def _place(call: ir.Call, row: Row) -> ir.Expr | None:
    """The argument that says where what is loaded goes."""
    for at, argument in enumerate(call.args):
        if argument.star:
            return None
        if (argument.keyword or at) in row.device:
            return argument.value
    return None
