"""Tests of a place whose answer is known, since the place is. Where a run decides it, or what came
in may be anywhere, a test parts two paths (`same_place`)."""

from __future__ import annotations

from devlint.flow.conditions.same_place import of_index, unless_taken
from devlint.flow.domain.lattice import Known
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def answered(frame: Frame, node: ir.Expr) -> bool | None:
    """Whether a test of a place holds; None for other tests, and of places that aren't known."""
    return unless_taken(frame, node, _answer(frame, node))


def _answer(frame: Frame, node: ir.Expr) -> bool | None:
    match node:
        case ir.Attribute(value=tested, attr="is_cuda" | "is_cpu" as attr):
            place = _place(frame, frame.ask(tested), *TENSORS)
            return None if place is None else place.type == attr.removeprefix("is_")
        case ir.Compare(op=op, left=ir.Call(func=ir.Attribute(value=tested, attr="get_device"))):
            place = _place(frame, frame.ask(tested), *TENSORS)
            on_host = None if place is None else of_index(op, node.right)
            return None if on_host is None or place is None else (place.type == "cpu") is on_host
        case ir.Compare(op="in" | "not in" as op, left=ir.Constant(value=str(part)), right=right):
            place = _place(frame, frame.ask(right), Kind.STRING)
            if place is None or not part.isalpha():
                return None
            return (part in place.type) is (op == "in")
        case ir.Compare(op="==" | "!=" | "in" | "not in" as op, left=left, right=right):
            found = _is_one_of(frame, frame.ask(left), right)
            return None if found is None else found is (op in ("==", "in"))
    return None


def _place(frame: Frame, value: Value, *kinds: Kind) -> Known | None:
    """Where a tensor is, of which a value of one of these kinds tells."""
    place = frame.state.simplify(value.device)
    return place if value.kind in kinds and isinstance(place, Known) else None


def _is_one_of(frame: Frame, tested: Value, right: ir.Expr) -> bool | None:
    """Whether a device, its type or its text is one of those that stand on the right."""
    place = _place(frame, tested, Kind.DEVICE, Kind.STRING)
    if place is None:
        return None
    items = right.items if isinstance(right, ir.Display) else (right,)
    if tested.kind is Kind.DEVICE:
        others = [each for each in map(frame.ask, items) if each.kind is Kind.DEVICE]
        devices = [each.device for each in others if isinstance(each.device, Known)]
        if len(devices) < len(items):
            return None
        answers = [_is_same(place, each) for each in devices]
        return True if True in answers else None if None in answers else False
    texts = [item.value for item in items if isinstance(item, ir.Constant)]
    if len(texts) < len(items):
        return None
    if tested.trait is Trait.TYPE_OF_DEVICE or place.type == "cpu":
        return place.type in texts
    return None if any(str(text).startswith(place.type) for text in texts) else False


def _is_same(one: Known, other: Known) -> bool | None:
    """Whether two devices are equal: `cuda` may be any of its devices."""
    if one.type != other.type:
        return False
    return True if one.type == "cpu" else None
