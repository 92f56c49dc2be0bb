"""Operators, subscripts, comparisons, unpacking and iteration."""

from __future__ import annotations

from devlint import ir
from devlint.flow import arrivals, meet, narrow, protocols, unions
from devlint.flow.facts import Comparison
from devlint.flow.frame import Frame, path_value, place_of_path
from devlint.flow.lattice import UNKNOWN, Known
from devlint.flow.overheard import local_name
from devlint.flow.state import Object, Path, join_all, join_values
from devlint.flow.values import EITHER_CHOICE, ELEMENT, NOTHING, TENSORS, Kind, Origin, Trace, Value

# --- operators -----------------------------------------------------------------------------


def binary(frame: Frame, node: ir.Binary | ir.Augment, left: Value, right: Value) -> Value:
    """`left op right`."""
    first = node.left if isinstance(node, ir.Binary) else node.target
    second = node.right if isinstance(node, ir.Binary) else node.value
    if left.kind in TENSORS or right.kind in TENSORS:
        arrivals.read(frame, node, (first, left), (second, right))
        inplace = isinstance(node, ir.Augment) and left.kind is Kind.TENSOR
        return meet.meet(
            frame, node, node.op, [(first, left), (second, right)],
            free_scalars=node.op != "@", inplace=inplace,
        )  # fmt: skip
    if left.kind is Kind.STRING and node.op in "+%":
        return _concatenated(left, right)
    if left.kind is Kind.NUMBER and right.kind is Kind.NUMBER:
        arrivals.subtract(frame, node, left, right)
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
    for part, value in parts:
        arrivals.read(frame, part, (part, value))
        if value.kind in TENSORS:
            arrivals.wait_for(frame, value)
    if len(parts) > 1 and parts[0][1].kind is Kind.STRING:
        return _concatenated(parts[0][1], parts[1][1] if len(parts) == 2 else NOTHING)
    return Value(Kind.STRING)


def _combined(frame: Frame, node: ir.Binary | ir.Augment, left: Value, right: Value) -> Value:
    one, other = frame.object(left), frame.object(right)
    if one is None:
        return NOTHING
    if node.op == "*":
        repeated = Object(element=one.elements())
        return Value(left.kind, data=frame.allocate(node, repeated))
    if other is None or right.kind is not left.kind:
        other = Object(element=NOTHING)
    both = [o.elements() for o in (one, other) if o.items != ()]
    if node.op == "+" and one.items is not None and other.items is not None:
        found = Object(items=one.items + other.items)
    else:
        found = Object(element=NOTHING if right.kind is not left.kind else join_all(both))
    return Value(left.kind, data=frame.allocate(node, found))


# --- comparisons ---------------------------------------------------------------------------


def compare(frame: Frame, node: ir.Compare, left: Value, right: Value) -> Value:
    """`left op right`."""
    if node.op not in ("in", "not in", "is", "is not") and (
        left.kind in TENSORS or right.kind in TENSORS
    ):
        arrivals.read(frame, node, (node.left, left), (node.right, right))
        found = meet.meet(frame, node, node.op, [(node.left, left), (node.right, right)])
        if found is not NOTHING:
            return found.but(grad=False)
    if frame.tells and _is_about_devices(frame, node, left, right):
        one, other = frame.operand(node.left, left), frame.operand(node.right, right)
        of_type = left.note == "device.type"
        frame.record(Comparison(node, frame.context(), node.op, one, other, of_type))
    plain = left if left.kind is not Kind.NUMBER or right.kind is not Kind.UNKNOWN else right
    return narrow.truth(frame, node, plain)


def _is_about_devices(frame: Frame, node: ir.Compare, left: Value, right: Value) -> bool:
    if EITHER_CHOICE in (left.note, right.note):
        return False
    if Kind.DEVICE in (left.kind, right.kind):
        return True
    for side, value in ((node.left, left), (node.right, right)):
        if value.note in ("device.type", "device.text"):
            return True
        if value.note == unions.DEVICE_OR_STRING and isinstance(side, ir.Name):
            return not unions.is_compared_both_ways(frame.function, side.id)
    return False


# --- subscripts ----------------------------------------------------------------------------


