"""`.to()`, `.cuda()`, `.cpu()` and their like, on whatever they are called."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.devices.named import is_device_name, is_dtype_name, use_device
from devlint.flow.domain import derivation
from devlint.flow.domain.derivation import Sort, Step, shown
from devlint.flow.domain.keys import stands_in
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Known, Symbol, conditions
from devlint.flow.domain.paths import Path, as_device, is_of_library
from devlint.flow.domain.traits import REGISTERED, Fixed, Trait
from devlint.flow.domain.values import MADE, NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.effects import workers
from devlint.flow.effects.host import note_sent
from devlint.flow.effects.model_overlays import as_it_is_fixed
from devlint.flow.facts import Move, is_misspelled_flag
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.flow.modules import optimizers, stale
from devlint.flow.modules.placement import give_away, place_module
from devlint.flow.operations import arrivals, batches
from devlint.flow.operations.own_device import is_stateless
from devlint.flow.syntax.passing import is_thrown_away, passing
from devlint.model import ir
from devlint.model.trees import root_name

_TO_ACCELERATORS = ("cuda", "xpu", "mtia", "ipu")
METHODS = frozenset(("to", "cpu", "type", "to_empty", *_TO_ACCELERATORS))
_KEYWORDS = frozenset(
    ("device", "dtype", "non_blocking", "async", "copy", "memory_format", "tensor", "other",
     "recurse")
)  # fmt: skip
"""All that PyTorch's own moves take by name."""
_MOVABLE = (*TENSORS, Kind.MODULE, Kind.ENCODING)


def move(
    frame: Frame, call: ir.Call, method: str, base: ir.Expr, receiver: Value, args: Arguments
) -> Value:
    """The result of a move, and its facts. A module moves in place, a tensor doesn't."""
    others = (each for each in args.keywords() if each not in _KEYWORDS)
    if _is_unproven(receiver) and not all(map(is_misspelled_flag, others)):
        return NOTHING  # another library's
    if receiver.kind is Kind.UNKNOWN and isinstance(base, ir.Attribute):
        whole = frame.look_up(root_name(base))
        if whole is not None and whole.kind is Kind.MODULE:
            give_away(frame, [whole])  # a part of it: it is in two places from here on
    named = any(value.kind is Kind.STRING for _, value in args.positional()[1:])
    if named and receiver.kind not in (Kind.TENSOR, Kind.MODULE):
        return _moved_in_part(frame, call, base)
    if frame.discarded is call and _is_item(frame, base, receiver):
        receiver = receiver.but(kind=Kind.TENSOR)
    if isinstance(receiver.trait, Fixed):
        receiver = as_it_is_fixed(frame, receiver)
    device, target = _destination(frame, method, receiver, args)
    if frame.tells and _is_told(method, receiver, args, target):
        lost = receiver.trait is Trait.TENSOR_OR and frame.discarded is call
        frame.record(
            Move(
                call,
                frame.context(),
                frame.operand(base, receiver.but(kind=Kind.TENSOR) if lost else receiver),
                method,
                None if target is None else frame.operand(*target),
                UNKNOWN if device is None else device,
                is_thrown_away(frame.discarded, call),
                tuple((a, frame.operand(a.value, v)) for a, v in args.all if a in call.args),
                frame.name == method,
                receiver.trait is Trait.MANAGED,
                is_stateless(frame, receiver),
                *_passing(frame, call, base),
            )
        )
    if device is None:
        return _retyped(receiver)
    workers.note_use(frame, call, device)
    note_sent(frame, base, receiver, device)
    batches.note_moved(frame, base, receiver, device)
    copy = None
    if device == CPU:
        copy = arrivals.begin(frame, call, receiver, args)
        if copy is None:
            arrivals.wait_for(frame, receiver)
            arrivals.in_loop(frame, call, method, (base, receiver))
    else:
        arrivals.send(frame, receiver, args)
        if device == UNKNOWN:
            arrivals.wait_for(frame, receiver)
    moved = _moved(frame, call, method, base, receiver, device)
    if target is not None and moved.trace is not None:
        moved = moved.but(trace=derivation.as_named(moved.trace, target[1].trace))
    if target is not None and moved.kind is Kind.TENSOR:
        beside = Step(Sort.MOVE_BESIDE, call, target[1].trace, device)
        if _follows_default(target[1], device):
            return moved.but(origin=target[1].origin, trace=beside)
        if device == CPU and shown(target[1].trace) is not None:  # `y.to(x.device)`
            moved = moved.but(trace=beside)
    if copy is not None:
        return moved.but(data=copy)
    owner = None if target is None else stale.owner_of(target[1], moved=True)
    if owner is None or target is None or moved.kind not in (Kind.TENSOR, Kind.PLACED):
        return moved
    stale.use(frame, owner, target[0])
    return moved.but(data=owner, origin=Origin.STALE)


