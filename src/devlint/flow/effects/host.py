"""Tensors that the host reads: `.numpy()`, numpy's functions, lengths of sequences.

And arguments that a function sends to a device: there they weren't before.
"""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import asks_type_of
from devlint.flow.domain.lattice import (
    UNKNOWN,
    Device,
    Symbol,
    is_chosen,
    is_place_of_argument,
    leaves,
    may_be_accelerator,
    names_accelerator,
    only_host,
    parameter_of,
    path_of,
    symbols,
)
from devlint.flow.domain.paths import identity
from devlint.flow.domain.traits import ELEMENTS, Trait
from devlint.flow.domain.values import TENSORS, Kind, Origin, Value, as_loaded
from devlint.flow.effects.use import Use, arguments_of
from devlint.flow.facts import HostRead, Operand, Role
from devlint.flow.frames.arguments import Given, Taken
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.noted import note_argument
from devlint.flow.frames.world import World
from devlint.flow.operations.meet import on_host
from devlint.flow.syntax import homeward
from devlint.model import ir
from devlint.policy import means


def tell_read(
    frame: Frame,
    at: ir.Call | ir.Subscript,
    given: Given,
    method: str,
    container: Kind | None = None,
) -> None:
    """A tensor is read on the host: the fact where there is a reason to think of an accelerator."""
    node, value = given
    if value.kind not in TENSORS or (method == "__array__" and value.trait is Trait.PART):
        return  # `output.names` may be anything that numpy takes
    if method in ("__array__", "cpu-only") and value.trait in (Trait.BESIDE, Trait.FIRST):
        return  # lengths or a number, it may be; `.numpy()` is of tensors only
    operand = frame.operand(node, value)
    if _is_no_tensor(frame, operand) or on_host(frame, (operand,)):
        return
    if value.origin in (Origin.INPUT, Origin.FOLLOWS) and isinstance(operand.device, Symbol):
        note_argument(frame, frame.world.callers.read_on_host, operand.device)
    followed = value.origin in (Origin.MOVED, Origin.FOLLOWS)
    if is_place_of_argument(operand.device):
        followed = followed and method == "cpu-only" and _is_made_of_input(operand, frame.role)
    elif method != "cpu-only" and _is_where_arguments_are(frame, operand.device):
        followed = False
    open_yet = method == "numpy" and not followed and not only_host(operand.device)
    if open_yet and isinstance(at, ir.Call) and tell_copied_elsewhere(frame, at, node):
        return
    if followed and method != "cpu-only" and _is_of_host_code(frame, operand):
        if frame.is_followed or value.origin is not Origin.FOLLOWS:
            return
        frame.world.callers.run_on_host |= {frame.qualname, class_around(frame.qualname)}
    if may_be_accelerator(operand.device) and (followed or names_accelerator(operand.device)):
        read = HostRead(at, frame.context(), operand, method, value.grad, container)
        frame.record(read)


def _is_where_arguments_are(frame: Frame, device: Device) -> bool:
    """Whether it is where tensors are that the running function is given, as far as anything is
    known of it: something else may stand in for them."""
    places = list(symbols(device))
    given = all(is_place_of_argument(each) and frame.takes(parameter_of(each)) for each in places)
    return bool(places) and given and not names_accelerator(device)


def tell_inside(use: Use, given: Given, whole: ir.Expr, container: Kind) -> None:
    """What a container holds is read on the host; its node may be that of the whole."""
    inside = container if given[0] is whole else None
    tell_read(use.frame, use.node, given, "__array__", inside)


def tell_copied_elsewhere(frame: Frame, read: ir.Call, node: ir.Expr) -> bool:
    """`.numpy()` of what another line copies to the host first: whether the fact was told."""
    function = frame.function
    body, params = (frame.file.body, ()) if function is None else (function.body, function.params)
    found = homeward.copied_elsewhere(body, params, read, frame.file.parts)
    if found is None:
        return False
    copy, path = found
    there = Symbol(f"{path}.device", f"the device of `{path}`", described=True)
    told = Step(Sort.COPIED_ELSEWHERE, copy)
    value = Value(Kind.TENSOR, there, origin=Origin.FOLLOWS, trace=told)
    frame.record(HostRead(read, frame.context(), frame.operand(node, value), "numpy"))
    return True