def subscript(frame: Frame, node: ir.Subscript, base: Value, index: Value) -> Value:
    """`base[index]`, read."""
    kind = base.kind
    if kind in (Kind.TENSOR, Kind.PLACED):
        parts = index_parts(frame, node.index, index)
        meet.index(frame, node, (node.value, base), parts)
        sliced = any(part.note == "slice" or part.kind is Kind.NONE for _, part in parts)
        keeps = sliced or _keeps_dimensions(index)
        shaped = index.scalar is False or index.kind is not Kind.TENSOR  # else it may be a number
        scalar = False if sliced or (keeps and shaped and base.scalar is False) else None
        note = base.note if base.note == "guarded" else ("" if keeps else ELEMENT)
        return base.view(scalar=scalar, note=note)
    if kind is Kind.BATCH:
        whole = isinstance(index.data, str) or index.note == "slice"
        return base.but(scalar=None, note=base.note or ("" if whole else ELEMENT))
    if kind is Kind.ENCODING:
        return frame.operand(node.value, base).value.but(
            kind=Kind.TENSOR, device=frame.place(base), data=None, scalar=False
        )
    found = frame.object(base)
    if found is not None and kind is Kind.MODULE:
        if found.items is not None and isinstance(index.data, int):
            return _item(found, Kind.LIST, index)
        return base if index.note == "slice" else child_of(frame, base)
    if kind is Kind.INSTANCE:
        return protocols.answer(frame, node, base, "__getitem__", index)
    if found is not None and kind.is_container:
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
    """Whether it is a tensor, and none that may be a number."""
    return index.kind in TENSORS and index.note != ELEMENT and index.scalar is not True


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
    several = isinstance(node, ir.Display) and node.kind == "tuple"
    if several and found is not None and found.items is not None:
        assert isinstance(node, ir.Display)
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
        if node is not None and device != UNKNOWN:
            trace = Trace(node, "comes from a DataLoader here: on the CPU", trace)
        if found is not None and found.managed:
            return Value(Kind.UNKNOWN, note="managed")
        return Value(Kind.BATCH, device, origin=Origin.LOADED, trace=trace)
    if kind is Kind.TENSOR:
        return value.but(scalar=None, data=None, note=ELEMENT)
    if kind is Kind.BATCH:
        return value.but(scalar=None, note=value.note or ELEMENT)
    if kind is Kind.PLACED:
        return value.but(scalar=None, data=None, note=ELEMENT)
    if kind is Kind.MODULE:
        return child_of(frame, value)
    if kind is Kind.INSTANCE:
        return _of_iterator(frame, value, node)
    if kind is Kind.DICT:
        return Value(Kind.UNKNOWN)
    if kind is Kind.UNKNOWN:
        return _part(value, "i")
    found = frame.object(value)
    if found is not None and kind.is_container:
        return found.elements()
    return value if value.note == "managed" else NOTHING


def _of_iterator(frame: Frame, value: Value, node: ir.Node | None) -> Value:
    """What `__iter__` of an object gives, or `__next__` where that is the object itself."""
    if not isinstance(node, ir.Expr):
        return NOTHING
    iterator = protocols.answer(frame, node, value, "__iter__")
    if iterator.kind is Kind.INSTANCE:
        return protocols.answer(frame, node, iterator, "__next__")
    return element_of(frame, iterator, node)


def _part(value: Value, index: object) -> Value:
    """An element of something that came in through a parameter: it came in, too."""
    if isinstance(value.data, Path) and value.data.given and not value.note:
        return path_value(f"{value.data.text}[{index}]", given=True)
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
    ref = (_CHILD, value.data)
    frame.state.heap[ref] = Object(device=found.device, trace=found.trace)
    return Value(Kind.MODULE, data=ref)


def outermost(ref: object) -> object:
    """The module that holds what was taken out of a list of modules, or out of what was."""
    while isinstance(ref, tuple) and len(ref) == 2 and ref[0] is _CHILD:
        ref = ref[1]
    return ref


_CHILD = "child"


def bind(frame: Frame, target: ir.Expr, value: Value) -> None:
    """Bind a name or unpack into several. Attributes and items are the statements' business."""
    if isinstance(target, ir.Name):
        if value.kind is Kind.UNKNOWN:
            value = _as_used(frame, target.id, value)
        if value is NOTHING:
            value = path_value(local_name(frame, target.id))
        if target.id in frame.globals and frame.file.guest is None:
            frame.file.names[target.id] = value
        frame.state.bind(target.id, value)
    elif isinstance(target, ir.Display):
        for item, part in zip(target.items, unpack(frame, value, target.items), strict=True):
            bind(frame, item, part)
    elif isinstance(target, ir.Starred):
        bind(frame, target.value, NOTHING)
    else:
        frame.world.store(frame, target, value)


def _as_used(frame: Frame, name: str, value: Value) -> Value:
    """A value that isn't known is a tensor where the function that binds it, once, uses it as only
    tensors are used."""
    if not isinstance(frame.function, ir.Function) or value.note:
        return value
    scan = frame.file.scan(frame.function)
    if name not in scan.used or name in scan.data or scan.assigned[name] != 1:
        return value
    if value is NOTHING:
        return Value(Kind.TENSOR) if name in scan.passed else value
    if isinstance(value.data, Path) and value.data.given:
        return Value(Kind.TENSOR, place_of_path(value.data), origin=Origin.INPUT)
    return value


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
        return [value.but(scalar=None, data=None, note=ELEMENT)] * count
    if found is not None and value.kind.is_container and value.kind is not Kind.DICT:
        return [found.elements()] * count
    if value.note == "managed":
        return [value] * count
    if value.kind is Kind.UNKNOWN and not starred:
        return [_part(value, index) for index in range(count)]
    return [NOTHING] * count


def joined(values: list[Value]) -> Value:
    """The join of several values; NOTHING of none."""
    return join_all(values)


__all__ = [
    "UNKNOWN", "binary", "bind", "compare", "element_of", "formatted", "index_parts", "join_values",
    "joined", "subscript", "unpack",
]  # fmt: skip
