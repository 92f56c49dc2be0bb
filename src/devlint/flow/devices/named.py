"""Values that stand where a device is meant: what they name, and the facts about them."""

from __future__ import annotations

from devlint.flow.devices.dropped import note_unbound
from devlint.flow.domain.derivation import Sort, Step, shown
from devlint.flow.domain.devicestring import Misspelling, parse, spells_device
from devlint.flow.domain.keys import DEVICE_ASKED
from devlint.flow.domain.lattice import UNKNOWN, Device, Known, names_accelerator
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.traits import CHOICES, Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import DeviceUse
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.missing import note_device
from devlint.flow.syntax.parts import is_private
from devlint.flow.syntax.walk import defaults_to_none, descendants, mentions, parameter_named
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means

DEVICES_COUNTED = "torch.cuda.device_count()"
"""How the keys of conditions on the number of devices begin."""


def string_value(frame: Frame, text: str, node: ir.Expr | None = None) -> Value:
    """A string constant; `device` is what it names, where it looks like a device."""
    if len(text) < 12 and spells_device(text):
        named = parse(text, frame.world.device_types)
        if isinstance(named, Known):
            trace = None if node is None else Step(Sort.LITERAL, node, name=text)
            return Value(Kind.STRING, named, text, trace=trace)
    if text == "gloo":
        # The file knows of a backend that takes tensors of the host.
        frame.world.of_file.backends.add(text)
    return Value(Kind.STRING, data=text)


def accelerator_spelled(frame: Frame, node: ir.Expr | None) -> Device | None:
    """The accelerator that a string constant names, if it is one."""
    text = node.value if isinstance(node, ir.Constant) else None
    device = string_value(frame, text).device if isinstance(text, str) else UNKNOWN
    return device if names_accelerator(device) else None


def use_device(frame: Frame, node: ir.Expr, value: Value, via: str) -> Device:
    """What a value names where a device is meant; records the use."""
    note_device(frame, node)
    device, literal = as_device(value), node
    parsed: Known | None = None
    problem: Misspelling | None = None
    if (
        value.kind is Kind.STRING
        and isinstance(value.data, str)
        and value.trait is not Trait.TYPE_OF_DEVICE
    ):
        parsed, problem = _parsed(frame, value.data)
        device = parsed or device
        step = shown(value.trace)
        if step is not None and isinstance(step.node, ir.Expr):
            literal = step.node
    elif value.kind is Kind.NUMBER and isinstance(value.data, int) and value.trait is None:
        device = parsed = Known("cuda", value.data)
    elif value.kind is Kind.NUMBER:
        device = UNKNOWN
    if frame.tells and not _is_counted(frame) and (problem or not frame.comparing):
        operand = frame.operand(literal, value)
        choice = value.trait in CHOICES or _is_chosen(frame, parsed)
        frame.record(DeviceUse(literal, frame.context(), operand, via, parsed, problem, choice))
        _record_choices(frame, node, via)
        if value.kind is Kind.UNKNOWN:
            note_unbound(frame, node)
    return device


def _parsed(frame: Frame, text: str) -> tuple[Known | None, Misspelling | None]:
    """The device that a string spells, or what is wrong with it."""
    spelled = parse(text, frame.world.device_types)
    return (spelled, None) if isinstance(spelled, Known) else (None, spelled)


def note_none(frame: Frame, node: ir.Expr, value: Value) -> None:
    """Note that `torch.device` takes a parameter as it came, which is None where it is left out."""
    function = frame.function
    if not frame.tells or not isinstance(node, ir.Name) or function is None:
        return
    if not defaults_to_none(parameter_named(function, node.id)):
        return
    if is_private(function.name) or _is_asked_about(frame, function, node):
        return
    problem = Misspelling(f"`{node.id}` is None where it is left out: torch.device(None) raises")
    operand = frame.operand(node, value)
    frame.record(DeviceUse(node, frame.context(), operand, "torch.device", problem=problem))


def _is_asked_about(frame: Frame, function: ir.Function, given: ir.Name) -> bool:
    """Whether a function asks what a parameter is, or binds it anew, but to what it is given to:
    `device = torch.device(device)`."""
    bound = frame.file.scan(function).assigned[given.id]
    for node in descendants(function):
        match node:
            case ir.If(test=test) | ir.While(test=test) | ir.Conditional(test=test):
                if mentions(test, given.id):
                    return True
            case ir.Compare() | ir.Boolean() | ir.Assert():
                if mentions(node, given.id):
                    return True
            case ir.Assign(targets=(ir.Name(id=name),), value=ir.Call(args=args)):
                bound -= name == given.id and any(each.value is given for each in args)
    return bound > 0


def _is_chosen(frame: Frame, device: Known | None) -> bool:
    """Whether a condition has asked for devices before another one than CUDA is named: for CUDA, it
    is known what such a condition says."""
    named = device is not None and device.type not in ("cpu", "cuda")
    return named and DEVICE_ASKED in frame.state.known


def _is_counted(frame: Frame) -> bool:
    """Whether the code has counted the devices (`if torch.cuda.device_count() > 1:`)."""
    return frame.state.known.any(lambda key, holds: holds and key.startswith(DEVICES_COUNTED))


def _record_choices(frame: Frame, node: ir.Expr, via: str) -> None:
    """The literals of `"cuda:1" if ... else "cpu"`."""
    match node:
        case ir.Conditional(body=one, orelse=other) | ir.Boolean(left=one, right=other):
            branches = (one, other)
        case _:
            return
    for branch in branches:
        if isinstance(branch, ir.Constant) and isinstance(branch.value, str):
            operand = frame.operand(branch, string_value(frame, branch.value, branch))
            told = _parsed(frame, branch.value)
            frame.record(DeviceUse(branch, frame.context(), operand, via, *told, choice=True))
        else:
            _record_choices(frame, branch, via)


def is_dtype_name(value: Value, node: ir.Expr) -> bool:
    """Whether an argument that isn't known is rather a dtype than a device, by its name."""
    match node:
        case ir.Call(func=ir.Name(id="getattr"), args=(ir.Argument(value=ir.Name(id="torch")), *_)):
            return True  # no device is an attribute of torch
    named = means("dtype", last_name(node), "variable")
    return value.kind is Kind.DTYPE or (bool(named) and not is_device_name(node))


def is_device_name(node: ir.Expr) -> bool:
    """Whether an argument that isn't known is a device, by its name."""
    return bool(means("goes-to-device", last_name(node), "variable"))
