"""What makes a tensor, and where it puts it."""

from __future__ import annotations

from devlint.flow.conditions.narrow import narrow_to_array
from devlint.flow.domain.derivation import Sort, Step, as_named, made, steps
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Known
from devlint.flow.domain.paths import Path, given_tensor
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, TENSORS, Kind, Origin, Value
from devlint.flow.effects import pinning, workers
from devlint.flow.effects.use import Use, device_argument, result_kind, trait_of
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.frame import Frame
from devlint.flow.modules import stale
from devlint.flow.modules.placement import parameter_at
from devlint.flow.operations.dimensions import dimensions, has_rows, is_placeholder, placeholder
from devlint.model import ir
from devlint.torchapi.effects import Arg, Effect


def create(use: Use) -> Value:
    return pinning.made(use.frame, use.node, use.args, _create(use))


def _create(use: Use) -> Value:
    row = use.row
    device = device_argument(use)
    grad = row.grad or use.args.asks("requires_grad")
    scalar = dimensions(use.args, row, known=use.frame.state.known)
    rows = Trait.ROWS if has_rows(use.args, row) else None
    trait = trait_of(row) or (Trait.LEAF if grad and row.effect is Effect.CREATE else rows)
    refused = not row.device and use.args.keyword("device") is not None  # which a rule tells
    if refused or use.args.gives(("out",)):  # it is written into another
        return Value(Kind.TENSOR, UNKNOWN)
    if device is not None:
        workers.note_use(use.frame, use.node, device)
        if row.data and device != CPU:
            use.frame.state.wait()  # the data is copied there
        given = use.args.find(row.device)
        if given is not None and stale.owner_of(given[1]) is None and _is_fresh(given[1]):
            # `device=y.device`
            origin = given[1].origin if given[1].origin in MADE else Origin.DEFAULT
            return given[1].but(
                kind=Kind.TENSOR, device=device, data=None, origin=origin, scalar=scalar, grad=grad,
                trait=trait, trace=Step(Sort.BESIDE, use.node, given[1].trace, device),
            )  # fmt: skip
        return on_device(use, device, scalar).but(grad=grad, trait=trait)
    taken = use.args.find((0,)) if row.name == "torch.from_numpy" else None
    if taken is not None:
        narrow_to_array(use.frame, taken[0])
    data = use.args.find(row.data)
    kept = None if data is None else _of_tensor(use, data)
    if kept is not None:
        return kept
    source = use.args.find(row.generator)
    if source is not None and source[1].kind is Kind.UNKNOWN:
        return Value(Kind.TENSOR, UNKNOWN, scalar=scalar)  # it has to be where its generator is
    default = use.frame.state.default
    if is_placeholder(use.args, row):
        return placeholder(use.frame, on_default(use, default).but(grad=grad, trait=trait))
    if row.to and not _is_of_default_type(use):
        scalar = False if scalar is None and row.name == "torch.from_numpy" else scalar
        return Value(
            Kind.TENSOR, Known(row.to), origin=Origin.HOST_DATA, scalar=scalar, grad=grad,
            trace=Step(Sort.HOST_DATA, use.node),
        )  # fmt: skip
    return on_default(use, default, scalar).but(grad=grad, trait=trait)


def _of_tensor(use: Use, data: Given) -> Value | None:
    """What is made of a tensor, which keeps its device, or of what may be one; None of other
    data."""
    name, (node, value) = use.row.name, data
    if name in _TAKES_TENSORS and is_handed_default(use.frame):
        return None  # it goes to that device
    if name == "torch.Tensor" and not _is_tensor(value):
        return None  # most likely it is given data
    if value.kind in TENSORS:
        if name == "torch.tensor" and value.origin is Origin.INPUT:
            return Value(Kind.TENSOR, UNKNOWN)  # it warns of tensors: most likely it is given data
        return value.alike(kind=Kind.TENSOR)
    if isinstance(value.data, Path):
        used = value.trait is Trait.TENSOR_OR or _is_used_as_tensor(use, node)
        if used or name != "torch.tensor":
            return Value(Kind.TENSOR, UNKNOWN)
    handed_on = name in _TAKES_TENSORS and _is_handed_on(use.frame, data)
    return Value(Kind.TENSOR, UNKNOWN) if handed_on else None


