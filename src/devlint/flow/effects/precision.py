"""Mixed precision that is for one type of device, and what the code around it runs on."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.devices.indexed import spelled
from devlint.flow.domain.derivation import Sort, steps
from devlint.flow.domain.lattice import Device, Guarded, Symbol, is_place_of_argument
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import ApiCall, DeviceUse, Fact, MixedPrecision, Move, Operand
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted, is_builtin
from devlint.flow.syntax.walk import nodes_of, statements_of
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import dotted_name, last_name
from devlint.policy import means

_OF_NO_CHOICE = ("torch.device", "index", "set_device")
"""Uses of a device that put nothing there, or choose among those of CUDA."""
_APIS = frozenset(
    ("torch.autocast", "torch.cuda.amp.autocast", "torch.cuda.amp.GradScaler",
     "torch.amp.GradScaler", "torch.get_autocast_dtype")
)  # fmt: skip


def tell(frame: Frame, mark: int) -> None:
    """Record the mixed precision of a function that has run, with the device that it chooses.

    `mark`: how many facts there were before it ran.
    """
    if not frame.recording:
        return
    facts = frame.world.facts
    own = [fact for fact in facts[mark:] if fact.context.function == frame.qualname]
    calls = [fact for fact in own if type(fact) is ApiCall and fact.name in _APIS]
    if not calls:
        return
    chosen = _chosen(frame, own)
    tries = _tries(frame)
    for call in calls:  # where another call follows the device, that of CUDA stands in for it
        adapts = any(_adapts(other) for other in calls if _asks(other) == _asks(call))
        facts.append(_described(frame, call, None if adapts or tries else chosen))


def _asks(call: ApiCall) -> bool:
    """Whether a call only asks what mixed precision there is."""
    return call.name == "torch.get_autocast_dtype"


def _adapts(call: ApiCall) -> bool:
    """`torch.autocast(device.type)`: the type isn't spelled out."""
    given = _device_type(call)
    return given is not None and not isinstance(given.node, ir.Constant)


def _tries(frame: Frame) -> bool:
    """Whether the function follows the device first, and falls back to CUDA's own mixed precision
    where PyTorch is too old for that: `except AttributeError`."""
    function = frame.function
    if function is None:
        return False
    attempts = (each for each in statements_of(function.body) if isinstance(each, ir.Try))
    return any(
        isinstance(node, ir.Call)
        and dotted(frame, node.func) in ("torch.autocast", "torch.amp.GradScaler")
        and any(not isinstance(argument.value, ir.Constant) for argument in node.args)
        for each in attempts
        for node in nodes_of(each.body)
    )


_Chosen = tuple[ir.Expr, Value, tuple[Hop, ...]]


def _described(frame: Frame, call: ApiCall, chosen: _Chosen | None) -> MixedPrecision:
    given = _device_type(call)
    text, is_device, context = "", False, call.context
    because: tuple[Hop, ...] = ()
    if chosen is not None and (chosen[2] or not _is_scaler(call, chosen[0])):
        node, value, because = chosen
        text, is_device = dotted_name(node), value.kind is Kind.DEVICE
        rows = (step.name for step in steps(value.trace) if step.sort is Sort.HYPOTHESIS)
        context = replace(context, by=(*context.by, *rows))
    return MixedPrecision(
        call.node, context, call.name, given, _whole(frame, given), text, is_device, because,
        dotted(frame, ir.Name("torch")) == "torch",
        None if given is None else spelled(frame, given.node, given.value),
    )  # fmt: skip


def _is_scaler(call: ApiCall, chosen: ir.Expr) -> bool:
    """A scaler, of which nothing tells but that its class has a device: elsewhere than on CUDA it
    switches itself off, and most likely so does the rest."""
    return call.name.endswith("GradScaler") and isinstance(chosen, ir.Attribute)


def _device_type(call: ApiCall) -> Operand | None:
    if call.name.startswith("torch.cuda."):
        return None
    keyword = "device" if call.name.endswith("GradScaler") else "device_type"
    return call.keyword(keyword) or next(iter(call.positional), None)


def _whole(frame: Frame, given: Operand | None) -> Operand | None:
    """`device` of `str(device)`, where that is a torch.device."""
    match given.node if given is not None else None:
        case ir.Call(func=ir.Name(id="str") as func, args=(only,)) if is_builtin(frame, func):
            value = frame.ask(only.value)
            return frame.operand(only.value, value) if value.kind is Kind.DEVICE else None
    return None


def _chosen(frame: Frame, facts: list[Fact]) -> _Chosen | None:
    """A device that somebody chooses, and to which this function, whose facts these are, or another
    method of its class moves something; or one that it is given."""
    if any(isinstance(fact, Move) and fact.method == "cuda" for fact in facts):
        return None  # all of this is for CUDA
    for fact in facts:
        if isinstance(fact, Move) and fact.target is not None:
            operand, device, told = fact.target, fact.device, "moved to {} here"
        elif isinstance(fact, DeviceUse) and fact.via not in _OF_NO_CHOICE:
            operand, told = fact.operand, "{} is used here"
            device = as_device(operand.value)
        else:
            continue
        chosen = _is_choice(device) or _is_of_accelerate(operand.node)
        if chosen and dotted_name(operand.node):  # it can be written again elsewhere
            return operand.node, operand.value, (Hop(fact.node, told.format(device)),)
    for name, value in frame.state.env.items():
        row = means("device", name, "variable") if _is_choice(as_device(value)) else ""
        if row:
            return ir.Name(name), value.step(Sort.HYPOTHESIS, ir.Name(name), row), ()
    return _of_class(frame)


def _of_class(frame: Frame) -> _Chosen | None:
    """`self.device`, where a method of the class moves something to it."""
    function, info = frame.function, frame.owner
    if function is None or info is None or not function.params:
        return None
    this = function.params[0].name
    if not any(this in info.file.scan(method).followed for _, method in info.all_methods()):
        return None
    node = ir.Attribute(ir.Name(this), "device")
    value = frame.ask(node)
    return (node, value, ()) if _is_choice(as_device(value)) else None


def _is_of_accelerate(node: ir.Expr) -> bool:
    """`accelerator.device`: whatever the machine has."""
    match node:
        case ir.Attribute(value=owner, attr="device"):
            return bool(means("accelerate", last_name(owner), "variable"))
    return False


def _is_choice(device: Device) -> bool:
    if isinstance(device, Symbol):
        return not is_place_of_argument(device)
    return isinstance(device, Guarded)
