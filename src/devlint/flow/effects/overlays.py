"""What can't be a row: functions that rows name, each with the reason it needs code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from devlint.flow.conditions.implications import truth
from devlint.flow.devices.named import note_none, use_device
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import CPU, CUDA, UNKNOWN, Device, Known, leaves
from devlint.flow.domain.paths import Owned, as_device
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import CHOICES, Trait
from devlint.flow.domain.values import NAMED, NONE, NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.effects import frameworks
from devlint.flow.effects.collectives import collective, init_process_group
from devlint.flow.effects.creation import is_handed_default, on_default, on_device
from devlint.flow.effects.distributions import distribution, divergence, draw, measure
from devlint.flow.effects.model_overlays import embeddings, from_pretrained, quantization
from devlint.flow.effects.python_overlays import PYTHON_OVERLAYS
from devlint.flow.effects.ranks import environment, get_rank
from devlint.flow.effects.use import Overlay, Use, device_argument
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted, library_value
from devlint.flow.modules.placement import (
    CHILD,
    held_by,
    held_place,
    outermost,
    parameter_at,
    place_module,
)
from devlint.flow.operations import graphs, meet
from devlint.flow.operations.containers import lazily, pairs
from devlint.model import ir
from devlint.torchapi.effects import Row
from devlint.torchapi.spellings import is_class


def _device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.device("cuda", 1)`: two arguments make one device."""
    given, second = args.find((0, "device", "type")), args.find((1, "index"))
    if given is None:
        return Value(Kind.DEVICE)
    if second is None:
        device = use_device(frame, *given, via="torch.device")
        note_none(frame, *given)
    elif isinstance(given[1].device, Known) and given[1].device.index is not None:
        return Value(Kind.DEVICE)  # given twice: it raises
    elif isinstance(second[1].data, int) and isinstance(given[1].device, Known):
        device = Known(given[1].device.type, second[1].data)
        whole = Value(Kind.STRING, device, str(device))
        use_device(frame, second[0], whole, via="torch.device")
    else:  # it has an index
        if second[1].kind is Kind.NUMBER:
            use_device(frame, *second, via="index")
        return Value(Kind.DEVICE, as_device(given[1]), trait=Trait.DEVICE_OF_TENSOR)
    trait = Trait.CHOICE if given[1].trait in CHOICES else None
    if given[1].kind is Kind.STRING and given[1].trait is Trait.BUILT:
        trait = Trait.BUILT  # its index, if it has one, isn't known
    return Value(Kind.DEVICE, device, trait=trait)


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
        device: Device = UNKNOWN
        if isinstance(given[1].data, str):
            device = CUDA if ".cuda." in given[1].data else CPU
        frame.state.default = device
        frame.world.processes.sets_tensor_type |= device != CPU
        frame.world.answers.own += 1
    return NONE


def _get_default_device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """What was set last where the call stands."""
    return Value(Kind.DEVICE, frame.state.default)


def _get_device(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A number that is -1 for a tensor that is on the CPU: a rule asks where it goes."""
    of = args.find(row.of)
    places = () if of is None else leaves(of[1].device)
    elsewhere = [isinstance(each, Known) and not each.is_host for each in places]
    index = not elsewhere or not all(elsewhere)
    return Value(Kind.NUMBER, trait=Trait.INDEX_OF_TENSOR if index else None)


def _extremum(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`max(x)` reduces, `max(x, y)` joins, `max(x, 1)` gives values and indices."""
    of = args.find(row.of)
    if of is None or of[1].kind not in TENSORS:
        return NOTHING
    first = 0 if args.receiver is not None else 1
    other = args.find((first, "other"))
    if other is not None and other[1].kind in TENSORS:
        return meet.meet(frame, node, row.name.rpartition(".")[2], [of, other])
    if other is None and args.find(("dim",)) is None:
        return of[1].but(scalar=True, data=None)
    if other is not None and other[1].kind not in (Kind.NUMBER, Kind.TUPLE, Kind.STRING):
        return NOTHING  # a tensor as likely as the number of a dimension
    part = of[1].but(scalar=None, data=None)
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=(part, part))))