def _is_item(frame: Frame, base: ir.Expr, receiver: Value) -> bool:
    """Whether it is an item of a batch or of an output: these are tensors."""
    if isinstance(base, ir.Subscript) and receiver.kind is Kind.BATCH:
        return receiver.trait in (Trait.ELEMENT, Trait.UNPACKED)
    if receiver.trait is not Trait.UNPACKED:
        return False
    return not isinstance(base, ir.Name) or not batches.is_object(frame, base.id)


def _passing(frame: Frame, call: ir.Call, base: ir.Expr) -> tuple[ir.For | None, Kind]:
    """The loop that passes something by, and what it goes over."""
    if frame.discarded is not call or not isinstance(base, ir.Name):
        return None, Kind.UNKNOWN
    loop = passing(frame.body or frame.file.body, call, base.id)
    if loop is None:
        return None, Kind.UNKNOWN
    match loop.iter:
        case ir.Call(func=ir.Attribute(value=held), args=()) | held:
            return loop, frame.ask(held).kind


def _is_unproven(receiver: Value) -> bool:
    """Whether nobody knows what is moved: of what torch's functions give, neither, where they are
    given objects of other libraries, which may have functions of their own for them."""
    bare = receiver.kind is Kind.TENSOR and receiver.origin is Origin.NONE
    return receiver.kind is Kind.UNKNOWN or (bare and receiver.device == UNKNOWN)


def _moved_in_part(frame: Frame, call: ir.Call, base: ir.Expr) -> Value:
    """`graph.to(device, "x", "y")`: what it holds is in two places from here on."""
    if frame.discarded is call and isinstance(base, (ir.Name, ir.Attribute)):
        frame.world.store(frame, base, Value(Kind.UNKNOWN, trait=Trait.MOVED_IN_PART))
    return Value(Kind.UNKNOWN, trait=Trait.MOVED_IN_PART)


def _follows_default(target: Value, device: Device) -> bool:
    """Whether a move goes to where a tensor is that stands in for an argument, and was made without
    a device: what is moved there is where it should be as soon as that is."""
    return target.origin in MADE and any(map(stands_in, conditions(device)))


def _destination(
    frame: Frame, method: str, receiver: Value, args: Arguments
) -> tuple[Device | None, Given | None]:
    """Where a move goes and the argument that says so; None: nowhere, the dtype changes only."""
    if method == "cpu":
        return CPU, None
    if method == "type":
        return None, None
    target = args.find((0, "device", "other", "tensor"))
    if method in _TO_ACCELERATORS:
        if target is None or target[1].kind is Kind.NONE:
            return (UNKNOWN if args.unpacked else Known(method)), None
        device = use_device(frame, *target, via="cuda")
        return (device if device != UNKNOWN else Known(method)), target
    if target is None:
        return (UNKNOWN if args.unpacked else None), None
    node, value = target
    if value.kind in TENSORS:
        return frame.place(value), target
    if value.kind is Kind.STRING and receiver.kind is Kind.UNKNOWN and value.device == UNKNOWN:
        return None, target  # another library's `.to`
    if value.kind in (Kind.DEVICE, Kind.STRING, Kind.NUMBER):
        return use_device(frame, node, value, via="to"), target
    if value.kind is Kind.NONE or is_dtype_name(value, node):
        return None, target
    if isinstance(value.data, Path) and (is_device_name(node) or args.count > 1):
        return use_device(frame, node, value, via="to"), target
    if is_of_library(value) and is_device_name(node):
        return use_device(frame, node, value, via="to"), target
    return UNKNOWN, target


def _is_told(method: str, receiver: Value, args: Arguments, target: Given | None) -> bool:
    """Whether a call is a move of PyTorch's: other libraries have a `.to` and a `.type` too."""
    if receiver.kind in (Kind.LIBRARY, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION, Kind.NONE):
        return False
    if method == "cpu" or method in _TO_ACCELERATORS or receiver.kind is Kind.TENSOR:
        return True
    if receiver.kind is Kind.UNKNOWN:
        return target is not None and (
            as_device(target[1]) != UNKNOWN or _is_no_device(args, target[1])
        )
    return receiver.kind in _MOVABLE or target is not None


