"""Operators, comparisons and subscripts."""

from __future__ import annotations

from devlint.flow.conditions import implications, unions
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.lattice import Known
from devlint.flow.domain.mixtures import put_together
from devlint.flow.domain.paths import Path, given_tensor
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import gathered
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import (
    NOTHING,
    TENSORS,
    Kind,
    Value,
    as_loaded,
)
from devlint.flow.facts import Comparison
from devlint.flow.frames import protocols
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import arrivals, meet, siblings
from devlint.model import ir

# --- operators -----------------------------------------------------------------------------


def binary(frame: Frame, node: ir.Binary | ir.Augment, left: Value, right: Value) -> Value:
    """`left op right`."""
    first = node.left if isinstance(node, ir.Binary) else node.target
    second = node.right if isinstance(node, ir.Binary) else node.value
    given = [(first, left), (second, right)]
    if left.kind in _OBJECTS or right.kind in _OBJECTS:
        found = _of_objects(frame, first, node.op, left, right)
        if found is not None:
            return found
    for one, other in ((right, left), (left, right)):
        if node.op == "*" and one.kind in _SEQUENCES:
            return _combined(frame, node, one, other)  # a tensor of one number repeats it as well
    if left.kind in TENSORS or right.kind in TENSORS:
        arrivals.read(frame, node, *given)
        if _is_array(left) or _is_array(right):
            return Value(Kind.TENSOR)  # arrays meet tensors of the host only, or Python stops here
        for expression, one, other in ((first, left, right), (second, right, left)):
            if siblings.may_be_number(frame, expression, one):
                return other if other.kind in TENSORS else NOTHING
        free = node.op != "@"
        if not free:
            given = [(expression, _as_factor(expression, value)) for expression, value in given]
        inplace = isinstance(node, ir.Augment) and left.kind is Kind.TENSOR
        return meet.meet(frame, node, node.op, given, free_scalars=free, inplace=inplace)
    if left.kind is Kind.STRING and node.op == "+":
        return _concatenated(left, right)
    if left.kind is Kind.STRING and node.op == "%":
        return filled(left, right)
    if left.kind is Kind.NUMBER and right.kind is Kind.NUMBER:
        arrivals.subtract(frame, node, left, right)
        return Value(Kind.NUMBER)
    if left.kind.is_container and node.op in ("+", "|"):
        return _combined(frame, node, left, right)
    if Kind.NDARRAY in (left.kind, right.kind):
        arrivals.read(frame, node, *given)
        perhaps = Kind.UNKNOWN in (left.kind, right.kind) and isinstance(node, ir.Binary)
        trait = Trait.ANNOTATED if perhaps else None  # with a tensor of the host it makes a tensor
        shaped = any(each.kind is Kind.NDARRAY and each.scalar is False for each in (left, right))
        return Value(Kind.NDARRAY, scalar=False if shaped and node.op != "@" else None, trait=trait)
    for one, other in ((left, right), (right, left)):
        if one.trait is Trait.PERHAPS and other.kind is Kind.NUMBER:
            return one
    return NOTHING


def _as_factor(node: ir.Expr, value: Value) -> Value:
    """What stands beside a tensor at an `@`: nothing but another tensor."""
    if value.kind is Kind.UNKNOWN and value.trait is None and type(value.data) is Path:
        return given_tensor(value.data, Sort.TENSOR_BY_USE, node)
    return as_loaded(value)


_OBJECTS = (Kind.INSTANCE, Kind.MODULE)
_SEQUENCES = (Kind.LIST, Kind.TUPLE)

_METHODS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "@": "matmul", "**": "pow", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
"""Operators and the names of their methods in Python's data model, without underscores."""


def _of_objects(frame: Frame, node: ir.Expr, op: str, left: Value, right: Value) -> Value | None:
    """What an operator gives of an object whose class defines it; None where none does. A tensor
    is asked first where it stands on the left."""
    name = _METHODS.get(op, "")
    of_left, of_right = frame.class_of(left), frame.class_of(right)
    if of_left is not None and of_left.method(f"__{name}__"):
        return protocols.answer(frame, node, left, f"__{name}__", right)
    if left.kind not in TENSORS and of_right is not None and of_right.method(f"__r{name}__"):
        return protocols.answer(frame, node, right, f"__r{name}__", left)
    return None


