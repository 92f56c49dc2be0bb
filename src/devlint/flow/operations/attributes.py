"""`value.attribute`, read."""

from __future__ import annotations

from devlint.flow.domain.lattice import CPU, UNKNOWN, Guarded, Known, Symbol
from devlint.flow.domain.paths import Path, asks_attribute, identity, path_value
from devlint.flow.domain.traits import CHOICES, Trait
from devlint.flow.domain.values import (
    HOST_TENSOR,
    NAMED,
    NOTHING,
    PROVED,
    TENSORS,
    Kind,
    Origin,
    Value,
)
from devlint.flow.facts import ApiRead, AttributeRead, SentToCuda
from devlint.flow.frames import protocols
from devlint.flow.frames.fields import is_field
from devlint.flow.frames.files import Bound, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import followed, library_value, method_of, name_in
from devlint.flow.frames.missing import is_missing
from devlint.flow.modules.constructed import Typed, held
from devlint.flow.modules.placement import forget_optimizer, held_place, parameter_at, whole_of
from devlint.flow.operations import graphs, subscripts
from devlint.flow.operations.objects import dict_of, of_each
from devlint.flow.operations.own_device import (
    is_stateless,
    is_unseen,
    may_define,
    note_plain,
    tells_own_place,
)
from devlint.flow.operations.unpacking import child_of
from devlint.flow.operations.yielded import part_of_encoding
from devlint.flow.syntax.of_cuda import sent
from devlint.model import ir
from devlint.policy import means
from devlint.torchapi.spellings import CONTEXT, FUNCTION, is_function_class

_ABOUT_DEVICES = frozenset(("device", "is_cuda", "get_device"))
_SAME_TENSOR = frozenset(("data", "T", "mT", "H", "mH", "real", "imag", "grad"))
_OF_RESULTS = ("values", "indices")
"""The names of the parts that `topk`, `sort` and `max(dim)` give."""
_ALSO_ENCODING = frozenset(("to", "items", "keys", "values", "data", "pop", "get", "update"))
_OF_DISTRIBUTIONS = ("sample", "rsample", "log_prob", "entropy", "cdf")


