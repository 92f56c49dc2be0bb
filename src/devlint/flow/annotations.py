"""What an annotation says of a value."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import ClassInfo, Frame, place_of_path
from devlint.flow.lattice import CPU, UNKNOWN, Symbol
from devlint.flow.library import dotted
from devlint.flow.state import Object, Path
from devlint.flow.values import Kind, Origin, Value

_TENSORS = frozenset(
    ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.nn.Parameter",
     "torch.BoolTensor", "torch.IntTensor", "torch.DoubleTensor", "torch.HalfTensor")
)  # fmt: skip


def annotated(frame: Frame, node: ir.Expr, value: Value) -> Value:
    """A value that isn't known, with what its annotation proves."""
    name = annotation_name(frame, node)
    text = value.data.text if isinstance(value.data, Path) else ""
    if name in _TENSORS:
        place = place_of_path(value.data) if isinstance(value.data, Path) else UNKNOWN
        return Value(Kind.TENSOR, place, origin=Origin.INPUT)
    if name == "torch.device":
        return Value(Kind.DEVICE, Symbol(text, text) if text else UNKNOWN)
    if name == "builtins.str":
        return Value(Kind.STRING, Symbol(text, text) if text else UNKNOWN)
    if name in ("builtins.int", "builtins.float"):
        return Value(Kind.NUMBER, note="typed")
    if name == "builtins.bool":
        return value
    if name == "torch.dtype":
        return Value(Kind.DTYPE)
    if name == "torch.nn.Module" or _is_module_class(frame, node):
        return module(frame, node, value)
    inner = _element(frame, node)
    if inner is not None:
        element = annotated(frame, inner, Value(Kind.UNKNOWN))
        if element.kind is Kind.MODULE:
            kind = Kind.LIST if "tuple" not in name.lower() else Kind.TUPLE
            ref = frame.allocate(inner, Object(element=element))
            exact = ir.render(node).lower().rpartition(".")[2].startswith(("list", "tuple"))
            return Value(kind, data=ref, note="" if exact else "any")
        return Value(Kind.LIST) if element.kind in (Kind.NUMBER, Kind.STRING) else value
    if name == "numpy.ndarray":
        return Value(Kind.NDARRAY)
    if name == "torch.utils.data.DataLoader":
        return loader(frame, node, text)
    return value


def module(frame: Frame, node: ir.Node, value: Value) -> Value:
    """A module that somebody else made and placed."""
    if value.note == "if-module":
        return value
    place = place_of_path(value.data) if isinstance(value.data, Path) else UNKNOWN
    ref = frame.allocate(node, Object(device=place))
    return Value(Kind.MODULE, data=ref, origin=Origin.INPUT)


def _is_module_class(frame: Frame, node: ir.Expr) -> bool:
    value = frame.look_up(node.id) if isinstance(node, ir.Name) else None
    return value is not None and isinstance(value.data, ClassInfo) and value.data.is_module


_SEQUENCES = ("List", "Sequence", "Iterable", "Collection", "list", "tuple", "Tuple")


def _element(frame: Frame, node: ir.Expr) -> ir.Expr | None:
    """`X` of `List[X]` and the like."""
    if isinstance(node, ir.Subscript) and ir.render(node.value).rpartition(".")[2] in _SEQUENCES:
        if isinstance(node.index, ir.Display):
            return node.index.items[0] if node.index.items else None
        return node.index
    return None


def loader(frame: Frame, node: ir.Node, label: str) -> Value:
    """A loader that isn't made in this file: like every loader it yields host tensors."""
    ref = frame.allocate(node, Object(device=CPU, source=f"DataLoader {label}".rstrip()))
    return Value(Kind.LOADER, data=ref)


def annotation_name(frame: Frame, node: ir.Expr) -> str:
    """The dotted name an annotation spells, `Optional[...]`, `X | None` and quotes removed."""
    match node:
        case ir.Subscript(value=ir.Name(id="Optional"), index=index):
            return annotation_name(frame, index)
        case ir.Binary(op="|", left=left, right=ir.Constant(value=None)):
            return annotation_name(frame, left)
        case ir.Constant(value=str(text)):
            return _quoted(frame, text)
    return dotted(frame, node)


def _quoted(frame: Frame, text: str) -> str:
    parts = text.removeprefix("Optional[").removesuffix("]").removesuffix(" | None").split(".")
    if not all(part.isidentifier() for part in parts):
        return ""
    node: ir.Expr = ir.Name(parts[0])
    for part in parts[1:]:
        node = ir.Attribute(node, part)
    return dotted(frame, node)
