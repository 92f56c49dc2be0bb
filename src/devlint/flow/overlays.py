"""What can't be a row: functions that rows name, each with the reason it needs code."""

from __future__ import annotations

from collections.abc import Callable

from devlint import ir
from devlint.flow import meet, operations
from devlint.flow.arguments import Arguments
from devlint.flow.devices import use_device
from devlint.flow.frame import ClassInfo, Closure, Frame, as_device, place_of_path
from devlint.flow.lattice import CPU, UNKNOWN, Device, Known
from devlint.flow.narrow import truth
from devlint.flow.scan import MOVES
from devlint.flow.state import Object, Path, join_all
from devlint.flow.values import NONE, NOTHING, Kind, Origin, Trace, Value
from devlint.torchapi.effects import Row

Overlay = Callable[[Frame, ir.Call, Row, Arguments], Value]
_TENSORS = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)


def _device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.device("cuda", 1)`: two arguments make one device."""
    given = args.find((0, "device", "type"))
    if given is None:
        return Value(Kind.DEVICE)
    second = args.find((1, "index"))
    if second is not None and isinstance(second[1].data, int) and isinstance(given[1].device, Known):
        device: Device = Known(given[1].device.type, second[1].data)
        whole = Value(Kind.STRING, device, str(device))
        use_device(frame, second[0], whole, via="torch.device")
    elif second is not None:
        device = as_device(given[1])  # somebody chose the index
    else:
        device = use_device(frame, *given, via="torch.device")
    note = "choice" if given[1].note == "choice" else ""
    return Value(Kind.DEVICE, device, note=note)


def _set_default_device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """It changes where every later tensor is made."""
    given = args.find((0, "device"))
    if given is not None:
        none = given[1].kind is Kind.NONE
        device = CPU if none else use_device(frame, *given, via="set_default_device")
        frame.state.default = device
    return NONE


def _set_default_tensor_type(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.set_default_tensor_type("torch.cuda.FloatTensor")` does so by a type's name."""
    given = args.find((0, "t"))
    if given is not None:
        name = given[1].data
        known = isinstance(name, str)
        frame.state.default = (Known("cuda") if ".cuda." in str(name) else CPU) if known else UNKNOWN
    return NONE


def _get_default_device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return Value(Kind.DEVICE, frame.state.default)


def _get_device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A number that is -1 for a CPU tensor: a rule asks where it goes."""
    return Value(Kind.NUMBER, note="get_device")


def _extremum(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`max(x)` reduces, `max(x, y)` joins, `max(x, 1)` gives values and indices."""
    of = args.find(row.of) or args.receiver
    if of is None or of[1].kind not in _TENSORS:
        return NOTHING
    first = 0 if args.receiver is not None else 1
    other = args.find((first, "other"))
    if other is not None and other[1].kind in _TENSORS:
        return meet.meet(frame, node, row.name.rpartition(".")[2], [of, other])
    if other is None and args.find(("dim",)) is None:
        return of[1].but(scalar=True, data=None)
    part = of[1].but(scalar=None, data=None)
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=(part, part))))