def read(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    """The value of `base.attr`."""
    attr, kind = node.attr, base.kind
    if kind is Kind.LIBRARY:
        return _of_library(frame, node, f"{base.data}.{attr}")
    if frame.state.paths and (stored := frame.state.paths.get(identity(node))):
        return stored
    if attr in _ABOUT_DEVICES:
        told = _about_device(frame, node, base)
        if told is not None:
            return told
    if kind is Kind.DATASET or (kind is Kind.LOADER and attr == "dataset"):
        found = frame.object(base)
        return NOTHING if found is None else found.entries.get(attr, NOTHING)
    if kind in TENSORS:
        if attr == "batch_sizes":  # of a packed sequence: they stay on the host
            return HOST_TENSOR
        return _of_tensor(frame, node, base)
    if kind in (Kind.MODULE, Kind.INSTANCE):
        return _of_object(frame, node, base)
    if kind is Kind.TUPLE and attr in _OF_RESULTS:
        parts = frame.object(base)
        return NOTHING if parts is None else parts.elements()
    if kind is Kind.OPTIMIZER and attr == "state":
        forget_optimizer(frame, base)
    if kind is Kind.DEVICE:
        return _of_device(base, attr)
    if kind is Kind.DISTRIBUTION and attr in _OF_DISTRIBUTIONS:
        name = f"torch.distributions.Distribution.{attr}"
        return Value(Kind.METHOD, data=Bound(base, node.value, name))
    if kind is Kind.GENERATOR:
        if attr == "device":
            return Value(Kind.DEVICE, base.device, trait=Trait.DEVICE_OF_TENSOR)
        return Value(Kind.METHOD, data=Bound(base, node.value, f"torch.Generator.{attr}"))
    if kind is Kind.ENCODING:
        found = frame.object(base)
        if attr in _ALSO_ENCODING:
            return Value(Kind.METHOD, data=Bound(base, node.value, attr))
        if found is not None and graphs.is_graph(frame, base):
            return graphs.attribute(frame, base, found, attr)
        return part_of_encoding(frame, (node.value, base), attr)
    if kind is Kind.CLASS and isinstance(base.data, ClassInfo):
        return _of_class(base.data, base, node)
    if base.trait is Trait.LOADED and attr in _SAME_TENSOR:
        return base.but(data=None)
    if kind is Kind.UNKNOWN and isinstance(base.data, Path):
        return _of_path(frame, node, base, base.data)
    return NOTHING


def _of_path(frame: Frame, node: ir.Attribute, base: Value, path: Path) -> Value:
    """What something has of which only the identity is known."""
    attr = node.attr
    if attr in ("weight", "bias"):
        whole = whole_of(frame, node.value)
        if whole is not None and (whole.trait is not Trait.SELF or _is_part(node.value)):
            return parameter_at(frame, whole, node)
    if attr == "shape":
        return Value(Kind.UNKNOWN, trait=Trait.SHAPE)
    if attr == "dtype":
        # No device, for sure; what an object holds may keep a type of tensors under that name.
        is_held = isinstance(node.value, ir.Attribute)
        return Value(Kind.DTYPE, trait=Trait.ANNOTATED if is_held else None)
    made = held(frame, path, node) if isinstance(path, Typed) else None
    if made is not None:
        return made
    text = f"{path.text}.{attr}"
    if frame.state.paths and (stored := frame.state.paths.get(text)):
        return stored
    inner = path_value(text, path.given)
    places = base.trait is Trait.PLACER and attr == "device"
    return inner.but(trait=Trait.PLACER) if places else inner


def _is_part(node: ir.Expr) -> bool:
    """`self.layer`, which a base made: what has a weight is where the module is."""
    return isinstance(node, ir.Attribute) and isinstance(node.value, ir.Name)


def _of_library(frame: Frame, node: ir.Attribute, name: str) -> Value:
    if frame.tells and name.startswith("torch.cuda.") and not frame.comparing:
        frame.record(ApiRead(node, frame.context(), name))
    if name == "torch.nn" and not frame.file.nn:
        frame.file.nn = "torch.nn"
    return followed(frame, library_value(name), node)


def _about_device(frame: Frame, node: ir.Attribute, base: Value) -> Value | None:
    """`.device`, `.is_cuda`: what they say, and whether the receiver has them."""
    if base.kind in (Kind.TENSOR, Kind.BATCH, Kind.MODULE, Kind.PLACED, Kind.LIST):
        if frame.tells and not frame.state.known.get(asks_attribute(node.value, "device")):
            frame.record(
                AttributeRead(
                    node,
                    frame.context(),
                    frame.operand(node.value, base),
                    node.attr,
                    defined=base.kind is not Kind.MODULE or may_define(frame, base, node.attr),
                    stateless=is_stateless(frame, base),
                )
            )
        if node.attr == "device" and base.kind is not Kind.LIST:
            if base.kind is Kind.MODULE and not tells_own_place(frame, base):
                return None
            place, info = frame.place(base), frame.class_of(base)
            if place == UNKNOWN and info is not None and info.method("device") is not None:
                return None
            trait = Trait.DEVICE_OR_STRING if is_unseen(frame, base) else Trait.DEVICE_OF_TENSOR
            if place == UNKNOWN and (made := held_place(frame, base)) == CPU:
                # It is still being made, and whoever moves it does so later.
                return Value(Kind.DEVICE, made, trait=trait, origin=Origin.DEFAULT)
            return Value(Kind.DEVICE, place, trait=trait, origin=base.origin, trace=base.trace)
        if node.attr != "is_cuda":
            return None
        goes = frame.file.once(sent, frame.file.body).get(node) if frame.tells else None
        if goes is not None:
            operand = frame.operand(node.value, base)
            frame.record(SentToCuda(goes, frame.context(), operand))
        device = base.device if base.kind in TENSORS else UNKNOWN
        told = device.type == "cuda" if isinstance(device, Known) else None
        return Value(Kind.BOOL, data=told, trait=Trait.ANSWER)
    if base.kind is Kind.UNKNOWN and node.attr == "is_cuda":
        return Value(Kind.BOOL)
    if base.kind in (Kind.NUMBER, Kind.STRING, Kind.BOOL):
        note_plain(frame, node, base)
    return None


def _of_tensor(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    attr = node.attr
    if attr == "grad" and base.trait is Trait.MOVED_LEAF and frame.tells:
        operand = frame.operand(node.value, base)
        frame.record(AttributeRead(node, frame.context(), operand, attr))
    if attr in _SAME_TENSOR:
        return base.alike()
    if attr == "dtype":
        return Value(Kind.DTYPE)
    if attr == "shape":
        return Value(Kind.UNKNOWN, trait=Trait.SHAPE)
    if attr in ("is_sparse", "is_leaf", "requires_grad", "is_mps", "is_xpu", "is_meta"):
        return Value(Kind.BOOL)
    if attr in ("ndim", "itemsize", "nbytes"):
        return Value(Kind.NUMBER)
    if frame.world.table.get(f"torch.Tensor.{attr}") is not None:
        return Value(Kind.METHOD, data=Bound(base, node.value, f"torch.Tensor.{attr}"))
    if base.kind is Kind.BATCH:
        if base.origin is Origin.MOVED and means("host-number", attr, "variable"):
            return NOTHING  # its class decides what of it moves: lengths stay on the host
        return base.alike(scalar=None, trait=Trait.PART, data=base.batch)
    return path_value(identity(node)) if base.kind is Kind.PLACED else NOTHING


def _of_object(frame: Frame, node: ir.Attribute, base: Value) -> Value:
    found, attr = frame.object(base), node.attr
    if found is not None and base.trait is not Trait.SUPER:
        if attr == "__dict__":
            return dict_of(frame, node, base)
        if attr == "__class__" and isinstance(found.source, ClassInfo):
            return Value(Kind.CLASS, data=found.source)
        stored = found.entries.get(attr)
        if stored is None or (attr in found.unsure and stored.kind is Kind.UNKNOWN):
            told = _of_its_class(frame, base, node)
            if told is not None:
                return told
        if stored is not None:
            return _identified(node, base, stored)
        method = of_each(frame, node.value, base, attr)
        if method is not None:
            return method
        if base.kind is Kind.INSTANCE:
            told = _found_by_its_class(frame, base, node)
            if told != NOTHING:
                return told
    if base.kind is Kind.INSTANCE and found is not None and found.source == CONTEXT:
        return Value(Kind.METHOD, data=Bound(base, node.value, f"{CONTEXT}.{attr}"))
    if base.kind is Kind.MODULE:
        if attr in ("weight", "bias"):
            return parameter_at(frame, base, node).but(trait=Trait.PARAMETER)
        library_class = "" if found is None else found.library_class
        row = frame.world.table.get(library_class)
        if row is not None and attr in row.submodules:
            return child_of(frame, base)
        info = frame.class_of(base)
        bases = () if info is None else info.library_bases()
        own = filter(None, (library_class, "torch.nn.Module"))
        name = method_of(frame, bases, own, attr)
        if name:
            return Value(Kind.METHOD, data=Bound(base, node.value, name))
        if library_class == "torch.nn.ModuleDict":
            return child_of(frame, base)
    if is_missing(frame, base, attr):
        frame.state.alive = False
    given = base.kind is Kind.MODULE and base.origin is Origin.INPUT
    if isinstance(node.value, ir.Name) and (base.trait is Trait.SELF or given):
        return path_value(f"{node.value.id}.{attr}", given)
    return NOTHING


def _identified(node: ir.Attribute, base: Value, value: Value) -> Value:
    """What `self` holds under a name: where nobody knows which device that is, it is still the
    same one wherever the name stands."""
    if base.trait is not Trait.SELF or not isinstance(node.value, ir.Name):
        return value
    if value.trait and value.trait not in CHOICES:
        return value
    text = f"{node.value.id}.{node.attr}"
    if (value.kind is Kind.DEVICE or value.trait in CHOICES) and value.device == UNKNOWN:
        return value.but(device=Symbol(text, text))
    return path_value(text) if value == NOTHING else value


def _of_its_class(frame: Frame, base: Value, node: ir.Attribute) -> Value | None:
    """What an object has from its class; None where that isn't in sight, or has none."""
    info = frame.class_of(base)
    if info is None:
        return None
    closure = info.reached(node.attr)
    if closure is not None:
        if any(node.attr in each.properties for each in info.lineage()):
            return _property(frame, base, node)
        return Value(Kind.METHOD, data=Bound(base, node.value, closure=closure))
    bound = protocols.in_body(info, node.attr)
    if bound is None or is_field(info, node.attr):
        return None
    if protocols.defines(frame, bound, "__get__"):
        return protocols.answer(frame, node, bound, "__get__", base, NOTHING)
    return bound


def _found_by_its_class(frame: Frame, base: Value, node: ir.Attribute) -> Value:
    """What `__getattr__` gives, which Python asks for what an object hasn't: `self[name]`,
    `getattr(self.inner, name)`, or `dict.__getitem__`."""
    info, name = frame.class_of(base), Value(Kind.STRING, data=node.attr)
    if info is None or node.attr.startswith("__"):
        return NOTHING
    method = info.method("__getattr__")
    if method is None:
        bound = protocols.in_body(info, "__getattr__")
        item = ir.Subscript(node.value, ir.Constant(node.attr), node.origin)
        by_key = bound is not None and bound.data in _BY_KEY
        return subscripts.subscript(frame, item, base, name) if by_key else NOTHING
    if any(each.function is method[1] for each in frame.chain()):
        return NOTHING
    return protocols.answer(frame, node, base, "__getattr__", name)


_BY_KEY = ("builtins.dict.__getitem__", "builtins.dict.get")
_HAVE_PLACES = frozenset(
    (
        Kind.TENSOR, Kind.BATCH, Kind.MODULE, Kind.LOADER, Kind.LIST, Kind.TUPLE, Kind.DICT,
        Kind.GENERATOR, Kind.DISTRIBUTION, Kind.INSTANCE,
    )
)  # fmt: skip


def _property(frame: Frame, base: Value, node: ir.Attribute) -> Value:
    """What a property computes. What stands for nothing known, or for a device that only a run
    knows, has its identity."""
    value = protocols.answer(frame, node, base, node.attr)
    names = value.kind in NAMED
    named = names and isinstance(value.device, (Known, Guarded))
    if named or value.kind in _HAVE_PLACES:
        return value
    if isinstance(node.value, ir.Name) and base.trait is Trait.SELF:
        return path_value(f"{node.value.id}.{node.attr}")
    return NOTHING


def _of_device(base: Value, attr: str) -> Value:
    if attr == "type":
        named = Known(base.device.type) if isinstance(base.device, Known) else base.device
        taken = named == CPU and base.origin not in PROVED  # what came in may be taken to be there
        text = named.type if isinstance(named, Known) and not taken else None
        return Value(Kind.STRING, named, trait=Trait.TYPE_OF_DEVICE, data=text)
    if attr == "index":
        return Value(Kind.NUMBER, UNKNOWN, trait=Trait.INDEX_OF_DEVICE)
    return Value(Kind.METHOD, data=Bound(base, ir.Name(attr), f"torch.device.{attr}"))


def _of_class(info: ClassInfo, base: Value, node: ir.Attribute) -> Value:
    bound = protocols.in_body(info, node.attr)
    if bound is not None:
        return bound
    closure = info.reached(node.attr)
    if closure is None and node.attr == "apply":
        if any(map(is_function_class, info.library_bases())):
            return Value(Kind.METHOD, data=Bound(base, node.value, f"{FUNCTION}.apply"))
    if closure is None:
        return NOTHING
    decorators = (name_in(closure.file, each) for each in closure.node.decorators)
    if "builtins.classmethod" in decorators:
        return Value(Kind.METHOD, data=Bound(base, node.value, closure=closure))
    return Value(Kind.FUNCTION, data=closure)
