"""Models of libraries and their inputs: where they are, and what keeps them there."""

from __future__ import annotations

from devlint.flow.conditions import implications
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.lattice import CPU, CUDA, UNKNOWN, Device, Guarded, Known, choose
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Fixed, Fixing
from devlint.flow.domain.values import NAMED, NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.effects.use import Use, device_argument
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import flatten
from devlint.flow.frames.files import Bound
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import library_value
from devlint.flow.operations import graphs
from devlint.flow.operations.containers import lazily, pairs
from devlint.flow.operations.dimensions import of_loss
from devlint.flow.operations.unpacking import element_of
from devlint.flow.operations.yielded import part_of_encoding
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.torchapi.effects import Dims, Row


def from_pretrained(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`device_map` and quantisation place the model; otherwise it is made on the CPU."""
    fixed = _fixed(frame, args)
    if fixed is not None:
        held = Object(source=row.name, managed=True)
        trace = Step(Sort.PLACED_BY_LIBRARY, node, name=fixed.by.value)
        return Value(Kind.MODULE, data=frame.allocate(node, held), trait=fixed, trace=trace)
    if args.unpacked or any(args.gives((name,)) for name in _QUANTIZES):
        return NOTHING
    device, told = frame.state.default, Step(Sort.PRETRAINED, node)
    mapped = args.keyword("device_map")
    if mapped is not None and mapped[1].kind is not Kind.NONE:
        device = mapped[1].device  # the whole model is there, and nothing moves its inputs
        if mapped[1].kind not in NAMED:
            return NOTHING
        if not isinstance(device, (Known, Guarded)):
            return NOTHING
        told = Step(Sort.PRETRAINED_NAMED, node, device=device)
    found = Object(device=device, source=row.name, trace=told)
    return Value(Kind.MODULE, data=frame.allocate(node, found))


_BITS = {"load_in_8bit": Fixing.EIGHT_BIT, "load_in_4bit": Fixing.FOUR_BIT}
_QUANTIZES = (*_BITS, "quantization_config")
_SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")


def _fixed(frame: Frame, args: Arguments) -> Fixed | None:
    """Why a model isn't to be moved, as far as the arguments prove that."""
    bits = _bits(frame, args)
    given, mapped = args.keyword("quantization_config"), args.keyword("device_map")
    if bits is None and given is not None and isinstance(given[1].trait, Fixed):
        return given[1].trait
    if bits is None and mapped is not None and mapped[1].data in _SPREADING:
        return Fixed(Fixing.DISPATCH)
    return bits


def _bits(frame: Frame, args: Arguments) -> Fixed | None:
    """What `load_in_8bit=True` and its like say; with the condition, where it is one."""
    for keyword, bits in _BITS.items():
        given = args.keyword(keyword)
        if given is None or given[1].data is False or given[1].kind is Kind.NONE:
            continue
        if given[1].data is True:
            return Fixed(bits)
        key = implications.key_of(frame, given[0])
        if key is not None and key[1] and frame.state.known.get(key[0]) is not False:
            return Fixed(bits, key[0])
    return None


def quantization(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`BitsAndBytesConfig(load_in_8bit=True)`: it decides where the model is that gets it."""
    told = _bits(frame, args)
    return Value(Kind.NAMESPACE, trait=told) if told is not None else NOTHING


def as_it_is_fixed(frame: Frame, value: Value) -> Value:
    """A model without its trait, where the condition of that is known not to hold, or where the
    code that is running asks whether the model was dispatched at all."""
    body = frame.file.body if frame.function is None else (frame.function,)
    if any(map(_names_the_map, nodes_of(body))):
        return value.but(trait=None)
    fixed = value.trait
    if not isinstance(fixed, Fixed) or fixed.condition is None:
        return value
    holds = frame.state.known.get(fixed.condition)
    if holds is False:
        return value.but(trait=None)
    return value.but(trait=Fixed(fixed.by)) if holds else value


def _names_the_map(node: ir.Node) -> bool:
    """`model.hf_device_map`, `getattr(model, "hf_device_map", None)`: what a dispatch leaves."""
    match node:
        case ir.Attribute(attr="hf_device_map") | ir.Constant(value="hf_device_map"):
            return True
    return False


def encoding(frame: Frame, node: ir.Call, args: Arguments, row: str = "") -> Value:
    """What a tokenizer gives: tensors on the CPU where `return_tensors="pt"` asks for them. `row`
    is the one of policy by which it is a tokenizer."""
    if args.value(("return_tensors",)).data != "pt" or args.gives(("device",)):
        return NOTHING
    told = Step(Sort.ENCODED, node, Step(Sort.HYPOTHESIS, node, name=row) if row else None)
    found = Object(device=CPU, trace=told)
    ref = frame.allocate(node, found)
    return Value(Kind.ENCODING, CPU, data=ref, origin=Origin.ENCODED, trace=told)


def encoded(frame: Frame, node: ir.Call, method: str, args: Arguments, row: str = "") -> Value:
    """What a tokenizer's methods give: the numbers alone, or an encoding as a call of it gives."""
    if method not in _GIVE_NUMBERS and method not in _GIVE_ENCODINGS:
        return NOTHING
    found = encoding(frame, node, args, row)
    if method in _GIVE_ENCODINGS or found is NOTHING or args.asks("return_dict"):
        return found
    asked = args.keyword("return_dict")
    if asked is not None and asked[1].data is not False:
        return NOTHING
    return Value(Kind.TENSOR, CPU, origin=Origin.ENCODED, scalar=False, trace=found.trace)


_GIVE_NUMBERS = ("encode", "apply_chat_template")
_GIVE_ENCODINGS = ("encode_plus", "batch_encode_plus", "pad", "prepare_for_model")


def encoding_method(frame: Frame, node: ir.Call, bound: Bound, args: Arguments) -> Value:
    """`encoding.get("attention_mask")`, `.items()`: what it holds, as any mapping gives it."""
    if graphs.is_graph(frame, bound.receiver):
        return NOTHING
    part = part_of_encoding(frame, (bound.node, bound.receiver), args.value((0,)).data)
    match bound.name:
        case "get" | "pop" if args.find((0,)) is not None:
            return NOTHING if args.gives((1,)) else part
        case "values":
            return lazily(frame, node, Object(element=part))
        case "items":
            return pairs(frame, node, Value(Kind.STRING), part)
    return NOTHING


def module(use: Use) -> Value:
    """A module of a library's class, and what comes with it."""
    made = _module(use)
    if not use.row.beside:
        return made
    items = (made, *map(library_value, use.row.beside))
    return Value(Kind.TUPLE, data=use.frame.allocate((use.node, "beside"), Object(items=items)))


def embeddings(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`model.encode(texts, convert_to_tensor=True)` gives a tensor where the model is; an array
    where it isn't asked for one."""
    if args.asks("convert_to_tensor") and args.receiver is not None:
        there, told = frame.place(args.receiver[1]), frame.object(args.receiver[1])
        trace = Step(Sort.OUTPUT, node, None if told is None else told.trace)
        return Value(Kind.TENSOR, there, origin=Origin.FOLLOWS, scalar=False, trace=trace)
    asked = args.unpacked or args.keyword("convert_to_tensor") is not None
    return NOTHING if asked or args.keyword("convert_to_numpy") else Value(Kind.NDARRAY)


def _module(use: Use) -> Value:
    """It is on the default device, or where its arguments put it."""
    frame, row = use.frame, use.row
    device = device_argument(use)
    inside, known = _children(frame, row, use.args)
    weights = [use.args.find(parameter) for parameter in row.weights]
    tensors = [given[1] for given in weights if given is not None and given[1].kind in TENSORS]
    holds = [row.parameters if given is None else given[1].data is not False for given in weights]
    holds_some = any(holds) if weights else row.parameters
    if device is None and row.to:
        device = choose(CUDA_AVAILABLE, CUDA, CPU)
    elif device is None:
        device = frame.state.default if row.parameters and holds_some else UNKNOWN
        if tensors:  # a 0-dimensional weight may stay on the CPU
            shaped = row.dims is Dims.SOME or tensors[0].scalar is False
            device = frame.place(tensors[0]) if shaped else UNKNOWN
        device = _device_of_children(frame, row, use.args, inside, device)
    sort = Sort.MODULE if device == CPU else Sort.MODULE_NAMED
    told = Step(sort, use.node, device=device)
    contains = row.name.rpartition(".")[2] in _CONTAINERS
    modules = all(each.kind is Kind.MODULE for each in inside)
    known = known and (contains or (modules and bool(use.args.all)))
    held = [frame.object(each) for each in inside if known]
    unseen = contains and not held
    alike = not known and modules and len(inside) == 1
    empty = all(each is not None and each.stateless for each in held)
    found = Object(
        device=device, source=row.name, trace=told, items=tuple(inside) if known else None,
        stateless=empty and not (holds_some or unseen),
        element=inside[0] if alike else NOTHING,
        gives_number=row.reduces and of_loss(use.args) is True,
    )  # fmt: skip
    return Value(Kind.MODULE, data=frame.allocate(use.node, found))


def _children(frame: Frame, row: Row, args: Arguments) -> tuple[list[Value], bool]:
    """The modules given to `nn.Sequential(...)`, by `OrderedDict(...)` too, or to
    `nn.ModuleList([...])`, and whether all of them are known one by one; one for what `*layers`
    gives."""
    inside, listed = list[Value](), True
    for argument, value in args.all:
        found = frame.object(value) if value.kind.is_container else None
        if argument.star:
            listed = False
            inside.append(element_of(frame, value))
        elif argument.keyword is None:
            alone = value.kind is Kind.MODULE or row.name.endswith("Sequential")
            listed &= alone if found is None else found.items is not None
            inside += [each for _, each in flatten(frame, argument.value, value)]
    return inside, listed


def _device_of_children(
    frame: Frame, row: Row, args: Arguments, inside: list[Value], default: Device
) -> Device:
    """A container of modules is where they are: it has nothing of its own."""
    if row.name == "torchmetrics.MetricCollection":
        return _device_of_metrics(frame, args)
    if not row.name.startswith("torch.nn.") or row.name.rpartition(".")[2] not in _CONTAINERS:
        return default
    places = {frame.place(v) for v in inside if v.kind is Kind.MODULE} - {UNKNOWN}
    if len(places) == 1:
        return places.pop()
    return UNKNOWN if places or any(v.kind is not Kind.MODULE for v in inside) else default


def _device_of_metrics(frame: Frame, args: Arguments) -> Device:
    """A collection refuses inputs of elsewhere where one of its metrics does."""
    found = frame.object(args.value((0, "metrics")))
    inside = [] if found is None else [*(found.items or ()), *found.entries.values()]
    held = [frame.object(each) for each in inside if each.kind is Kind.MODULE]
    places = {each.device for each in held if each is not None and not each.stateless}
    return places.pop() if len(places) == 1 else UNKNOWN


_CONTAINERS = frozenset(("Sequential", "ModuleList", "ModuleDict"))
