"""Loaders, models and their inputs: where what they hold or yield is."""

from __future__ import annotations

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.frame import ClassInfo, Closure, Frame
from devlint.flow.lattice import CPU, UNKNOWN, Device
from devlint.flow.state import Object
from devlint.flow.values import NOTHING, Kind, Origin, Trace, Value
from devlint.torchapi.effects import Row

_TENSORS = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)


def loader(frame: Frame, node: ir.Call, row: Row, args: Arguments, kind: Kind) -> Value:
    """A loader yields host tensors, unless its data set or its `collate_fn` may move them."""
    device: Device = CPU
    for _, value in args.all:
        found = frame.object(value)
        if value.kind in _TENSORS and frame.place(value) != CPU:
            device = frame.place(value)
        elif value.kind is Kind.DATASET and found is not None and found.device != CPU:
            device = found.device
        elif isinstance(value.data, Closure) and closure_moves(frame, value.data):
            device = UNKNOWN
        elif found is not None and isinstance(found.source, ClassInfo):
            device = UNKNOWN if class_moves(frame, found.source) else device
    collate = args.keyword("collate_fn")
    if collate is not None and collate[1].kind not in (Kind.FUNCTION, Kind.NONE, Kind.LIBRARY):
        device = UNKNOWN
    made = Object(device=device, source=row.name)
    return Value(kind, data=frame.allocate(node, made))


def closure_moves(frame: Frame, closure: Closure) -> bool:
    """Whether a function of the file has a move in it."""
    if not isinstance(closure.node, ir.Function):
        return True
    scan = frame.world.scan(closure.node)
    return bool(scan.moved) or bool(scan.self_moves)


def class_moves(frame: Frame, info: ClassInfo) -> bool:
    """Whether a data set of the file moves, or makes its items on a device it was given."""
    return any(
        closure_moves(frame, Closure(method)) or any(p.name == "device" for p in method.params)
        for each in info.lineage()
        for method in each.methods.values()
    )


def from_pretrained(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`device_map` and quantisation place the model; otherwise it is made on the CPU."""
    placing = ("device_map", "load_in_8bit", "load_in_4bit", "quantization_config")
    if args.unpacked or any(args.gives((name,)) for name in placing):
        return NOTHING
    told = Trace(node, "loaded on the CPU here")
    found = Object(device=frame.state.default, source=row.name, trace=told)
    return Value(Kind.MODULE, data=frame.allocate(node, found))


def encoding(frame: Frame, node: ir.Call, args: Arguments) -> Value:
    """What a tokenizer gives: tensors on the CPU where `return_tensors="pt"` asks for them."""
    wanted = args.keyword("return_tensors")
    if wanted is None or wanted[1].data != "pt" or args.gives(("device",)):
        return NOTHING
    told = Trace(node, "comes from a tokenizer here: on the CPU")
    found = Object(device=CPU, source="BatchEncoding", trace=told)
    ref = frame.allocate(node, found)
    return Value(Kind.ENCODING, CPU, data=ref, origin=Origin.ENCODED, trace=told)


def children(args: Arguments) -> tuple[Value, ...] | None:
    """The modules given to `nn.Sequential(...)`."""
    if args.unpacked:
        return None
    inside = tuple(value for _, value in args.positional())
    return inside if all(value.kind is Kind.MODULE for value in inside) and inside else None


def device_of_children(frame: Frame, row: Row, args: Arguments, default: Device) -> Device:
    """A container of modules is where they are: it has nothing of its own."""
    if not row.name.startswith("torch.nn.") or row.name.rpartition(".")[2] not in CONTAINERS:
        return default
    inside: list[Value] = []
    for _, value in args.positional():
        found = frame.object(value)
        if value.kind is Kind.MODULE:
            inside.append(value)
        elif found is not None and value.kind.is_container:
            inside.append(found.elements())
    places = {frame.place(v) for v in inside if v.kind is Kind.MODULE} - {UNKNOWN}
    if any(v.kind is not Kind.MODULE for v in inside) and len(places) < 1:
        return UNKNOWN if inside else default
    return places.pop() if len(places) == 1 else (UNKNOWN if places else default)


CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict"))