def _is_fresh(named: Value) -> bool:
    """Whether a device is that of something that was made on its own, or of a module that nobody
    has moved yet."""
    return named.origin in MADE or (named.origin is Origin.FOLLOWS and named.device == CPU)


_TAKES_TENSORS = ("torch.tensor", "torch.as_tensor", "torch.asarray")


def _is_tensor(value: Value) -> bool:
    """Whether it is a tensor for sure, not an argument that is used as if it were one."""
    said = any(step.sort is Sort.ANNOTATION for step in steps(value.trace))
    return value.kind in TENSORS and (said or value.origin is not Origin.INPUT)


def _is_handed_on(frame: Frame, data: Given) -> bool:
    """Whether a call gives what a tensor is made of, and nobody knows what that is: it may be a
    tensor, which keeps its device."""
    node, value = data
    return not frame.is_alone and value.kind is Kind.UNKNOWN and frame.is_parameter(node)


def _is_of_default_type(use: Use) -> bool:
    """Whether a tensor is made where `torch.set_default_tensor_type` says: `torch.Tensor` is the
    default type. `torch.set_default_device` means nothing to it."""
    return use.row.name == "torch.Tensor" and use.frame.world.processes.sets_tensor_type


def _is_used_as_tensor(use: Use, node: ir.Expr) -> bool:
    """Whether the function treats a name elsewhere as tensors are treated, and lists aren't."""
    function = use.frame.function
    if not isinstance(node, ir.Name) or function is None:
        return False
    scan = use.frame.file.scan(function)
    again = scan.assigned[node.id] > 0  # it may be the new one that is treated so
    return not again and (node.id in scan.tensors or node.id in scan.sliced)


def is_handed_default(frame: Frame) -> bool:
    """Whether functions that make tensors get a device of `torch.set_default_device`, where none is
    given, whatever they are given."""
    return frame.state.default != CPU and not frame.world.processes.sets_tensor_type


def _stored_device(use: Use) -> object:
    """Whose attribute the device argument is, where a module has stored it."""
    given = use.args.find(use.row.device)
    owner = None if given is None else stale.owner_of(given[1])
    if given is not None and owner is not None:
        stale.use(use.frame, owner, given[0])
    return owner


def on_device(use: Use, device: Device, scalar: bool | None = False) -> Value:
    """A tensor that is made on a device that a call names."""
    owner = _stored_device(use)
    origin = Origin.STALE if owner else Origin.MOVED
    told = as_named(made(use.node, device, owner), use.args.value(use.row.device).trace)
    return Value(Kind.TENSOR, device, owner, origin, scalar=scalar, trace=told)


def on_default(use: Use, default: Device, scalar: bool | None = False) -> Value:
    """A tensor that is made where all are made of which nobody says where."""
    told = Step(Sort.DEFAULT, use.node, device=default)
    return Value(Kind.TENSOR, default, origin=Origin.DEFAULT, scalar=scalar, trace=told)


def create_like(use: Use) -> Value:
    device, scalar = device_argument(use), dimensions(use.args, use.row)
    if device is not None:
        return on_device(use, device, scalar)
    found = tensor_like(use, use.row.like)
    if scalar is None and use.row.dims.value in ("", "same"):
        scalar = found.scalar
    return found.alike(scalar=scalar, grad=False).but(kind=result_kind(use.row))


def tensor_like(use: Use, parameter: tuple[Arg, ...]) -> Value:
    """A tensor where an argument is."""
    given = use.args.find(parameter)
    if given is None:
        return Value(Kind.TENSOR)
    value = given[1]
    if value.kind in (*TENSORS, Kind.ENCODING):
        return value.but(kind=Kind.TENSOR, device=use.frame.place(value))
    if isinstance(value.data, Path) and value.kind is Kind.UNKNOWN:
        return given_tensor(value.data, Sort.TENSOR_BY_USE, given[0])
    if value.kind is Kind.MODULE:
        return parameter_at(use.frame, value, given[0])
    return Value(Kind.TENSOR)
