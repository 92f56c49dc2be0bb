"""Why a tensor is in the wrong place: the rule that speaks of it, and the repair."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torch import Tensor, nn

from devlint.runtime.explaining.addresses import address, whole_on
from devlint.runtime.explaining.expressions import holder_of, is_number
from devlint.runtime.explaining.keeping import (
    distribution_repair,
    kept_and_written,
    kept_repair,
    moved_field,
    was_moved_without,
)
from devlint.runtime.explaining.lookup import MISSING, SAME_PLACE, Named, read
from devlint.runtime.explaining.mistakes import creation_repair, discarded, moved
from devlint.runtime.explaining.naming import is_made_at
from devlint.runtime.explaining.origins import creation, is_for_argument, is_for_module, was_moved
from devlint.runtime.explaining.ownership import Ownership
from devlint.runtime.explaining.scene import Scene, is_same, shares_memory
from devlint.runtime.explaining.sides import Sides
from devlint.runtime.explaining.source import Source
from devlint.runtime.explaining.stack import Spot, as_module
from devlint.runtime.explaining.targets import can_be_set, device_text
from devlint.runtime.explaining.unmoved import why_behind
from devlint.runtime.operands import OperandFacts, is_tensor


def cause(
    scene: Scene,
    facts: OperandFacts,
    named: Named,
    index: int,
    other: OperandFacts,
    partner: Named | None,
    callee: str,
    fallback: str,
    holder: str = "",
) -> tuple[str, str]:
    """The rule that speaks of a misplaced tensor, and the repair."""
    kept = _kept(scene, facts, named, index, other)
    if kept is not None:
        return kept
    is_part = isinstance(named.node, ast.Attribute)
    owner = scene.owners.of_part(is_same(facts)) if is_part else None
    if owner is not None:  # a parameter is where its module is
        return why_behind(scene, Sides(facts, other, owner, None), owner[0], None)[:2]
    if index >= 0:
        named = _whole(named, scene.source(index))
    if not holder and index >= 0:
        holder = holder_of(named.node, scene.source(index))
    moved_without = holder if was_moved_without(scene, holder, other.device, index) else ""
    holder = "" if moved_without else holder
    names = [(named.text, index), (holder, index), *_outer_names(scene, facts, index)]
    moves = (discarded(scene, text, place, other.device) for text, place in names)
    thrown_away = next(filter(None, moves), "")
    if thrown_away:
        return "discarded-move", thrown_away
    made = creation(scene, facts, named, index) if index >= 0 else None
    is_input = fallback == "input-on-other-device"
    if made is not None and (
        is_for_module(scene, made, facts.site, index)
        or (not is_input and is_for_argument(scene, made, other.device))
    ):
        if made.index is not None:
            return "tensor-on-default-device", creation_repair(scene, made, other.device, partner)
        fallback = "tensor-on-default-device"
    elif made is not None and made.index == index and made.line > scene.stack[index].line:
        return fallback, creation_repair(scene, made, other.device, partner)  # in the round before
    elif made is not None and not is_input and (made.in_place or not facts.dtype):
        return fallback, creation_repair(scene, made, other.device, partner)
    if not named.text:
        inside = _made_inside(scene, facts, other, partner)
        return ("tensor-on-default-device", inside) if inside else (fallback, "")
    found = kept_and_written(scene, named.text, index)
    if found is not None:
        return fallback, kept_repair(scene, found, made, other.device, partner, index)
    anew = distribution_repair(scene, named.text, other.device, index)
    if anew:
        return fallback, anew
    target = device_text(scene, index, other.device, callee, partner)
    before = "move it before the call" if callee else "move it first"
    is_statement = index >= 0 and not scene.source(index).is_in_expression
    whole_tuple = _tuple_of(scene, named, index)
    if whole_tuple:
        each = f"tuple(each.to({target}) for each in {whole_tuple})"
        is_named = is_statement and whole_tuple.isidentifier()
        is_named = is_named and can_be_set(scene, whole_tuple, index)
        return fallback, f"{before}: {f'{whole_tuple} = ' if is_named else ''}{each}"
    if moved_without:
        before = f"{moved_without} was moved without it, move it as well"
    if is_statement and not holder:
        return fallback, f"{before}: {moved_field(scene, named.text, target, index)}"
    return fallback, f"{before}: {moved(scene, holder or named.text, target, index)}"


def _outer_names(scene: Scene, facts: OperandFacts, index: int) -> Iterator[tuple[str, int]]:
    """What the user's functions around a frame call a tensor, the innermost first."""
    same = is_same(facts)
    for outer in filter(scene.is_users, range(index - 1, -1, -1)):
        for name, value in scene.stack[outer].names.items():
            if is_tensor(value) and same(value):
                yield name, outer