def _is_no_device(args: Arguments, target: Value) -> bool:
    """Whether no `.to()` takes this for a device: a context manager, or a dtype called `device`."""
    named = args.keyword("device")
    return target.trait is Trait.DEVICE_CONTEXT or (named is not None and target.kind is Kind.DTYPE)


def _retyped(receiver: Value) -> Value:
    """Of another dtype; where it has that dtype already, it is the tensor itself."""
    if receiver.kind is not Kind.TENSOR or receiver.trait in REGISTERED:
        return receiver
    return receiver.but(trait=None)


def _moved(
    frame: Frame, call: ir.Call, method: str, base: ir.Expr, receiver: Value, device: Device
) -> Value:
    told = derivation.moved(call, device)
    if receiver.kind in (Kind.UNKNOWN, Kind.PLACED):  # nobody knows whether it is a module
        _keep_if_module(frame, call, base, receiver, device, told)
    if receiver.kind is Kind.UNKNOWN:
        _take_along(frame, receiver, device, told)
        data = receiver.data if isinstance(receiver.data, Path) else None
        return Value(Kind.PLACED, device, data, Origin.MOVED, trace=told)
    if receiver.kind in TENSORS:
        moved = receiver.but(
            device=device,
            origin=Origin.MOVED,
            trait=_moved_trait(receiver, device),
            data=None,
            trace=derivation.moved(call, device, receiver.trace),
        )
        if receiver.kind is Kind.BATCH and frame.discarded is call and isinstance(base, ir.Name):
            frame.state.env[base.id] = NOTHING  # its class decides whether that moved it
        return moved
    if receiver.kind in (Kind.MODULE, Kind.ENCODING):
        found = frame.object(receiver)
        if found is None:
            return receiver.but(device=device, trace=told)
        if receiver.kind is Kind.MODULE:
            frame.world.classes.moved_later |= receiver.data in frame.world.classes.called
            before = optimizers.places(frame)
            place_module(frame, receiver, device, told)
            optimizers.after_move(frame, call, method, before)
        else:
            held = replace(found, device=device, entries={}, guarded=False, trace=told)
            frame.update(receiver, held)
        return receiver
    return NOTHING


def _take_along(frame: Frame, receiver: Value, device: Device, told: Step) -> None:
    """What moves takes along the modules that were stored in it: `model.metric = metric`."""
    if isinstance(receiver.data, Path):
        inside = f"{receiver.data.text}."
        for path, value in [*frame.state.paths.items()]:
            if value.kind is Kind.MODULE and path.startswith(inside):
                place_module(frame, value, device, told)


def _moved_trait(receiver: Value, device: Device) -> Trait | Fixed | None:
    if receiver.trait in REGISTERED and device == receiver.device != UNKNOWN:
        return receiver.trait  # it is there already: the move gives the tensor itself
    if receiver.trait is Trait.PARAMETER:  # of what may be there already, it most likely is
        unknown = receiver.device == UNKNOWN or isinstance(receiver.device, Symbol)
        return receiver.trait if unknown else Trait.MOVED_PARAMETER
    if receiver.trait is Trait.LEAF and device != CPU:
        return Trait.MOVED_LEAF
    kept = (Trait.MOVED_PARAMETER, Trait.MOVED_LEAF, Trait.ELEMENT, Trait.FIRST)
    return receiver.trait if receiver.trait in kept else None


MODES = frozenset(("eval", "train"))
"""Methods that modules alone have, and that give the module itself."""


def _without_modes(node: ir.Expr | None) -> ir.Expr | None:
    """`net.to(device)` of `net.to(device).eval()`."""
    match node:
        case ir.Call(func=ir.Attribute(value=inner, attr=attr)) if attr in MODES:
            return _without_modes(inner)
    return node


def _keep_if_module(
    frame: Frame, call: ir.Call, base: ir.Expr, receiver: Value, device: Device, told: Step
) -> None:
    """If what is moved by a statement is a module, then it has moved. A name that nothing binds is
    left alone: on a path that moves nothing it would be taken to be unbound."""
    whole = _without_modes(base)
    if isinstance(whole, ir.Name) and frame.look_up(whole.id) is None:
        return
    if _without_modes(frame.discarded) is call and isinstance(whole, (ir.Name, ir.Attribute)):
        moved = Value(Kind.UNKNOWN, device, receiver.data, trait=Trait.IF_MODULE, trace=told)
        frame.world.store(frame, whole, moved)
