"""Operators, subscripts, comparisons, unpacking and iteration."""

from __future__ import annotations

from devlint import ir
from devlint.flow import meet, narrow
from devlint.flow.facts import Comparison
from devlint.flow.frame import Frame, path_value
from devlint.flow.lattice import UNKNOWN, Known
from devlint.flow.state import Object, Path, join_all, join_values
from devlint.flow.values import NOTHING, Kind, Origin, Trace, Value

_TENSORS = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)


# --- operators -----------------------------------------------------------------------------


def binary(frame: Frame, node: ir.Binary | ir.Augment, left: Value, right: Value) -> Value:
    """`left op right`."""
    first = node.left if isinstance(node, ir.Binary) else node.target
    second = node.right if isinstance(node, ir.Binary) else node.value
    if left.kind in _TENSORS or right.kind in _TENSORS:
        return meet.meet(
            frame, node, node.op, [(first, left), (second, right)], free_scalars=node.op != "@"
        )
    if left.kind is Kind.STRING and node.op in "+%":
        return _concatenated(left, right)
    if left.kind is Kind.NUMBER and right.kind is Kind.NUMBER:
        return Value(Kind.NUMBER)
    if left.kind.is_container and node.op in ("+", "*", "|"):
        return _combined(frame, node, left, right)
    if Kind.NDARRAY in (left.kind, right.kind):
        return Value(Kind.NDARRAY)
    return NOTHING


def _concatenated(left: Value, right: Value) -> Value:
    """`"cuda:" + str(index)` names an accelerator without saying which; `"cuda" + str(index)`
    names nothing."""
    digits = right.note == "digits" or right.kind is Kind.NUMBER
    if digits and left.data in ("cuda", "mps", "xpu", "cpu"):
        return Value(Kind.STRING, data=f"{left.data}0", note="built")
    if isinstance(left.data, str) and left.data in ("cuda", "cuda:", "mps:", "xpu:"):
        return Value(Kind.STRING, Known(left.data.rstrip(":")), note="built")
    return Value(Kind.STRING)


def formatted(frame: Frame, parts: list[tuple[ir.Expr, Value]]) -> Value:
    """An f-string: `f"cuda:{index}"` names an accelerator."""
    if len(parts) > 1 and parts[0][1].kind is Kind.STRING:
        return _concatenated(parts[0][1], parts[1][1] if len(parts) == 2 else NOTHING)
    return Value(Kind.STRING)


def _combined(frame: Frame, node: ir.Binary | ir.Augment, left: Value, right: Value) -> Value:
    one, other = frame.object(left), frame.object(right)
    if one is None:
        return NOTHING
    if other is None or right.kind is not left.kind:
        other = Object() if right.kind is Kind.NUMBER else Object(element=NOTHING)
    both = [o.elements() for o in (one, other) if o.items != ()]
    if node.op == "+" and one.items is not None and other.items is not None:
        found = Object(items=one.items + other.items)
    else:
        unknown = right.kind not in (left.kind, Kind.NUMBER)
        found = Object(element=NOTHING if unknown else join_all(both))
    return Value(left.kind, data=frame.allocate(node, found))


# --- comparisons ---------------------------------------------------------------------------


def compare(frame: Frame, node: ir.Compare, left: Value, right: Value) -> Value:
    """`left op right`."""
    if node.op not in ("in", "not in", "is", "is not") and (
        left.kind in _TENSORS or right.kind in _TENSORS
    ):
        found = meet.meet(frame, node, node.op, [(node.left, left), (node.right, right)])
        if found is not NOTHING:
            return found.but(grad=False)
    about = (Kind.DEVICE in (left.kind, right.kind)) or "device.type" in (left.note, right.note)
    if about and frame.tells:
        one, other = frame.operand(node.left, left), frame.operand(node.right, right)
        of_type = left.note == "device.type"
        frame.record(Comparison(node, frame.context(), node.op, one, other, of_type))
    plain = left if left.kind is not Kind.NUMBER or right.kind is not Kind.UNKNOWN else right
    return narrow.truth(frame, node, plain)


# --- subscripts ----------------------------------------------------------------------------


def subscript(frame: Frame, node: ir.Subscript, base: Value, index: Value) -> Value:
    """`base[index]`, read."""
    kind = base.kind
    if kind in (Kind.TENSOR, Kind.PLACED):
        meet.index(frame, node, (node.value, base), index_parts(frame, node.index, index))
        keeps = _keeps_dimensions(index)
        scalar = False if keeps and base.scalar is False else None
        note = base.note if base.note == "guarded" else ("" if keeps else "element")
        return base.alike(scalar=scalar, note=note)
    if kind is Kind.BATCH:
        return base.but(scalar=None)
    if kind is Kind.ENCODING:
        return frame.operand(node.value, base).value.but(
            kind=Kind.TENSOR, device=frame.place(base), data=None, scalar=False
        )
    found = frame.object(base)
    if found is not None and kind is Kind.MODULE:
        if found.items is not None and isinstance(index.data, int):
            return _item(found, Kind.LIST, index)
        return base if index.note == "slice" else child_of(frame, base)
    if found is not None:
        return _item(found, kind, index)
    if kind is Kind.UNKNOWN and isinstance(base.data, Path) and isinstance(index.data, (str, int)):
        text = f'{base.data.text}["{index.data}"]' if isinstance(index.data, str) else (
            f"{base.data.text}[{index.data}]"
        )  # fmt: skip
        return frame.state.paths.get(text) or path_value(text, base.data.given)
    if kind is Kind.NDARRAY:
        return base
    if base.note == "shape":
        return base if index.note == "slice" else Value(Kind.NUMBER, note="typed")
    return NOTHING