def _is_tensor(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A condition, which may be known where the call stands."""
    return truth(frame, node, NOTHING)


def _load(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """What was saved may be anything, but all tensors in it are where `map_location` says."""
    given = args.find(row.device)
    if given is not None and given[1].kind in NAMED:
        device = use_device(frame, *given, via="map_location")
        sort = Sort.PRETRAINED if device == CPU else Sort.PRETRAINED_NAMED
        told = Step(sort, node, device=device)
        if row.kind == "module":
            found = Object(device=device, source=row.name, trace=told)
            return Value(Kind.MODULE, data=frame.allocate(node, found))
        return Value(Kind.UNKNOWN, device, origin=Origin.MOVED, trait=Trait.LOADED, trace=told)
    return NOTHING


def _normal(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.normal(mean, std)` follows its tensors; with numbers and a size it makes one."""
    for _, value in args.positional()[:2]:
        if value.kind in TENSORS:
            return value.but(scalar=None, data=None, trait=None)
    use = Use(frame, node, row, args)
    device = device_argument(use)
    if device is not None:
        return on_device(use, device)
    if args.find((2, "size")) is None or args.unpacked:
        return NOTHING
    return on_default(use, CPU if is_handed_default(frame) else frame.state.default)


def _sparse_tensor(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torch.sparse_coo_tensor(indices, values)`: with a device it moves both, else they meet."""
    given = [found for found in (args.find((0, "indices")), args.find((1, "values"))) if found]
    use = Use(frame, node, row, args)
    device = device_argument(use)
    if device is not None:
        return on_device(use, device)
    if is_handed_default(frame):
        return on_default(use, frame.state.default)
    if len(given) < 2 or any(value.kind not in TENSORS for _, value in given):
        return Value(Kind.TENSOR, UNKNOWN, scalar=False)
    return meet.meet(frame, node, "sparse_coo_tensor", given, free_scalars=False).but(scalar=False)


def _each(give: Callable[[Frame, ir.Call, Value], Value], named: bool = False) -> Overlay:
    """An iterator over what a module holds, of which all is like what `give` says; `named`: with
    the names."""

    def overlay(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
        if args.receiver is None:
            return NOTHING
        inside = give(frame, node, args.receiver[1])
        if named:
            return pairs(frame, node, Value(Kind.STRING), inside)
        return lazily(frame, node, Object(element=inside))

    return overlay


def _parameter_of(frame: Frame, node: ir.Call, module: Value) -> Value:
    """Any parameter of a module: it is where the module is, and knows whose it is. Of a module
    that is still being made, it is where what that holds so far is. One of them has dimensions."""
    owner = None if frame.object(module) is None else Owned(module.data)
    place = held_place(frame, module) if module.trait is Trait.SELF else frame.place(module)
    return parameter_at(frame, module, node).but(device=place, data=owner, scalar=False)


def _child(frame: Frame, node: ir.Call, module: Value) -> Value:
    """Any module within another: whose it is tells that it is registered there."""
    ref = (CHILD, 0, outermost(module.data))
    frame.state.heap[ref] = Object(device=frame.place(module), trace=held_by(frame, module, node))
    return Value(Kind.MODULE, data=ref)


def _submodule(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`model.get_submodule(path)`"""
    return NOTHING if args.receiver is None else _child(frame, node, args.receiver[1])


def _state_dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A dict of tensors that are where the module is; they know nothing of gradients."""
    if args.receiver is None:
        return NOTHING
    inside = parameter_at(frame, args.receiver[1], node).but(scalar=False, grad=False)
    return Value(Kind.DICT, data=frame.allocate(node, Object(element=inside)))


def _load_state_dict(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """With `assign=True` a module has the tensors that it is given in the place of its own, and is
    where they are."""
    state, assign = args.value((0, "state_dict")), args.value((2, "assign"))
    if args.receiver is not None and assign.data is True:
        found = frame.object(state)
        held = state if found is None else found.elements()
        known = held.trait is Trait.LOADED or held.kind is Kind.TENSOR
        device = held.device if known else UNKNOWN
        told = Step(Sort.MOVE_STATE, node, held.trace, device)
        place_module(frame, args.receiver[1], device, told)
    return NOTHING


def _applied(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`net._apply(lambda t: t.cuda())`: what a function makes of its parameters, it makes of all
    that it holds."""
    function = args.find((0, "fn"))
    if args.receiver is None or function is None:
        return NOTHING
    held = ir.Argument(function[0]), parameter_at(frame, args.receiver[1], node)
    made = frame.world.call(frame, node, *function, Arguments((held,)))
    place_module(frame, args.receiver[1], frame.place(made), made.trace)
    return args.receiver[1]


def _size(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`x.size(0)` is a number, `x.size()` a tuple of them."""
    if args.all:
        return Value(Kind.NUMBER, trait=Trait.PYTHON_NUMBER)
    return Value(Kind.UNKNOWN, trait=Trait.SHAPE)


def _tensor_type(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`.type(name)`: a CUDA type moves there, a CPU type pulls back, a dtype moves nothing."""
    if args.receiver is None:
        return NOTHING
    given = args.find((0, "dtype"))
    if given is None:
        return Value(Kind.STRING, CPU if frame.place(args.receiver[1]) == CPU else UNKNOWN)
    name, value = given[1].data, args.receiver[1]
    if isinstance(name, str) and name.endswith("Tensor"):
        device = CUDA if name.startswith("torch.cuda.") else CPU
    elif given[1].kind is Kind.DTYPE and given[1].trait is not Trait.ANNOTATED:
        return value
    elif given[1].kind is Kind.STRING and given[1].device == CPU:  # `x.type(y.type())`
        device = CPU
    else:
        return value.but(device=UNKNOWN, data=None)
    told = Step(Sort.MOVE_TYPE, node, value.trace, device)
    return value.but(device=device, origin=Origin.MOVED, trace=told, data=None)


def _estimator(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`KMeans(8)`: what scikit-learn's classes make has methods of the same names."""
    return library_value("sklearn.base.BaseEstimator") if is_class(row.name) else NOTHING


def _load_audio(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`torchaudio.load(path)`: a waveform on the host, and its sample rate."""
    trace = Step(Sort.FILE, node)
    wave = Value(Kind.TENSOR, CPU, origin=Origin.HOST_DATA, scalar=False, trace=trace)
    inside = Object(items=(wave, Value(Kind.NUMBER)))
    return Value(Kind.TUPLE, data=frame.allocate(node, inside))


_TO_TENSOR = library_value("torchvision.transforms.functional.to_tensor")
"""`ToTensor()`: called with an image, it does what the function does."""


def _gives(value: Value) -> Overlay:
    """What no row can say, whatever a call is given."""
    return lambda frame, node, row, args: value


def _composed(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Compose([..., ToTensor(), Normalize(...)])`: all of torchvision's own after the image has
    become a tensor leave it where it is."""
    given = args.find((0, "transforms"))
    if given is None or not isinstance(given[0], ir.Display):
        return NOTHING
    found = NOTHING
    for item in given[0].items:
        name = dotted(frame, item.func) if isinstance(item, ir.Call) else ""
        if name.endswith(("transforms.ToTensor", "transforms.PILToTensor")):
            found = _TO_TENSOR
        elif not name.startswith("torchvision.transforms.") or name.endswith(".Lambda"):
            found = NOTHING
    return found


OVERLAYS: Mapping[str, Overlay] = {
    **PYTHON_OVERLAYS,
    "embeddings": embeddings,
    "accelerator": frameworks.make,
    "children": _each(_child),
    "collective": collective,
    "composed": _composed,
    "device": _device,
    "distribution": distribution,
    "divergence": divergence,
    "draw": draw,
    "measure": measure,
    "environment": environment,
    "estimator": _estimator,
    "extremum": _extremum,
    "from_pretrained": from_pretrained,
    "get_default_device": _get_default_device,
    "get_device": _get_device,
    "get_rank": get_rank,
    "graph": graphs.graph,
    "graph-loader": graphs.loader,
    "graph-transform": graphs.transform,
    "graphs": graphs.dataset,
    "init_process_group": init_process_group,
    "is_tensor": _is_tensor,
    "load": _load,
    "load_audio": _load_audio,
    "load_state_dict": _load_state_dict,
    "named_children": _each(_child, named=True),
    "named_parameters": _each(_parameter_of, named=True),
    "normal": _normal,
    "parameters": _each(_parameter_of),
    "placed": _gives(Value(Kind.TENSOR, UNKNOWN)),
    "quantization": quantization,
    "set_default_device": _set_default_device,
    "set_default_tensor_type": _set_default_tensor_type,
    "size": _size,
    "sparse_tensor": _sparse_tensor,
    "apply_to_held": _applied,
    "state_dict": _state_dict,
    "submodule": _submodule,
    "tensor_type": _tensor_type,
    "to_tensor": _gives(_TO_TENSOR),
}
"""The overlays by the name that rows use."""
