"""Tensors of two devices in one operation: which of them is in the wrong place, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from devlint.runtime.explaining.bindings import made_module
from devlint.runtime.explaining.causes import cause
from devlint.runtime.explaining.lookup import Named
from devlint.runtime.explaining.mistakes import (
    Mistake,
    described,
    device_text,
    origin,
    since,
)
from devlint.runtime.explaining.origins import (
    creation,
    shortened,
    shown_line,
)
from devlint.runtime.explaining.ownership import path_below
from devlint.runtime.explaining.scene import Passed, Scene, is_same, shares_memory
from devlint.runtime.explaining.sides import Owner, Sides, choose_sides
from devlint.runtime.operands import OperandFacts, unknown


def meeting(scene: Scene, operands: Sequence[OperandFacts], text: str) -> Mistake | None:
    """The mistake behind an operation that took tensors of two devices."""
    known = [facts for facts in operands if not facts.device.startswith("meta")]
    sides = choose_sides(scene, known or _read(scene, text))
    if sides is None:
        return None
    if sides.odd_owner is not None:
        if _is_torn(scene, sides.odd_owner[0]):
            return _torn(scene, sides, sides.odd_owner)
        return _left_behind(scene, sides, sides.odd_owner[0])
    given = _given(scene, sides.odd)
    if given is not None:
        return _received(scene, sides, given)
    if scene.called and _given(scene, sides.other) is not None:
        innermost = scene.called[-1].module
        if scene.owners.device_of(innermost) == sides.odd.device:
            return _left_behind(scene, sides, innermost)  # autocast has made copies of its weights
    return _operation(scene, sides)


def _read(scene: Scene, text: str) -> list[OperandFacts]:
    """The operands as the innermost expression that has any of two devices names them."""
    for index in range(len(scene.stack) - 1, max(scene.use, 0) - 1, -1):
        written = scene.operands(index)
        found = [
            scene.reader.facts(named.text, named.tensor)
            for named in written
            if named.tensor is not None and named.tensor.dim() > 0
        ]
        places = {facts.device for facts in found}
        if "meta" in places:
            return []  # there is nothing that could be moved
        if len(places) > 1:
            return found
        computed = [named for named in written if named.tensor is None]
        elsewhere = [device for device in _DEVICE.findall(text) if device not in places]
        if len(places) == len(computed) == 1 and elsewhere and index == scene.use:
            return [*found, unknown(computed[0].text, elsewhere[0])]
    return []


_DEVICE = re.compile(r"\b(?:cpu|(?:cuda|xpu|mps):\d+)\b")


def _given(scene: Scene, facts: OperandFacts) -> Passed | None:
    """The argument of a called module that an operand is, or is made from."""
    for test in (is_same(facts), shares_memory(facts)):
        for call in scene.called:
            if (passed := scene.passed(call, test)) is not None:
                return passed
    for call in scene.called:
        passed = scene.passed(call, lambda t: t.dim() > 0 and scene.device(t) == facts.device)
        if passed is not None:
            return passed
    return None


# --- a module was given something


def _received(scene: Scene, sides: Sides, given: Passed) -> Mistake:
    module = given.call.module
    argument = scene.argument_facts(given)
    head = f"{scene.label(module)} received {given.position} on {argument.device}"
    is_placed = sides.other_owner is not None or (
        scene.owners.device_of(module) == sides.other.device
    )
    other = None if sides.other_owner is not None else _given(scene, sides.other)
    if sides.other_owner is not None:
        met = f"its {_name_in(module, *sides.other_owner)} is on {sides.other.device}"
    elif other is not None:
        met = f"{other.position} is on {sides.other.device}"
    elif is_placed:
        met = f"its parameters are on {sides.other.device}"
    else:
        met = f"another operand is on {sides.other.device}"
    entry = scene.entry(argument, _is_made_at(scene, argument, given)) or given
    facts = scene.argument_facts(entry)
    index = entry.index if entry.text else scene.use
    lines = [described("argument", given.text, argument)]
    lines += origin(scene, facts, entry.text, index)
    if entry.index != scene.use and entry.text:
        spot = scene.stack[entry.index]
        lines.append(("passed at", shown_line(spot.file, spot.line)))
    if sides.other_owner is not None:
        lines.append(("model", since(sides.other)))
    elif other is not None:
        lines.append(described("argument", other.text, scene.argument_facts(other)))
    partner = None if other is None else Named(other.text, None)
    named = Named(entry.text, None, entry.node)
    callee = entry.callee if is_placed else ""
    fallback = "input-on-other-device" if is_placed else "operands-on-other-devices"
    rule, fix = cause(
        scene, facts, named, index, sides.other, partner, callee, fallback, entry.holder
    )
    return Mistake(
        f"{head}; {met}",
        lines,
        fix,
        rule,
        module=scene.label(module),
        argument=given.text or given.position,
        devices=(argument.device, sides.other.device),
        is_mismatch=True,
    )


def _is_made_at(scene: Scene, facts: OperandFacts, given: Passed) -> bool:
    named = Named(given.text, None, given.node)
    return given.index >= 0 and creation(scene, facts, named, given.index) is not None


def _name_in(module: nn.Module, owner: nn.Module, name: str) -> str:
    path = path_below(module, owner)
    return f"{path}.{name}" if path else name


# --- a module wasn't where its input is


def _is_torn(scene: Scene, module: nn.Module) -> bool:
    """Whether the parameters and buffers of a module are in several places."""
    return scene.owners.device_of(module) is None


def _torn(scene: Scene, sides: Sides, owner: Owner) -> Mistake:
    module, name = owner
    if scene.home is not None and scene.home.module is module:
        found = _operation(scene, sides)
    else:
        met = sides.other_owner[1] if sides.other_owner is not None else "the rest"
        found = Mistake(
            f"{scene.label(module)} has its {name} on {sides.odd.device} and {met} on "
            f"{sides.other.device}",
            [(name[:9], since(sides.odd))],
            module=scene.label(module),
            argument=name,
            devices=(sides.odd.device, sides.other.device),
            is_mismatch=True,
        )
    fix = f"set {name} before the module is moved, or move the module once more"
    return replace(found, fix=fix, rule="input-on-other-device")


def _left_behind(scene: Scene, sides: Sides, owner: nn.Module) -> Mistake:
    label = scene.label(owner)
    given = _given(scene, sides.other)
    head = f"{label} is on {sides.odd.device}, but"
    if given is not None:
        head = f"{head} received {given.position}"
        lines = [described("argument", given.text, scene.argument_facts(given))]
    else:
        named = scene.named(sides.other, scene.use) if scene.use >= 0 else None
        head = f"{head} met {'its input' if named is None else shortened(named.text, 40)}"
        lines = [described("operand", "" if named is None else named.text, sides.other)]
    lines += origin(scene, sides.other, "", -1)
    rule, fix, index = _why_behind(scene, sides, owner, given)
    if 0 <= index != scene.use:
        line = shown_line(scene.stack[index].file, scene.stack[index].line)
        lines += [] if any(text == line for _, text in lines) else [("passed at", line)]
    made = "" if sides.odd.site else made_module(scene, owner, sides.other.device)
    lines.append(("model", f"on {sides.odd.device}, {made}" if made else since(sides.odd)))
    own = scene.named(sides.odd, scene.use) if scene.use >= 0 and given is None else None
    return Mistake(
        f"{head} on {sides.other.device}",
        lines,
        fix,
        rule,
        module=label,
        argument=(own.text if own else "") if given is None else given.text or given.position,
        devices=(sides.odd.device, sides.other.device),
        is_mismatch=True,
    )


def _why_behind(
    scene: Scene, sides: Sides, owner: nn.Module, given: Passed | None
) -> tuple[str, str, int]:
    """The rule, the repair, and the frame whose line calls the module, if the repair is there."""
    root = scene.owners.root
    assert root is not None  # the owner is at work, and so is a module outside of it
    device = sides.other.device
    if scene.owners.path(owner) is None:
        holder = scene.owners.holder(owner)
        kind = type(root).__name__
        if holder is None:
            return "", f"{type(owner).__name__} isn't a part of {kind}: move it as well", -1
        wrapper = "nn.ModuleDict" if holder.container == "dict" else "nn.ModuleList"
        return (
            "unregistered-modules",
            (
                f"let it move with the module, instead of a {holder.container}: "
                f"self.{holder.attribute} = {wrapper}(...)"
            ),
            -1,
        )
    path = scene.owners.path(owner)
    entry = next((m for m in scene.modules if m.is_call), None)
    callee, index = scene.callee(entry) if entry is not None else ("", -1)
    if path and scene.owners.has_any_on(device):
        return (
            "input-on-other-device",
            (
                f"the rest of {type(root).__name__} is on {device}: "
                f"make {path} before the model is moved, or move it as well"
            ),
            -1,
        )
    named = scene.named(sides.other, index) if index >= 0 else None
    if named is None and given is not None and given.index == index:
        named = Named(given.text, None)
    target = device_text(scene, -1, device, "", named)
    moved_module = f": {callee}.to({target})" if callee else ""
    index = index if callee else -1
    return "input-on-other-device", f"move the module before the call{moved_module}", index


# --- an operation of the program itself


def _operation(scene: Scene, sides: Sides) -> Mistake:
    index = scene.use
    odd, other = scene.named_pair(sides.odd, sides.other)
    shown = shortened(scene.failing_text(index), 60)
    where = f"{scene.home_label}: " if scene.home_label else ""
    first, second = _words(sides.other, other), _words(sides.odd, odd)
    head = f"{where}{shown or 'an operation'} takes {first} and {second}"
    lines = [
        described("operand", _text(sides.other, other), scene.as_named(sides.other, other)),
        *origin(scene, sides.other, "", -1),
        described("operand", _text(sides.odd, odd), scene.as_named(sides.odd, odd)),
        *origin(scene, sides.odd, "" if odd is None else odd.text, index),
    ]
    named = odd or Named("", None)
    entry = scene.entry(
        sides.odd, index >= 0 and creation(scene, sides.odd, odd, index) is not None
    )
    fallback = "operands-on-other-devices"
    if entry is None or not entry.text:
        rule, fix = cause(scene, sides.odd, named, index, sides.other, other, "", fallback)
    else:
        spot = scene.stack[entry.index]
        lines.append(("passed at", shown_line(spot.file, spot.line)))
        facts = scene.argument_facts(entry)
        passed, callee = Named(entry.text, None, entry.node), ""
        if sides.other_owner is not None:
            fallback, callee = "input-on-other-device", entry.callee
        rule, fix = cause(
            scene, facts, passed, entry.index, sides.other, None, callee, fallback, entry.holder
        )
    return Mistake(
        head,
        lines,
        fix,
        rule,
        module=scene.home_label,
        argument=_text(sides.odd, odd),
        devices=(sides.odd.device, sides.other.device),
        is_mismatch=True,
    )


def _words(facts: OperandFacts, named: Named | None) -> str:
    return f"{shortened(_text(facts, named), 50)} on {facts.device}"


def _text(facts: OperandFacts, named: Named | None) -> str:
    return facts.name if named is None else named.text