def _read_from(
    scene: Scene, facts: OperandFacts, named: Named, index: int
) -> tuple[nn.Module, str, Tensor] | None:
    """The module that an expression reads a tensor from that isn't registered there."""
    for node in () if index < 0 or named.node is None else ast.walk(named.node):
        if isinstance(node, ast.Attribute):
            module = as_module(read(node.value, scene.stack[index]))
            if module is not None:
                return Ownership([module], scene.reader).plain_attribute(is_same(facts))
    return None


def _kept(
    scene: Scene, facts: OperandFacts, named: Named, index: int, other: OperandFacts
) -> tuple[str, str] | None:
    """Of a tensor that a module keeps as a plain attribute: the rule and the repair."""
    owners = scene.owners
    kept = owners.plain_attribute(is_same(facts)) or owners.plain_attribute(shares_memory(facts))
    kept = kept or _read_from(scene, facts, named, index)
    if kept is None or owners.device_of(kept[0]) not in (None, other.device):
        return None
    if scene.was_given(kept[0], shares_memory(facts)):
        return None
    name = kept[1].partition("[")[0]
    if name != kept[1] and was_moved(facts):
        return None  # it was put there by itself, and not left behind with the rest
    kind = type(kept[0]).__name__
    if not scene.is_users_class(type(kept[0])):
        text, index = address(scene, kept[0])
        text = f"{text}.{kept[1]}" if text else kept[1]
        target = device_text(scene, index, other.device, whole_on(scene, other.device))
        change = moved(scene, text, target, index)
        return "unregistered-tensor", f"{kind} leaves it behind when it is moved: {change}"
    if name == kept[1]:
        return "unregistered-tensor", (
            f'let it move with the module, as a buffer of {kind}: self.register_buffer("{name}", '
            "..., persistent=False)"
        )
    if issubclass(type(kept[2]), nn.Parameter):
        container = "Dict" if kept[1].startswith(f'{name}["') else "List"
        return "unregistered-modules", (
            f"let them move with the module, {kind}: self.{name} = nn.Parameter{container}(...)"
        )
    return "unregistered-tensor", (
        f"let the tensors of self.{name} move with the module, as buffers of {kind}"
    )


def _made_inside(
    scene: Scene, facts: OperandFacts, other: OperandFacts, partner: Named | None
) -> str:
    """The repair of what a library that the failing line has called makes without a device."""
    index = scene.use
    if scene.inside is None or not is_made_at(scene, facts, index):
        return ""
    statement = scene.source(index).statement
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
        return ""
    target = device_text(scene, index, other.device, "", partner)
    line = scene.source(index).text_of(statement)
    return f"the library makes it on the default device: with torch.device({target}): {line}"


# --- what a repair can be written for


def _whole(named: Named, source: Source) -> Named:
    """The tensor that a view of it, or what was computed from it alone, was taken from."""
    node = named.node
    while (inner := _taken_from(node, source.spot)) is not None:
        node = inner
    if node is named.node or node is None:
        return named
    value = read(node, source.spot)
    return Named(source.text_of(node), value if is_tensor(value) else None, node)


def _taken_from(node: ast.AST | None, spot: Spot) -> ast.expr | None:
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _VIEWS):
        return node.value if is_tensor(read(node.value, spot)) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name, owner = node.func.attr, read(node.func.value, spot)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_alone = not any(_works_with(part, spot) for part in given)
        if is_tensor(owner) and is_alone and (name in SAME_PLACE or _works_in_place(name)):
            return node.func.value
    return None


def _works_with(node: ast.expr, spot: Spot) -> bool:
    """Whether an argument may be another tensor."""
    value = read(node, spot)
    return is_tensor(value) or (value is MISSING and not is_number(node, spot))


_VIEWS = ("T", "mT", "H", "mH", "real", "imag")


def _works_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")


def _tuple_of(scene: Scene, named: Named, index: int) -> str:
    """The tuple that a tensor is an item of: nothing can be assigned to its items."""
    match = re.fullmatch(r"(.+)\[\d+\]", named.text)
    if match is None or index < 0:
        return ""
    value = scene.value(match[1], index)
    is_result = value is MISSING and named.node is None and match[1].endswith(")")
    return match[1] if is_result or type(value) is tuple else ""