def _is_of_host_code(frame: Frame, operand: Operand) -> bool:
    """Whether nobody has chosen the place, in a file that never speaks of devices: what the host
    reads there of a module is on the host, and so is the module."""
    quiet = not frame.file.speaks_of_devices and frame.role is not Role.MANAGED
    return quiet and isinstance(operand.device, Symbol) and not is_chosen(operand.device)


def class_around(qualname: str) -> str:
    """The dotted name of the class in which a method stands; that of a function itself."""
    return qualname.rpartition(".")[0] or qualname


def _is_no_tensor(frame: Frame, operand: Operand) -> bool:
    """Whether this branch has asked what an argument is, and runs where that is no tensor."""
    if not is_place_of_argument(operand.device) or not isinstance(operand.device, Symbol):
        return False
    name = operand.device.key.partition(".")[0]
    return frame.state.known.any(lambda key, holds: holds and asks_type_of(key, name))


def _is_made_of_input(operand: Operand, role: Role) -> bool:
    """Whether lengths are counted in an input of a module (`(tokens != 0).sum(1)`), and not given
    to it: lengths that are given, or are a part of what is, are on the CPU by custom."""
    if role is not Role.MODULE or not isinstance(operand.device, Symbol):
        return False
    if operand.value.trait in ELEMENTS:
        return False
    root = path_of(operand.device)
    return identity(operand.node) != root and not means("host-number", root, "variable")


def note_listed(use: Use) -> None:
    """`rows.tolist()`: a function that lists the values of an argument is for data of the host."""
    receiver = use.args.receiver
    if receiver is not None and receiver[1].origin is Origin.INPUT:
        place = use.frame.place(receiver[1])
        if isinstance(place, Symbol):
            note_argument(use.frame, use.frame.world.callers.read_on_host, place)


def read_cpu_only(use: Use) -> None:
    """Arguments that must be on the host are read there. What a list holds is read one by one."""
    for node, value in arguments_of(use, use.row.cpu_only):
        if use.row.tensors:
            value = as_loaded(value)
        tell_read(use.frame, use.node, (node, value), "cpu-only")


def note_sent(frame: Frame, base: ir.Expr, value: Value, device: Device) -> None:
    """Remember that the running function sends an argument, or a part of it, to a device that was
    chosen, alone or put together with others; and that it sends on what it has computed of one."""
    place = frame.place(value)
    if not isinstance(place, Symbol) or place == device or only_host(device):
        return
    paths = map(identity, _put_together(base))
    if not any(path and place.key.startswith(f"{path}.") for path in paths):
        note_argument(frame, frame.world.callers.sent_on, place)
    elif is_chosen(device):
        _remember(frame, value, place)


_PUTS_TOGETHER = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")


def _put_together(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """`x` and `y` of `torch.cat((x, y))`; else the expression itself."""
    match node:
        case ir.Call(func=ir.Attribute(attr=name), args=(first, *_)) if name in _PUTS_TOGETHER:
            return first.value.items if isinstance(first.value, ir.Display) else (node,)
    return (node,)


def note_handed(frame: Frame, closure: Closure, taken: list[Taken]) -> None:
    """Remember arguments that the running function gives to one that moves them, alone or in a
    list or dict."""
    if frame.is_guest or frame.has_part(closure):
        return
    moved = closure.file.scan(closure.node).moved
    for name, _, value in taken:
        if name in moved:
            found = frame.object(value)
            inside = value if found is None else found.elements()
            _remember(frame, inside, frame.place(inside))


def _remember(frame: Frame, value: Value, place: Device) -> None:
    if value.kind in TENSORS and value.origin is not Origin.FOLLOWS:
        for each in symbols(place):
            note_argument(frame, frame.world.callers.sent, each)


def is_sent(world: World, function: str, device: Device) -> bool:
    """Whether it is, where it is known, the place of an argument that the function sends away."""
    places = [leaf for leaf in leaves(device) if leaf != UNKNOWN]
    return bool(places) and all(
        isinstance(place, Symbol) and (function, place.key) in world.callers.sent
        for place in places
    )