def _is_tensor(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return truth(frame, node, NOTHING)


def _load(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """What was saved may be anything, anywhere: only an explicit `map_location` is checked."""
    given = args.find((1, "map_location")) if not row.name.endswith("load_url") else args.find(
        ("map_location",)
    )  # fmt: skip
    if given is not None and given[1].kind in (Kind.STRING, Kind.DEVICE):
        use_device(frame, *given, via="map_location")
    return NOTHING


def _normal(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.normal(mean, std)` follows its tensors; with numbers and a size it makes one."""
    for _, value in args.positional()[:2]:
        if value.kind in _TENSORS:
            return value.but(scalar=None, data=None, note="")
    given = args.keyword("device")
    if given is not None and given[1].kind is not Kind.NONE:
        device = use_device(frame, *given, via="device")
        return Value(Kind.TENSOR, device, origin=Origin.MOVED, scalar=False)
    if args.find((2, "size")) is None or args.unpacked:
        return NOTHING
    told = Trace(node, "made without `device=` here: on the CPU")
    return Value(
        Kind.TENSOR, frame.state.default, origin=Origin.DEFAULT, scalar=False, trace=told
    )


def _parameters(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """An iterator over tensors that are where the module is."""
    if args.receiver is None:
        return NOTHING
    value = args.receiver[1]
    device = frame.place(value)
    inside = Value(Kind.TENSOR, device, origin=Origin.FOLLOWS, grad=True)
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(element=inside)), note="lazy")


def _named_parameters(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    if args.receiver is None:
        return NOTHING
    device = frame.place(args.receiver[1])
    inside = Value(Kind.TENSOR, device, origin=Origin.FOLLOWS, grad=True)
    return _pairs(frame, node, Value(Kind.STRING), inside)


def _pairs(frame: Frame, node: ir.Call, first: Value, second: Value) -> Value:
    """Something that yields pairs."""
    pair = Value(Kind.TUPLE, data=((node, "pair"), frame.site))
    frame.state.heap[pair.data] = Object(items=(first, second))  # type: ignore[index]
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(element=pair)), note="lazy")


def _children(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    if args.receiver is None:
        return NOTHING
    found = Object(element=_child(frame, node, args.receiver[1]))
    return Value(Kind.TUPLE, data=frame.allocate(node, found), note="lazy")


def _named_children(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    if args.receiver is None:
        return NOTHING
    return _pairs(frame, node, Value(Kind.STRING), _child(frame, node, args.receiver[1]))


def _child(frame: Frame, node: ir.Call, module: Value) -> Value:
    ref = ((node, "child"), frame.site)
    frame.state.heap[ref] = Object(device=frame.place(module))
    return Value(Kind.MODULE, data=ref)


def _state_dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    if args.receiver is None:
        return NOTHING
    device = frame.place(args.receiver[1])
    inside = Value(Kind.TENSOR, device, origin=Origin.FOLLOWS)
    return Value(Kind.DICT, data=frame.allocate(node, Object(element=inside)))


def _size(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`x.size(0)` is a number, `x.size()` a tuple of them."""
    return Value(Kind.NUMBER, note="typed") if args.all else Value(Kind.UNKNOWN, note="shape")


def _placed(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return Value(Kind.TENSOR, UNKNOWN)


def _tensor_type(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`.type(name)`: a CUDA type moves there, a CPU type pulls back, a dtype moves nothing."""
    if args.receiver is None:
        return NOTHING
    given = args.find((0, "dtype"))
    if given is None:
        return Value(Kind.STRING)
    name, value = given[1].data, args.receiver[1]
    if isinstance(name, str) and name.endswith("Tensor"):
        device = Known("cuda") if name.startswith("torch.cuda.") else CPU
        told = Trace(node, f"moved to {device} by its type here", value.trace)
        return value.but(device=device, origin=Origin.MOVED, trace=told, data=None)
    if given[1].kind is Kind.UNKNOWN:
        return value.but(device=UNKNOWN, data=None)
    return value


# --- Python's own ------------------------------------------------------------------------------


def _iterate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`tqdm(x)`, `iter(x)`, `reversed(x)`, `list(x)`: iterating yields what iterating `x` yields."""
    given = args.find((0, "iterable"))
    if given is None:
        return NOTHING
    value = given[1]
    if value.kind is Kind.LOADER:
        return value
    found = frame.object(value)
    name = row.name.rpartition(".")[2]
    kind = {"list": Kind.LIST, "sorted": Kind.LIST, "tuple": Kind.TUPLE, "set": Kind.SET}.get(
        name, Kind.TUPLE
    )
    if found is not None and found.items is not None and name in ("list", "tuple"):
        return Value(kind, data=frame.allocate(node, Object(items=found.items)))
    element = operations.element_of(frame, value, given[0])
    if element is NOTHING and not value.kind.is_container:
        return NOTHING if name not in ("list", "tuple", "set", "sorted") else Value(kind)
    note = "lazy" if kind is Kind.TUPLE and name != "tuple" else ""
    return Value(kind, data=frame.allocate(node, Object(element=element)), note=note)


def _enumerate(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0, "iterable"))
    if given is None:
        return NOTHING
    return _pairs(
        frame, node, Value(Kind.NUMBER), operations.element_of(frame, given[1], given[0])
    )


def _zip(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    inside = tuple(operations.element_of(frame, value, n) for n, value in args.positional())
    row_value = Value(Kind.TUPLE, data=((node, "row"), frame.site))
    frame.state.heap[row_value.data] = Object(items=inside)  # type: ignore[index]
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(element=row_value)), note="lazy")


def _next(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    given = args.find((0,))
    if given is None:
        return NOTHING
    if given[1].kind is Kind.UNKNOWN and isinstance(given[0], ir.Call):
        return _next_parameter(given[0])
    return operations.element_of(frame, given[1], given[0])


def _next_parameter(call: ir.Call) -> Value:
    """`next(model.parameters())` of a model that isn't known is where that model is."""
    if isinstance(call.func, ir.Attribute) and call.func.attr in ("parameters", "buffers"):
        place = place_of_path(Path(ir.render(call.func.value), given=True))
        return Value(Kind.TENSOR, place, origin=Origin.FOLLOWS, grad=True)
    return NOTHING


def _number(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return Value(Kind.NUMBER)


def _string(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`str(device)` names the device still; `str(index)` is digits."""
    given = args.find((0,))
    if given is not None and given[1].kind is Kind.NUMBER:
        return Value(Kind.STRING, note="digits")
    device = UNKNOWN if given is None else as_device(given[1])
    return Value(Kind.STRING, device, note="built")


def _range(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """Iterating yields numbers."""
    found = Object(element=Value(Kind.NUMBER, note="typed"))
    counted = any(value.note == "device_count" for _, value in args.all)
    note = "devices" if counted else "lazy"
    return Value(Kind.TUPLE, data=frame.allocate(node, found), note=note)


def _set_attribute(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`setattr(module, "device", d)` is an assignment in other words."""
    target, name, value = (args.find((position,)) for position in range(3))
    found = None if target is None else frame.object(target[1])
    if found is not None and target is not None and name is not None and value is not None:
        if isinstance(name[1].data, str):
            frame.update(target[1], found.with_entry(name[1].data, value[1]))
    return NONE


def _copy(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A copy is where the original is, and moves on its own from there."""
    given = args.find((0, "x"))
    if given is None:
        return NOTHING
    found = frame.object(given[1])
    if found is None or given[1].kind is Kind.METHOD:
        return given[1].but(note="")
    return given[1].but(data=frame.allocate(node, found), note="")


def _dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    entries = {name: value for name, (_, value) in args.keywords().items()}
    other = args.find((0,))
    found = None if other is None else frame.object(other[1])
    if found is not None and other is not None and other[1].kind is Kind.DICT:
        entries = {**found.entries, **entries}
        element = found.element
    else:
        element = NOTHING
    return Value(Kind.DICT, data=frame.allocate(node, Object(entries=entries, element=element)))


def _is_instance(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return Value(Kind.BOOL)


# --- loaders, models and their inputs ----------------------------------------------------------


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


def _from_pretrained(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
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

OVERLAYS: dict[str, Overlay] = {
    "children": _children,
    "copy": _copy,
    "range": _range,
    "setattr": _set_attribute,
    "device": _device,
    "dict": _dict,
    "enumerate": _enumerate,
    "extremum": _extremum,
    "from_pretrained": _from_pretrained,
    "get_default_device": _get_default_device,
    "get_device": _get_device,
    "is_tensor": _is_tensor,
    "isinstance": _is_instance,
    "iterate": _iterate,
    "iter": _iterate,
    "list": _iterate,
    "tuple": _iterate,
    "set": _iterate,
    "sorted": _iterate,
    "reversed": _iterate,
    "load": _load,
    "named_children": _named_children,
    "named_parameters": _named_parameters,
    "next": _next,
    "normal": _normal,
    "number": _number,
    "len": _number,
    "int": _number,
    "float": _number,
    "parameters": _parameters,
    "placed": _placed,
    "set_default_device": _set_default_device,
    "set_default_tensor_type": _set_default_tensor_type,
    "size": _size,
    "state_dict": _state_dict,
    "str": _string,
    "tensor_type": _tensor_type,
    "zip": _zip,
}
"""The overlays by the name that rows use. `join_all` of nothing is NOTHING."""

