"""A mistake as it is told, and the sentences that several kinds of mistakes share."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from devlint.runtime.explaining.bindings import assigned
from devlint.runtime.explaining.lookup import MISSING, Named, read
from devlint.runtime.explaining.origins import (
    Creation,
    argument_on,
    place_of,
    shown_line,
    verb,
    with_device,
)
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.stack import as_module, own_name
from devlint.runtime.operands import OperandFacts, Site, is_tensor


@dataclass(frozen=True, slots=True)
class Mistake:
    """What was done wrong, and how it is mended."""

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
    if facts is not None and (facts.site is not None or facts.moved is not None):
        site, change = facts.site, facts.moved
        lines = []
        if site is not None and not _is_same_line(site, change):
            label = verb(site, facts.device) if change is None else "made at"
            lines.append((label, shown_line(site.file, site.line)))
        if change is not None:
            lines.append(("moved at", shown_line(change.file, change.line)))
        return lines
    found = assigned(scene, text, index)
    return [] if found is None else [found.shown()]


def _is_same_line(site: Site, other: Site | None) -> bool:
    return other is not None and (site.file, site.line) == (other.file, other.line)


def since(facts: OperandFacts) -> str:
    """A device, and the line that has put the tensor there."""
    site = facts.moved or facts.site
    if site is None:
        return f"on {facts.device}"
    label = verb(site, facts.device) if facts.moved is None else "moved at"
    return f"on {facts.device}, {label} {place_of(site.file, site.line)}"


def can_be_assigned(text: str) -> bool:
    """Whether `text = ...` is a statement."""
    return re.fullmatch(r"[A-Za-z_]\w*(\.\w+|\[[^\[\]()]*\])*", text) is not None


def moved(text: str, target: str, is_statement: bool) -> str:
    """The statement, or the expression, that moves a value."""
    if is_statement and can_be_assigned(text):
        return f"{text} = {text}.to({target})"
    is_primary = re.fullmatch(r"[\w.]+(\(.*\)|\[.*\])?", text) is not None
    return f"{text}.to({target})" if is_primary else f"({text}).to({target})"


def device_text(
    scene: Scene, index: int, device: str, callee: str = "", other: Named | None = None
) -> str:
    """What stands for a device in a line of the program."""
    if index >= 0:
        name = own_name(scene.stack[index])
        module = as_module(scene.stack[index].names.get(name)) if name else None
        if module is not None and scene.owners.device_of(module) == device:
            return f"next({name}.parameters()).device"
    if callee and can_be_assigned(callee):
        return f"next({callee}.parameters()).device"
    there = "" if other is None else tensor_named_in(scene, other, device, index)
    return f"{there}.device" if there else f'"{device}"'


def tensor_named_in(scene: Scene, named: Named, device: str, index: int) -> str:
    """A tensor on a device that an expression names: itself, or one that it is computed from."""
    if named.node is not None and index >= 0:
        source = scene.source(index)
        for part in ast.walk(named.node):
            if isinstance(part, (ast.Name, ast.Attribute)):
                text = source.text_of(part)
                if can_be_assigned(text) and scene.is_on(read(part, source.spot), device):
                    return text
        value = read(named.node, source.spot)
        if value is not MISSING and not is_tensor(value):
            if source.text_of(named.node) == named.text:
                return ""  # what holds tensors has no device
    return named.text if can_be_assigned(named.text) else ""


def creation_repair(scene: Scene, made: Creation, device: str, other: Named | None) -> str:
    """How a tensor is made in the right place at once."""
    if made.index is None:
        where = place_of(made.file, made.line)
        return f"make it in the right place: give {ast.unparse(made.call.func)} device= at {where}"
    spot = scene.stack[made.index]
    argument = argument_on(scene, made.index, device)
    target = f"{argument}.device" if argument else device_text(scene, made.index, device)
    if target.startswith('"'):
        there = tensor_named_in(scene, Named("", None, made.call), device, made.index)
        target = f"{there}.device" if there else target
    if target.startswith('"') and other is not None and can_be_assigned(other.text):
        if spot.line == made.line:
            target = f"{other.text}.device"
    where = "" if spot.line == made.line else f" at {place_of(spot.file, made.line)}"
    return f"make it in the right place{where}: {with_device(made, target)}"


def discarded(scene: Scene, text: str, index: int, device: str) -> tuple[int, str] | None:
    """The line that moves a value to a device and throws the result away."""
    if index < 0 or not text:
        return None
    source = scene.source(index)
    call = source.discarded_move(text)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    to_host = call.func.attr == "cpu"
    if to_host != (device == "cpu") and call.func.attr != "to":
        return None
    if call.func.attr in ("type", "type_as") or not scene.may_be_device(call, index):
        return None
    return call.lineno, f"{text} = {source.text_of(call)}"
