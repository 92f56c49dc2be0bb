"""What each effect of a row does to values: one function for each effect."""

from __future__ import annotations

from collections.abc import Callable

from devlint import ir
from devlint.flow import meet, overlays
from devlint.flow.arguments import Arguments, Given
from devlint.flow.creation import create, create_like, tensor_like
from devlint.flow.dimensions import dimensions
from devlint.flow.facts import HostRead
from devlint.flow.frame import Frame, is_place_of_argument
from devlint.flow.lattice import CPU, UNKNOWN, Device, Known, may_be_accelerator, names_accelerator
from devlint.flow.model_overlays import CONTAINERS, children, device_of_children, loader
from devlint.flow.state import Object, Path
from devlint.flow.use import TENSORS, Use, device_argument
from devlint.flow.values import NONE, NOTHING, Kind, Origin, Trace, Value
from devlint.torchapi.effects import Arg, Effect, Row

_KINDS = {kind.name.lower(): kind for kind in Kind}


def apply(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """The value of a call that a row describes."""
    use = Use(frame, node, row, args)
    _read_cpu_only(use)
    return _EFFECTS[row.effect](use)


def _result_kind(row: Row) -> Kind:
    return _KINDS.get(row.kind, Kind.UNKNOWN)


def _plain(row: Row) -> Value:
    """A result of which only the kind is known."""
    kind = _result_kind(row)
    if kind is Kind.NONE:
        return NONE
    return NOTHING if kind in (Kind.UNKNOWN, Kind.TENSOR) else Value(kind)


def _move(use: Use) -> Value:
    """A function that moves: methods come through `moves` instead."""
    of = use.find(use.row.of) or use.args.receiver
    if of is None:
        return NOTHING
    value = of[1]
    device = Known(use.row.to) if use.row.to else device_argument(use, via="to")
    other = use.find(use.row.like) if use.row.like else None
    if device is None and other is not None:
        device = use.frame.place(tensor_like(use, use.row.like))
    if use.row.managed or device is None:
        return NOTHING
    found = use.frame.object(value)
    told = Trace(use.node, f"moved to {device} here", value.trace)
    if value.kind.is_container and found is not None:
        items = None if found.items is None else tuple(_at(v, device, told) for v in found.items)
        entries = {key: _at(v, device, told) for key, v in found.entries.items()}
        moved = Object(items=items, entries=entries, element=_at(found.element, device, told))
        return Value(value.kind, data=use.frame.allocate(use.node, moved))
    return _at(value, device, told)


def _at(value: Value, device: Device, told: Trace) -> Value:
    if value.kind in TENSORS:
        return value.but(device=device, origin=Origin.MOVED, trace=told, data=None)
    if value.kind is Kind.UNKNOWN:
        return Value(Kind.PLACED, device, origin=Origin.MOVED, trace=told)
    return value


_KEPT_AS = {"torch.nn.Parameter": "parameter", "torch.nn.Buffer": "buffer"}


def _keep(use: Use) -> Value:
    row = use.row
    of = use.find(row.of) or (use.args.receiver if "self" in row.of else None)
    if of is None:
        return _plain(row)
    value, kind = of[1], _result_kind(row)
    if row.managed:
        return NOTHING
    if value.kind is Kind.MODULE or (kind is Kind.MODULE and value.kind is Kind.UNKNOWN):
        return value
    if value.kind in TENSORS:
        if kind is not Kind.TENSOR:
            return _plain(row)
        scalar = dimensions(use.args, row, value)
        note = _KEPT_AS.get(row.name, "")
        grad = row.grad or (value.grad and row.name.rpartition(".")[2] not in ("detach", "detach_"))
        kept = value.alike(scalar=scalar, grad=grad, note=note)
        return _parts(use, kept) if row.parts else kept
    if row.name == "torch.nn.Parameter":
        return Value(Kind.TENSOR, UNKNOWN, grad=True, note="parameter")
    if value.kind is Kind.UNKNOWN and kind is Kind.TENSOR and isinstance(value.data, Path):
        kept = tensor_like(use, row.of).but(scalar=dimensions(use.args, row))
        return _parts(use, kept) if row.parts else kept
    if value.kind is Kind.UNKNOWN or kind is Kind.TENSOR:
        return value if value.kind is not Kind.UNKNOWN else NOTHING
    return value if kind is value.kind else _plain(row)


def _parts(use: Use, value: Value) -> Value:
    return Value(Kind.TUPLE, data=use.frame.allocate(use.node, Object(element=value)))


def operands(use: Use, parameters: tuple[tuple[Arg, ...], ...]) -> list[Given]:
    """The arguments that meet, lists of tensors flattened."""
    found: list[Given] = []
    for parameter in parameters:
        if parameter == ("*",):
            given = use.args.positional()
        else:
            one = use.find(parameter)
            given = [] if one is None else [one]
        for node, value in given:
            found.extend(_flatten(use.frame, node, value))
    return found


def _flatten(frame: Frame, node: ir.Expr, value: Value) -> list[Given]:
    found = frame.object(value)
    if found is None or not value.kind.is_container:
        return [(node, value)]
    if found.items is not None:
        nodes: tuple[ir.Expr, ...] = (node,) * len(found.items)
        if isinstance(node, ir.Display) and len(node.items) == len(found.items):
            nodes = node.items
        return list(zip(nodes, found.items, strict=True))
    return [(node, found.elements())]


def _join(use: Use) -> Value:
    row = use.row
    arguments = operands(use, row.operands)
    name = row.name.replace("torch.nn.functional.", "F.").replace("torch.Tensor.", "")
    value = meet.meet(
        use.frame, use.node, name, arguments, free_scalars=row.free_scalars, inplace=row.inplace
    )
    if row.inplace and arguments and arguments[0][1].kind in TENSORS:
        return arguments[0][1]
    kind = _result_kind(row)
    if kind is not Kind.TENSOR:
        return _plain(row)
    if value is NOTHING:
        return Value(Kind.TENSOR) if row.name.startswith("torch.") else NOTHING
    scalar = dimensions(use.args, row, value)
    value = value.but(scalar=scalar)
    return _parts(use, value) if row.parts else value


def _index(use: Use) -> Value:
    arguments = operands(use, use.row.operands)
    if not arguments:
        return NOTHING
    meet.index(use.frame, use.node, arguments[0], arguments[1:])
    return arguments[0][1].but(scalar=None, data=None)


def _read_on_host(use: Use) -> Value:
    receiver, force = use.args.receiver, use.args.keyword("force")
    forced = force is not None and force[1].data is True
    if receiver is not None and receiver[1].kind in TENSORS and not forced:
        frame = use.frame
        operand = frame.operand(*receiver)
        followed = receiver[1].origin in (Origin.MOVED, Origin.FOLLOWS)
        followed = followed and not is_place_of_argument(operand.device)
        if may_be_accelerator(operand.device) and (followed or names_accelerator(operand.device)):
            grad = receiver[1].grad
            frame.record(HostRead(use.node, frame.context(), operand, use.row.host, grad))
    kind = _result_kind(use.row)
    if kind is Kind.TENSOR and receiver is not None:
        return receiver[1]
    return _plain(use.row)


def _read(use: Use) -> Value:
    return _plain(use.row)


def _host_only(use: Use) -> Value:
    for node, value in operands(use, use.row.operands):
        if value.kind in TENSORS:
            operand = use.frame.operand(node, value)
            if may_be_accelerator(operand.device):
                context = use.frame.context()
                use.frame.record(HostRead(use.node, context, operand, "__array__", value.grad))
    return _plain(use.row)


def _register(use: Use) -> Value:
    receiver, name = use.args.receiver, use.find((0, "name"))
    value = use.find((1, "tensor", "param", "module"))
    if receiver is None or name is None or not isinstance(name[1].data, str):
        return Value(Kind.NONE, note="register_buffer")
    found = use.frame.object(receiver[1])
    if found is not None:
        kept = NOTHING if value is None else value[1]
        note = kept.note if kept.kind is Kind.MODULE else "buffer"
        use.frame.update(receiver[1], found.with_entry(name[1].data, kept.but(note=note)))
    return Value(Kind.NONE, note=use.row.name.rpartition(".")[2])


def _construct(use: Use) -> Value:
    frame, row, kind = use.frame, use.row, _result_kind(use.row)
    if row.managed:
        made = Object(source=row.name, managed=True)
        return Value(kind, data=frame.allocate(use.node, made))
    if kind is Kind.MODULE:
        return _module(use)
    if kind is Kind.GENERATOR:
        device = device_argument(use)
        return Value(kind, CPU if device is None else device)
    if kind in (Kind.LOADER, Kind.DATASET):
        return loader(frame, use.node, row, use.args, kind)
    if kind is Kind.TENSOR:
        return create(use)
    if kind in (Kind.OPTIMIZER, Kind.TOKENIZER):
        return Value(kind, data=frame.allocate(use.node, Object(source=row.name)))
    return _plain(row)


def _module(use: Use) -> Value:
    frame, row = use.frame, use.row
    device = device_argument(use)
    weights = [use.find(parameter) for parameter in row.weights]
    tensors = [given[1] for given in weights if given is not None and given[1].kind in TENSORS]
    if device is None:
        device = frame.state.default if row.parameters else UNKNOWN
        if tensors:  # a 0-dimensional weight may stay on the CPU
            device = UNKNOWN if tensors[0].scalar is not False else frame.place(tensors[0])
        device = device_of_children(frame, row, use.args, device)
    told = Trace(use.node, f"made on {device} here" if device != CPU else "made on the CPU here")
    inside = children(use.args)
    empty = not row.parameters and not any(given is not None for given in weights)
    if inside is not None:
        held = [frame.object(each) for each in inside]
        empty = empty and all(each is not None and each.stateless for each in held)
    elif row.name.rpartition(".")[2] in CONTAINERS:
        empty = False
    found = Object(device=device, source=row.name, trace=told, items=inside, stateless=empty)
    return Value(Kind.MODULE, data=frame.allocate(use.node, found))


def _opaque(use: Use) -> Value:
    name = use.row.name
    if name == "torch.cuda.device_count":
        return Value(Kind.NUMBER, note="device_count")
    if name in ("torch.cuda.set_device", "torch.cuda.device"):
        device_argument(use, via="set_device")
    if name == "torch.cuda.device":
        return Value(Kind.UNKNOWN, note="device-context")
    return _plain(use.row)


def _overlay(use: Use) -> Value:
    function = overlays.OVERLAYS.get(use.row.overlay)
    if function is None:
        return NOTHING
    return function(use.frame, use.node, use.row, use.args)


def _read_cpu_only(use: Use) -> None:
    """Arguments that must be on the host are read there."""
    for node, value in operands(use, use.row.cpu_only) if use.row.cpu_only else ():
        if value.kind in TENSORS:
            operand = use.frame.operand(node, value)
            if may_be_accelerator(operand.device):
                context = use.frame.context()
                use.frame.record(HostRead(use.node, context, operand, "cpu-only", value.grad))


_EFFECTS: dict[Effect, Callable[[Use], Value]] = {
    Effect.CREATE: create,
    Effect.CREATE_LIKE: create_like,
    Effect.MOVE: _move,
    Effect.MOVE_IN_PLACE: _move,
    Effect.KEEP: _keep,
    Effect.JOIN: _join,
    Effect.INDEX: _index,
    Effect.READ: _read,
    Effect.READ_ON_HOST: _read_on_host,
    Effect.HOST_ONLY: _host_only,
    Effect.REGISTER: _register,
    Effect.CONSTRUCT: _construct,
    Effect.OPAQUE: _opaque,
    Effect.OVERLAY: _overlay,
}
