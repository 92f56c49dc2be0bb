"""A mistake as it is told, and the sentences that several kinds of mistakes share."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from devlint.runtime.explaining.definitions import parsed, place_of, shown_line
from devlint.runtime.explaining.lookup import Named
from devlint.runtime.explaining.objects import is_array, moves_itself
from devlint.runtime.explaining.origins import Creation, argument_on, verb, with_device
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.targets import can_be_set, device_text
from devlint.runtime.explaining.traced import traced
from devlint.runtime.operands import OperandFacts, Site, is_tensor


@dataclass(frozen=True, slots=True)
class Mistake:
    """What was done wrong, and how it is fixed."""

    headline: str
    lines: Sequence[tuple[str, str]] = ()
    fix: str = ""
    rule: str = ""
    """The name of the rule that speaks of it."""
    module: str = ""
    """The module at work, as in `encoder.layers.3 (Linear)`."""
    argument: str = ""
    """The tensor that is in the wrong place, as the program writes it."""
    devices: tuple[str, ...] = ()
    """Where it is, and then where the others are."""
    is_mismatch: bool = False
    """Whether tensors of two devices met in one operation or one call."""


def described(label: str, text: str, facts: OperandFacts) -> tuple[str, str]:
    """A line about a tensor: its name in the program, dtype, shape and device."""
    return label, f"{text}: {facts}" if text else str(facts)


def origin(
    scene: Scene, facts: OperandFacts | None, text: str, index: int
) -> list[tuple[str, str]]:
    """The lines that say where a tensor was made and moved, or its name got its value."""
    last = None if facts is None else facts.moved or facts.site
    is_noted = last is not None and not _is_in_use(scene, last, index)
    found = [] if is_noted else traced(scene, text, index, "" if facts is None else facts.device)
    if facts is not None and last is not None and not found:
        site, change = facts.site, facts.moved
        lines = []
        if site is not None and not _is_same_line(site, change):
            label = verb(site, facts.device) if change is None else "made at"
            lines.append((label, shown_line(site.file, site.line)))
        if change is not None:
            lines.append(("moved at", shown_line(change.file, change.line)))
        return lines
    return [step.shown() for step in found]


def _is_in_use(scene: Scene, site: Site, index: int) -> bool:
    """Whether a tensor was made by the line that names it: it is a copy of what is named."""
    spot = scene.stack[index]
    return (site.file, site.line) == (spot.file, spot.line)


def _is_same_line(site: Site, other: Site | None) -> bool:
    return other is not None and (site.file, site.line) == (other.file, other.line)


def since(facts: OperandFacts) -> str:
    """A device, and the line that has put the tensor there."""
    site = facts.moved or facts.site
    if site is None:
        return f"on {facts.device}"
    label = verb(site, facts.device) if facts.moved is None else "moved at"
    return f"on {facts.device}, {label} {place_of(site.file, site.line)}"


def moved(scene: Scene, text: str, target: str, index: int) -> str:
    """The statement, or the expression, that moves what a frame's line has.

    An expression where a line has no room for a statement, or where assigning the result would
    lose what is moved: a leaf that is trained, an object whose `to` changes itself.
    """
    value = scene.value(text, index)
    can_stay = can_be_set(scene, text, index) and not scene.source(index).is_in_expression
    if is_array(value):
        made = f"torch.as_tensor({text}, device={target})"
        return f"{text} = {made}" if can_stay else made
    whole = _container_moved(scene, text, value, target, index) if can_stay else ""
    if whole:
        return whole
    is_trained = is_tensor(value) and value.is_leaf and value.requires_grad
    if can_stay and not is_trained and not moves_itself(value):
        return f"{text} = {text}.to({target})"
    return moved_here(text, target)


def _container_moved(scene: Scene, text: str, value: object, target: str, index: int) -> str:
    """The repair of a dict or a list, all of whose items are where one of them is.

    Of a list that is an operand as a whole it is enough that several are there.
    """
    owner, _, key = text.rpartition("[")
    held: Any = scene.value(owner, index)
    is_fixed = re.fullmatch(r'("[^"]*"|\d+)\]', key) is not None  # or it goes through them
    if not is_tensor(value) or not is_fixed or type(held) not in (dict, list, deque):
        return ""
    device, is_dict = scene.device(value), type(held) is dict
    items = list(held.values() if is_dict else held)
    is_whole = not is_dict and scene.is_operand(owner, index)
    needed = min(2, len(items)) if is_whole else max(2, len(items))
    there = [each for each in items if scene.is_on(each, device)]
    if len(there) < needed or not all(is_tensor(each) for each in items):
        return ""
    if is_dict:
        return f"{owner} = {{name: each.to({target}) for name, each in {owner}.items()}}"
    each = f"[each.to({target}) for each in {owner}]"
    return each if type(held) is deque else f"{owner} = {each}"


def moved_here(text: str, target: str) -> str:
    """The expression that moves a value."""
    tree = parsed(f"({text})")
    node = tree.body[0] if tree is not None and tree.body else None
    value = node.value if isinstance(node, ast.Expr) else None
    is_primary = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"{text}.to({target})" if is_primary else f"({text}).to({target})"


def creation_repair(scene: Scene, made: Creation, device: str, other: Named | None) -> str:
    """How a tensor is made in the right place at once."""
    assert made.index is not None
    spot = scene.stack[made.index]
    argument = argument_on(scene, made.index, device)
    if argument:
        target = f"{argument}.device"
    else:
        inside = Named("", None, made.call)
        near = other if spot.line == made.line else None
        target = device_text(scene, made.index, device, "", inside, near, made.line)
    where = "" if spot.line == made.line else f" at {place_of(spot.file, made.line)}"
    return f"make it in the right place{where}: {with_device(made, target)}"


def discarded(scene: Scene, text: str, index: int, device: str) -> str:
    """The repair of a line that moves a value to a device and throws the result away."""
    if index < 0 or not text:
        return ""
    source = scene.source(index)
    call = source.discarded_move(text)
    if call is None or not isinstance(call.func, ast.Attribute):
        return ""
    to_host = call.func.attr == "cpu"
    if to_host != (device == "cpu") and call.func.attr != "to":
        return ""
    if call.func.attr in ("type", "type_as") or not scene.may_be_device(call, index):
        return ""
    where = place_of(source.spot.file, call.lineno)
    return f"assign the result at {where}: {text} = {source.text_of(call)}"
