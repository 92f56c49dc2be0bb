"""What stands under an index: of tensors, batches, containers and modules."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, off_host
from devlint.flow.domain.paths import Path, identity, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import gathered
from devlint.flow.domain.traits import ELEMENTS, Fixed, Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Origin, Value, as_loaded, as_tensor
from devlint.flow.frames import protocols
from devlint.flow.frames.arguments import Given, each_given
from devlint.flow.frames.contents import each_items, with_items
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import arrivals, graphs, meet
from devlint.flow.operations.unpacking import child_of
from devlint.flow.operations.yielded import part_of_encoding
from devlint.model import ir


def subscript(frame: Frame, node: ir.Subscript, base: Value, index: Value) -> Value:
    """`base[index]`, read."""
    base = with_items(frame, base)
    if base.trait is Trait.PERHAPS and index.kind in TENSORS:
        base = as_tensor(base)
    elif _keeps_dimensions(index) or _is_of_dimensions(node.index):
        base = as_loaded(base)
    if arrivals.watches(frame):
        arrivals.by_index(frame, base, index_parts(frame, node.index, index))
    kind = base.kind
    if kind in (Kind.TENSOR, Kind.PLACED):
        if base.scalar and index.kind is Kind.NUMBER:
            return NOTHING  # an error: it has no element
        parts = index_parts(frame, node.index, index)
        meet.index(frame, node, (node.value, base), parts)
        sliced = any(part.trait is Trait.SLICE or part.kind is Kind.NONE for _, part in parts)
        picked = [part for _, part in parts if _keeps_dimensions(part)]
        keeps = sliced or bool(picked)
        shaped = any(part.scalar is False for part in picked)
        if base.scalar is False:  # what isn't known to be one tensor may be a number
            shaped = shaped or any(part.kind is not Kind.TENSOR for part in picked)
        rows = base.trait is Trait.ROWS and not isinstance(node.index, ir.Display)
        scalar = False if sliced or rows or shaped else None
        element = Trait.FIRST if _was_number(node, base) else Trait.ELEMENT
        trait = base.trait if base.trait is Trait.GUARDED else (None if keeps else element)
        if rows and index.trait is Trait.SLICE:
            trait = Trait.ROWS
        return base.view(scalar=scalar, trait=trait)
    if kind is Kind.BATCH:
        element = Trait.FIRST if _is_of_element(node) and _was_number(node, base) else Trait.ELEMENT
        part: Trait | Fixed | None = None if index.trait is Trait.SLICE else element
        if isinstance(index.data, str):
            part = Trait.UNPACKED
        if base.trait is not Trait.UNPACKED:
            part = base.trait or part
        if base.trait is Trait.PART and isinstance(index.data, int) and index.data:
            part = Trait.BESIDE
        return base.but(scalar=None, trait=part)
    if kind is Kind.ENCODING:
        return part_of_encoding(frame, (node.value, base), index.data)
    found = frame.object(base)
    if found is not None and kind is Kind.MODULE:
        if found.items is not None and isinstance(index.data, int):
            return _item(frame, base, Kind.LIST, index)
        return base if index.trait is Trait.SLICE else child_of(frame, base)
    if kind is Kind.INSTANCE and found is not None and found.items is not None:
        kind = Kind.TUPLE
    if kind is Kind.INSTANCE:
        return protocols.answer(frame, node, base, "__getitem__", index)
    if kind is Kind.DATASET:
        return graphs.item(frame, node, found)
    if found is not None and kind.is_container:
        if index.trait is Trait.SLICE and kind is not Kind.DICT:
            return Value(kind, data=frame.allocate(node, _sliced(found, index)))
        stored = frame.state.paths.get(identity(node)) if frame.state.paths else None
        return stored or _item(frame, base, kind, index)
    if kind is Kind.UNKNOWN and isinstance(base.data, Path) and _keeps_dimensions(index):
        return _beside(frame, node, index)
    if kind is Kind.UNKNOWN and isinstance(base.data, Path) and isinstance(index.data, (str, int)):
        shown = f'"{index.data}"' if isinstance(index.data, str) else index.data
        text = f"{base.data.text}[{shown}]"
        inner = path_value(text, base.data.given)
        if base.trait is Trait.LOADED:
            inner = base.but(data=inner.data)
        return frame.state.paths.get(text) or inner
    if base.trait is Trait.LOADED:
        return base.but(data=None)
    if kind is Kind.NDARRAY:
        inside = [part for _, part in index_parts(frame, node.index, index)]
        keeps = any(part.trait is Trait.SLICE or part.scalar is False for part in inside)
        return base.but(scalar=False if keeps and base.scalar is False else None)
    if base.trait is Trait.SHAPE:
        return base if index.trait is Trait.SLICE else Value(Kind.NUMBER, trait=Trait.PYTHON_NUMBER)
    return NOTHING


def _beside(frame: Frame, node: ir.Subscript, index: Value) -> Value:
    """What indices pick that were moved to an accelerator: only tensors there take any."""
    place = off_host(frame.place(index)) if index.origin is Origin.MOVED else UNKNOWN
    if place == UNKNOWN or index.scalar is not False:
        return NOTHING
    told = Step(Sort.TENSOR_BY_USE, node, index.trace, place)
    return Value(Kind.TENSOR, place, origin=Origin.MOVED, trace=told)


def _keeps_dimensions(index: Value) -> bool:
    """Whether it is a tensor, and none that may be a number."""
    return index.kind in TENSORS and index.trait not in ELEMENTS and index.scalar is not True


def _is_of_dimensions(node: ir.Expr) -> bool:
    """Whether an index is one that tensors and arrays take alone: `x[None]`, `x[..., 0]`,
    `x[:, 0]`."""
    parts = node.items if isinstance(node, ir.Display) and node.kind == "tuple" else (node,)
    whole = any(isinstance(each, ir.Slice) for each in parts) and len(parts) > 1
    return whole or any(
        isinstance(each, ir.Constant) and each.value in (None, ...) for each in parts
    )


def _was_number(node: ir.Subscript, base: Value) -> bool:
    """Whether it is `x.data[0]`, by which a loss was once asked for its number."""
    match node:
        case ir.Subscript(value=ir.Attribute(attr="data"), index=ir.Constant(value=0)):
            return base.scalar is None
    return False


def _is_of_element(node: ir.Subscript) -> bool:
    """Whether it is `x[0].data[0]`: of what a module gives, that is more likely a number."""
    match node.value:
        case ir.Attribute(value=ir.Subscript(index=index)):
            return not isinstance(index, (ir.Slice, ir.Display))
    return False


def _item(frame: Frame, base: Value, kind: Kind, index: Value) -> Value:
    found = frame.object(base)
    if found is None:
        return NOTHING
    if kind is Kind.DICT:
        if isinstance(index.data, str):
            return found.entries.get(index.data, found.element)
        inside, spelled = found.elements(), index.kind is Kind.TUPLE or index.trait is Trait.SLICE
        return NOTHING if spelled and inside.kind in TENSORS else inside  # these have no such keys
    at = index.data
    if isinstance(at, int):
        several = each_items(frame, base)
        if there := [items[at] for items in several if -len(items) <= at < len(items)]:
            return gathered(frame.state, there)
    return gathered(frame.state, found.held())


def _sliced(found: Object, index: Value) -> Object:
    """Some of what a list holds: those that known bounds name, or any."""
    if found.items is None or not isinstance(index.data, tuple):
        return Object(element=found.elements())
    return Object(items=found.items[slice(*index.data)])


def index_parts(frame: Frame, node: ir.Expr, index: Value) -> list[Given]:
    """The indices of `x[a, b]`, one by one, and of `x[indices]` where they are known."""
    found = frame.object(index) if index.kind is Kind.TUPLE else None
    if found is None or not found.items:
        return [(node, index)]
    return each_given(node, found.items)