def _keeps_dimensions(index: Value) -> bool:
    return index.note == "slice" or index.kind in _TENSORS or index.kind is Kind.NONE


def _item(found: Object, kind: Kind, index: Value) -> Value:
    if kind is Kind.DICT:
        if isinstance(index.data, str):
            return found.entries.get(index.data, found.element)
        return found.elements()
    if index.note == "slice":
        return Value(kind, data=None)
    if found.items is not None and isinstance(index.data, int):
        if -len(found.items) <= index.data < len(found.items):
            return found.items[index.data]
    return found.elements()


def index_parts(frame: Frame, node: ir.Expr, index: Value) -> list[tuple[ir.Expr, Value]]:
    """The indices of `x[a, b]`, one by one."""
    found = frame.object(index)
    if isinstance(node, ir.Display) and found is not None and found.items is not None:
        if len(found.items) == len(node.items):
            return list(zip(node.items, found.items, strict=True))
    return [(node, index)]


# --- iteration and unpacking ---------------------------------------------------------------


def element_of(frame: Frame, value: Value, node: ir.Node | None = None) -> Value:
    """What iterating over a value yields."""
    kind = value.kind
    if kind is Kind.LOADER:
        found = frame.object(value)
        device = value.device if found is None else found.device
        trace = found.trace if found is not None else value.trace
        if node is not None:
            trace = Trace(node, "comes from a DataLoader here: on the CPU", trace)
        if found is not None and found.managed:
            return NOTHING
        return Value(Kind.BATCH, device, origin=Origin.LOADED, trace=trace)
    if kind is Kind.TENSOR:
        return value.but(scalar=None, data=None, note="element")
    if kind is Kind.BATCH:
        return value
    if kind is Kind.MODULE:
        return child_of(frame, value)
    if kind is Kind.DICT:
        return Value(Kind.UNKNOWN)
    found = frame.object(value)
    if found is not None and kind.is_container:
        return found.elements()
    return NOTHING


def child_of(frame: Frame, value: Value) -> Value:
    """An element of a ModuleList or ParameterList: it is where the list is, whatever it is."""
    found = frame.object(value)
    if found is None:
        return NOTHING
    if isinstance(found.source, str) and "Parameter" in found.source:
        return Value(Kind.TENSOR, found.device, origin=Origin.FOLLOWS, grad=True)
    if found.items:
        return joined(list(found.items))
    ref = ("child", value.data)
    frame.state.heap[ref] = Object(device=found.device, trace=found.trace)
    return Value(Kind.MODULE, data=ref)


def bind(frame: Frame, target: ir.Expr, value: Value) -> None:
    """Bind a name or unpack into several. Attributes and items are the statements' business."""
    if isinstance(target, ir.Name):
        if value is NOTHING:
            value = path_value(target.id)
        if target.id in frame.globals:
            frame.world.globals[target.id] = value
        frame.state.bind(target.id, value)
    elif isinstance(target, ir.Display):
        for item, part in zip(target.items, unpack(frame, value, target.items), strict=True):
            bind(frame, item, part)
    elif isinstance(target, ir.Starred):
        bind(frame, target.value, NOTHING)
    else:
        frame.world.store(frame, target, value)


def unpack(frame: Frame, value: Value, targets: tuple[ir.Expr, ...]) -> list[Value]:
    """The values that as many targets get."""
    count = len(targets)
    found = frame.object(value)
    starred = any(isinstance(target, ir.Starred) for target in targets)
    if found is not None and found.items is not None and not starred:
        if len(found.items) == count:
            return list(found.items)
    if value.kind is Kind.BATCH:
        return [value.but(scalar=None, data=None, note="unpacked")] * count
    if value.kind is Kind.TENSOR:
        return [value.but(scalar=None, data=None, note="element")] * count
    if found is not None and value.kind.is_container and value.kind is not Kind.DICT:
        return [found.elements()] * count
    return [NOTHING] * count


def joined(values: list[Value]) -> Value:
    """The join of several values; NOTHING of none."""
    return join_all(values)


__all__ = [
    "UNKNOWN", "binary", "bind", "compare", "element_of", "formatted", "index_parts", "join_values",
    "joined", "subscript", "unpack",
]  # fmt: skip
