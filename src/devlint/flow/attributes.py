"""`value.attribute`, read and written."""

from __future__ import annotations

from dataclasses import replace

from devlint import ir
from devlint.flow import protocols
from devlint.flow.facts import ApiRead, AttributeRead, AttributeWrite
from devlint.flow.frame import Bound, ClassInfo, Closure, Frame, path_value, place_of_path
from devlint.flow.lattice import UNKNOWN, Known
from devlint.flow.library import followed, library_value
from devlint.flow.placement import forget_optimizer, place_module
from devlint.flow.state import Object, Path
from devlint.flow.values import HOST_TENSOR, NOTHING, TENSORS, Kind, Origin, Value

_ABOUT_DEVICES = frozenset(("device", "is_cuda", "get_device"))
_SAME_TENSOR = frozenset(("data", "T", "mT", "H", "mH", "real", "imag", "grad"))
_ALSO_ENCODING = frozenset(("to", "items", "keys", "values", "data", "pop", "get", "update"))


_OF_DISTRIBUTIONS = ("sample", "rsample", "log_prob", "entropy")


def read(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    """The value of `base.attr`."""
    attr, kind = node.attr, base.kind
    if kind is Kind.LIBRARY:
        return _of_library(frame, node, f"{base.data}.{attr}")
    stored = frame.state.paths.get(ir.render(node, 80)) if frame.state.paths else None
    if stored is not None:
        return stored
    if attr in _ABOUT_DEVICES:
        told = _about_device(frame, node, base)
        if told is not None:
            return told
    if kind in TENSORS:
        if attr == "batch_sizes":  # of a packed sequence: they stay on the host
            return HOST_TENSOR
        return _of_tensor(frame, node, base)
    if kind in (Kind.MODULE, Kind.INSTANCE):
        return _of_object(frame, node, base)
    if kind is Kind.OPTIMIZER and attr == "state":
        forget_optimizer(frame, base)
    if kind is Kind.DEVICE:
        return _of_device(base, attr)
    if kind is Kind.DISTRIBUTION and attr in _OF_DISTRIBUTIONS:
        name = f"torch.distributions.Distribution.{attr}"
        return Value(Kind.METHOD, data=Bound(base, node.value, name))
    if kind is Kind.GENERATOR:
        if attr == "device":
            return Value(Kind.DEVICE, base.device, note="tensor-device")
        return Value(Kind.METHOD, data=Bound(base, node.value, f"torch.Generator.{attr}"))
    if kind is Kind.ENCODING:
        if attr in _ALSO_ENCODING:
            return Value(Kind.METHOD, data=Bound(base, node.value, f"ENCODING.{attr}"))
        device = frame.place(base)
        return Value(Kind.TENSOR, device, origin=base.origin, scalar=False, trace=base.trace)
    if kind is Kind.CLASS and isinstance(base.data, ClassInfo):
        return _of_class(base.data, attr)
    if kind is Kind.UNKNOWN and isinstance(base.data, Path):
        if attr in ("weight", "bias") and _is_submodule(frame, node.value):
            return Value(Kind.TENSOR, frame.place(_self(frame)), origin=Origin.FOLLOWS, grad=True)
        if attr == "shape":
            return Value(Kind.UNKNOWN, note="shape")
        inner = path_value(f"{base.data.text}.{attr}", base.data.given)
        return inner.but(note="placer") if base.note == "placer" and attr == "device" else inner
    return NOTHING


def _self(frame: Frame) -> Value:
    function = frame.function
    name = function.params[0].name if function is not None and function.params else ""
    return frame.look_up(name) or NOTHING


def _is_submodule(frame: Frame, node: ir.Expr) -> bool:
    """`self.layer` of a module, which a base made: what has a weight is where the module is."""
    if not isinstance(node, ir.Attribute) or not isinstance(node.value, ir.Name):
        return False
    this = frame.look_up(node.value.id)
    return this is not None and this.kind is Kind.MODULE and this.note == "self"


def _of_library(frame: Frame, node: ir.Attribute, name: str) -> Value:
    if frame.tells and name.startswith("torch.cuda."):
        frame.record(ApiRead(node, frame.context(), name))
    if name == "torch.nn" and not frame.file.nn:
        frame.file.nn = "torch.nn"
    return followed(frame, library_value(name), node)


def _about_device(frame: Frame, node: ir.Attribute, base: Value) -> Value | None:
    """`.device`, `.is_cuda`: what they say, and whether the receiver has them."""
    if base.kind in (Kind.TENSOR, Kind.BATCH, Kind.MODULE, Kind.PLACED, Kind.LIST):
        if frame.tells and not frame.state.known.get(f'hasattr({ir.render(node.value)}, "device")'):
            frame.record(
                AttributeRead(
                    node,
                    frame.context(),
                    frame.operand(node.value, base),
                    node.attr,
                    defined=base.kind is not Kind.MODULE or _may_define(frame, base, node.attr),
                )
            )
        if node.attr == "device" and base.kind is not Kind.LIST:
            if base.kind is Kind.MODULE and not _tells_own_place(frame, base):
                return None
            return Value(
                Kind.DEVICE, frame.place(base), note="tensor-device",
                origin=base.origin, trace=base.trace,
            )  # fmt: skip
        return Value(Kind.BOOL) if node.attr == "is_cuda" else None
    if base.kind is Kind.UNKNOWN and node.attr == "is_cuda":
        return Value(Kind.BOOL)
    return None


def _tells_own_place(frame: Frame, base: Value) -> bool:
    """Whether `module.device` is where its parameters are: so it is with every library's module
    that has it, and with a property of that name; what a class stores under it is a value."""
    found = frame.object(base)
    if found is None or not isinstance(found.source, ClassInfo):
        return found is None or "device" not in found.entries
    known = any(name.endswith(_WITH_DEVICE) for name in found.source.library_bases())
    stored = any("device" in each.attributes for each in found.source.lineage())
    return found.source.method("device") is not None or (known and not stored)


_WITH_DEVICE = ("LightningModule", "PreTrainedModel", "ModelMixin")


def _may_define(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a module may have an attribute that plain modules lack. Unless proved: yes."""
    found = frame.object(base)
    if found is None or base.note == "super":
        return True
    if attr in found.entries:
        return True
    if isinstance(found.source, str):
        row = frame.world.table.get(found.source)
        plain = found.source.startswith(("torch.nn.", "torchvision.models."))
        return not plain or row is None or row.has_device
    if isinstance(found.source, ClassInfo):
        info = found.source
        plain = all(base.startswith("torch.nn.") for base in info.library_bases())
        dynamic = info.defines("__getattr__") or info.defines("__getattribute__")
        opened = any(each.open_base for each in info.lineage())
        inherited = base.note == "self" and any(
            info in each.lineage() and each.defines(attr) for each in frame.file.classes.values()
        )
        return opened or dynamic or not plain or inherited or info.defines(attr)
    return True


def _of_tensor(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    attr = node.attr
    if attr in _SAME_TENSOR:
        return base.alike()
    if attr == "dtype":
        return Value(Kind.DTYPE)
    if attr == "shape":
        return Value(Kind.UNKNOWN, note="shape")
    if attr in ("is_sparse", "is_leaf", "requires_grad", "is_mps", "is_xpu", "is_meta"):
        return Value(Kind.BOOL)
    if attr in ("ndim", "itemsize", "nbytes"):
        return Value(Kind.NUMBER)
    if frame.world.table.get(f"torch.Tensor.{attr}") is not None:
        return Value(Kind.METHOD, data=Bound(base, node.value, f"torch.Tensor.{attr}"))
    if base.kind is Kind.BATCH:
        return base.alike(scalar=None, note="part")
    return NOTHING


def _of_object(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    found, attr = frame.object(base), node.attr
    if found is not None and base.note != "super":
        if attr in found.entries:
            return found.entries[attr]
        if isinstance(found.source, ClassInfo):
            told = _of_class_instance(frame, found.source, base, node)
            if told is not None:
                return told
    if base.kind is Kind.MODULE:
        if attr in ("weight", "bias"):
            place = frame.place(base)
            return Value(Kind.TENSOR, place, origin=Origin.FOLLOWS, grad=True, note="parameter")
        source = found.source if found is not None else None
        for owner in ((source,) if isinstance(source, str) else ()) + ("torch.nn.Module",):
            if frame.world.table.get(f"{owner}.{attr}") is not None:
                return Value(Kind.METHOD, data=Bound(base, node.value, f"{owner}.{attr}"))
    if isinstance(node.value, ir.Name) and base.note == "self":
        return path_value(f"{node.value.id}.{attr}")
    return NOTHING


def _of_class_instance(
    frame: Frame, info: ClassInfo, base: Value, node: ir.Attribute
) -> Value | None:
    method = info.method(node.attr)
    if method is not None:
        owner, function = method
        if any(node.attr in each.properties for each in info.lineage()):
            return _property(frame, info, base, node)
        closure = Closure(function, owner.file, (), owner, f"{owner.node.name}.{function.name}")
        return Value(Kind.METHOD, data=Bound(base, node.value, closure=closure))
    for each in info.lineage():
        if node.attr in each.env:
            fields = any("dataclass" in ir.render(d) for d in each.node.decorators)
            return NOTHING if fields else each.env[node.attr]
    return None


_HAVE_PLACES = frozenset(
    (Kind.TENSOR, Kind.BATCH, Kind.MODULE, Kind.LOADER, Kind.LIST, Kind.TUPLE, Kind.DICT)
)


def _property(frame: Frame, info: ClassInfo, base: Value, node: ir.Attribute) -> Value:
    """What a property computes. One named `device` of a module tells where its parameters are, by
    custom; what stands for a device or for nothing known has its identity."""
    if node.attr == "device" and info.is_module:
        return Value(Kind.DEVICE, frame.place(base))
    value = protocols.answer(frame, node, base, node.attr)
    if value.kind in _HAVE_PLACES:
        return value
    if isinstance(node.value, ir.Name) and base.note == "self":
        return path_value(f"{node.value.id}.{node.attr}")
    return NOTHING


def _of_device(base: Value, attr: str) -> Value:
    if attr == "type":
        named = Known(base.device.type) if isinstance(base.device, Known) else base.device
        return Value(Kind.STRING, named, note="device.type")
    if attr == "index":
        return Value(Kind.NUMBER, UNKNOWN, note="device.index")
    return Value(Kind.METHOD, data=Bound(base, ir.Name(attr), f"torch.device.{attr}"))


def _of_class(info: ClassInfo, attr: str) -> Value:
    for each in info.lineage():
        if attr in each.env:
            return each.env[attr]
    method = info.method(attr)
    if method is not None:
        return Value(Kind.FUNCTION, data=Closure(method[1], method[0].file, (), method[0], attr))
    return NOTHING


def store(frame: Frame, node: ir.Attribute, value: Value, statement: ir.Stmt) -> None:
    """`base.attr = value`."""
    base = frame.evaluate(node.value)
    if node.attr == "data" and isinstance(node.value, ir.Attribute):
        _fill_by_hand(frame, frame.evaluate(node.value.value), value)
    if node.attr == "data" and base.kind is Kind.TENSOR:  # the tensor itself takes the new place
        here = base.but(device=frame.place(value), origin=Origin.MOVED)
        frame.world.store(frame, node.value, here)
        return
    found = frame.object(base)
    is_module = base.kind is Kind.MODULE and base.note == "self"
    if not is_module:
        frame.world.written.add(node.attr)
    owner = None if found is None else found.source
    if is_module and isinstance(owner, ClassInfo) and (frame.tells or _is_constructor(frame)):
        operand = frame.operand(_written(statement, node), value)
        noted = frame.world.stores if frame.tells else frame.world.inherited
        stores = noted.setdefault((owner, node.attr), [])
        if all(known is not statement for known, _ in stores):
            stores.append((statement, operand))
    if frame.tells and (is_module or node.attr == "device"):
        frame.record(
            AttributeWrite(
                statement,
                frame.context(),
                frame.operand(node.value, base),
                node.attr,
                frame.operand(_written(statement, node), value),
                is_module,
            )
        )
    if found is not None and base.kind in (Kind.MODULE, Kind.INSTANCE):
        if not is_module and value.kind in (Kind.TENSOR, Kind.PLACED):
            _fill_by_hand(frame, base, value)
            found = frame.object(base) or found
        before = found.entries.get(node.attr)
        if before is not None and before.note == "buffer" and value.kind is Kind.TENSOR:
            value = value.but(note="buffer")
        holds = value.kind in (Kind.MODULE, Kind.TENSOR) or value.kind.is_container
        stored = found.with_entry(node.attr, value)
        frame.state.paths.pop(ir.render(node, 80), None)
        frame.update(base, replace(stored, stateless=found.stateless and not holds))
    elif base.kind is Kind.OPTIMIZER:
        forget_optimizer(frame, base)
    elif isinstance(base.data, Path) or base.kind is Kind.UNKNOWN:
        frame.state.paths[ir.render(node, 80)] = value
        put_in(frame, node, value)


def _is_constructor(frame: Frame) -> bool:
    return isinstance(frame.function, ir.Function) and frame.function.name == "__init__"


def _fill_by_hand(frame: Frame, module: Value, value: Value) -> None:
    """Somebody puts a tensor of another place into a module (`cell.weight.data = gru.weight.data`,
    `net.table = net.table.to(x)`): it may be all that has to be there."""
    if module.kind is Kind.MODULE and module.note != "self":
        if frame.place(value) != frame.place(module):
            place_module(frame, module, UNKNOWN)
            frame.world.filled_by_hand.add(module.data)


def put_in(frame: Frame, target: ir.Expr, value: Value) -> None:
    """`model.head.fc = layer`, `model.classifier[6] = layer`: where nothing is known of what is in
    between, the module that is known holds it."""
    if value.kind is not Kind.MODULE:
        return
    inner: ir.Expr = target
    while isinstance(inner, (ir.Attribute, ir.Subscript)):
        inner = inner.value
        base = frame.evaluate(inner)
        found = frame.object(base)
        if base.kind is Kind.MODULE and base.note != "self" and found is not None:
            name = ir.render(target).removeprefix(ir.render(inner)).lstrip(".")
            frame.update(base, found.with_entry(name, value))
            return


def _written(statement: ir.Stmt, node: ir.Expr) -> ir.Expr:
    value = getattr(statement, "value", None)
    return value if isinstance(value, ir.Expr) else node


def place_of(frame: Frame, value: Value) -> Value:
    """A tensor where an unknown value is."""
    if isinstance(value.data, Path):
        return Value(Kind.TENSOR, place_of_path(value.data), origin=Origin.INPUT)
    return Value(Kind.TENSOR, UNKNOWN)


def new_instance(frame: Frame, node: ir.Call, info: ClassInfo) -> Value:
    """An object of a class of this file, without attributes yet."""
    kind = Kind.MODULE if info.is_module else Kind.INSTANCE
    return Value(kind, data=frame.allocate(node, Object(source=info)))