def _is_array(value: Value) -> bool:
    """Whether it is an array, and not a number of numpy's, which any tensor takes."""
    return value.kind is Kind.NDARRAY and value.scalar is False


def _concatenated(left: Value, right: Value) -> Value:
    """`"cuda:" + str(index)` names an accelerator without saying which; `"cuda" + str(index)`
    names nothing."""
    digits = right.trait is Trait.DIGITS or right.kind is Kind.NUMBER
    if digits and left.data in ("cuda", "mps", "xpu", "cpu"):
        return Value(Kind.STRING, data=f"{left.data}0", trait=Trait.BUILT)
    if isinstance(left.data, str) and left.data in ("cuda", "cuda:", "mps:", "xpu:"):
        place = Known(left.data.rstrip(":"))
        return Value(Kind.STRING, place, trait=Trait.BUILT, trace=right.trace)
    return Value(Kind.STRING)


def filled(template: Value, given: Value) -> Value:
    """`"cuda:%d" % index` and `"cuda:{}".format(index)` name an accelerator, too."""
    text = template.data if isinstance(template.data, str) else ""
    head, found, rest = text.rpartition("{" if text.endswith("}") else "%")
    if found and _is_placeholder(f"{found}{rest}"):
        return _concatenated(Value(Kind.STRING, data=head), given)
    return Value(Kind.STRING)


def _is_placeholder(text: str) -> bool:
    """`%d`, `{}`, `{index}`"""
    named = text[:1] == "{" and text[-1:] == "}" and f"_{text[1:-1]}".isidentifier()
    return named or text in ("%d", "%i", "%s")


def formatted(frame: Frame, parts: list[Given]) -> Value:
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
    both = [each for o in (one, other) if o.items != () for each in o.held() or [NOTHING]]
    if node.op == "+" and one.items is not None and other.items is not None:
        found = Object(items=one.items + other.items)
    elif left.kind is right.kind is Kind.DICT and other.items is not None:
        found = one.with_entries(other.entries, other.unsure)
    else:
        together = put_together(both) or gathered(frame.state, both)
        found = Object(element=together if right.kind is left.kind else NOTHING)
    if (
        isinstance(node, ir.Augment)
        and left.kind is not Kind.TUPLE
        and left.data in frame.state.heap
    ):
        frame.update(left, found)
        return left
    return Value(left.kind, data=frame.allocate(node, found))


# --- comparisons ---------------------------------------------------------------------------


def compare(frame: Frame, node: ir.Compare, left: Value, right: Value) -> Value:
    """`left op right`."""
    if node.op not in ("in", "not in", "is", "is not") and (
        left.kind in TENSORS or right.kind in TENSORS
    ):
        given = [(node.left, left), (node.right, right)]
        arrivals.read(frame, node, *given)
        if frame.testing:
            given = [(each, _one_number(each, value)) for each, value in given]
        found = meet.meet(frame, node, node.op, given)
        if found is not NOTHING:
            return found.but(grad=False)
    if frame.tells and _is_about_devices(frame, node, left, right):
        one, other = frame.operand(node.left, left), frame.operand(node.right, right)
        of_type = left.trait is Trait.TYPE_OF_DEVICE
        frame.record(Comparison(node, frame.context(), node.op, one, other, of_type))
    plain = left if left.kind is not Kind.NUMBER or right.kind is not Kind.UNKNOWN else right
    return implications.truth(frame, node, plain)


def _one_number(node: ir.Expr, value: Value) -> Value:
    """What a test compares has one element: what an index takes out of a tensor there is most
    likely one of its numbers."""
    single = isinstance(node, ir.Subscript) and not isinstance(node.index, (ir.Slice, ir.Display))
    return value.but(scalar=True) if single and value.scalar is None else value


def _is_about_devices(frame: Frame, node: ir.Compare, left: Value, right: Value) -> bool:
    if Trait.EITHER_CHOICE in (left.trait, right.trait):
        return False
    if Kind.DEVICE in (left.kind, right.kind):
        return True
    for side, value in ((node.left, left), (node.right, right)):
        if value.trait in (Trait.TYPE_OF_DEVICE, Trait.TEXT_OF_DEVICE):
            return True
        if value.trait is Trait.DEVICE_OR_STRING and isinstance(side, ir.Name):
            return not unions.is_compared_both_ways(frame, side.id)
    return False


# --- subscripts ----------------------------------------------------------------------------
