"""Tensors of two devices in one operation: which of them is in the wrong place, and why."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from devlint.runtime.explaining.causes import cause
from devlint.runtime.explaining.computed import deciding
from devlint.runtime.explaining.definitions import shortened, shown_line
from devlint.runtime.explaining.lookup import Named, read
from devlint.runtime.explaining.mistakes import (
    Mistake,
    described,
    origin,
    since,
)
from devlint.runtime.explaining.naming import because, behind, named_pair, written
from devlint.runtime.explaining.origins import creation
from devlint.runtime.explaining.ownership import path_below
from devlint.runtime.explaining.scene import Passed, Scene
from devlint.runtime.explaining.sides import Owner, Sides, choose_sides, lent, wrongly_lent
from devlint.runtime.explaining.stack import Spot, as_module, own_name, owner_of
from devlint.runtime.explaining.unmoved import given_to, left_behind, unmoved_keeper
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
        return left_behind(scene, sides, sides.odd_owner[0])
    by_line = lent(scene, sides.odd)
    if by_line is not None:
        return wrongly_lent(scene, sides.odd, sides.other, by_line)
    keeper = unmoved_keeper(scene, sides)
    if keeper is not None:
        return left_behind(scene, sides, keeper)
    given = given_to(scene, sides.odd)
    if given is not None:
        return _received(scene, sides, given)
    if scene.called and given_to(scene, sides.other) is not None:
        innermost = scene.called[-1].module
        if scene.owners.device_of(innermost) == sides.odd.device:
            return left_behind(scene, sides, innermost)  # autocast has made copies of its weights
    return _operation(scene, sides)


def _read(scene: Scene, text: str) -> list[OperandFacts]:
    """The operands as the innermost expression that has any of two devices names them.

    Numbers of the CPU are taken for operands where nothing else can be: most operators take them.
    """
    for index in range(len(scene.stack) - 1, max(scene.use, 0) - 1, -1):
        written = scene.operands(index)
        known = [(n, scene.reader.facts(n.text, n.tensor)) for n in written if n.tensor is not None]
        strict = [facts for n, facts in known if not _may_be_anywhere(scene, n, index)]
        places = {facts.device for facts in strict}
        if "meta" in places:
            if "meta" in text:
                return []  # there is nothing that could be moved
            continue  # the module has its own again that were replaced for a call
        computed, unclear = _computed(scene, written, index)
        for found in (strict, [*strict, *computed], [*(facts for _, facts in known), *computed]):
            if len({facts.device for facts in found}) > 1:
                return found
        places = {facts.device for facts in [*strict, *computed]}
        elsewhere = [device for device in _DEVICE.findall(text) if device not in places]
        if len(places) == len(unclear) == 1 and elsewhere and index == scene.use:
            return [*strict, *computed, unknown(unclear[0].text, elsewhere[0])]
    return []


def _computed(
    scene: Scene, written: Sequence[Named], index: int
) -> tuple[list[OperandFacts], list[Named]]:
    """What a frame's line computes: where that is known what is known of it, and the rest."""
    known, unclear = list[OperandFacts](), list[Named]()
    for named in (each for each in written if each.tensor is None):
        part = deciding(named.node, scene.source(index), scene.device)
        if part is None or part.tensor is None:
            unclear.append(named)
        else:
            known.append(unknown(named.text, scene.device(part.tensor)))
    return known, unclear


def _may_be_anywhere(scene: Scene, named: Named, index: int) -> bool:
    """Whether an operand is a number of the CPU that the line only reads."""
    node = scene.source(index).failing
    is_target = isinstance(node, ast.AugAssign) and node.target is named.node
    is_number = named.tensor is not None and named.tensor.dim() == 0
    return is_number and scene.is_on(named.tensor, "cpu") and not is_target


_DEVICE = re.compile(r"\b(?:cpu|(?:cuda|xpu|mps):\d+)\b")


# --- a module was given something


def _received(scene: Scene, sides: Sides, given: Passed) -> Mistake:
    module = given.call.module
    argument = scene.argument_facts(given)
    head = f"{scene.label(module)} received {given.position} on {argument.device}"
    is_placed = sides.other_owner is not None or (
        scene.owners.device_of(module) == sides.other.device
    )
    other = None if sides.other_owner is not None else given_to(scene, sides.other)
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
    is_handed_on = not given.text and 0 <= entry.index == scene.use
    shown = entry.text if is_handed_on else given.text
    lines = [described("argument", shown, facts if is_handed_on else argument)]
    own = written(scene, entry.text, entry.node, index)
    source, part = behind(scene, facts, own, index)
    lines += because(own, part, facts.device)
    lines += origin(scene, source, entry.text if part is None else part.text, index)
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
        argument=shown or given.position,
        devices=(argument.device, sides.other.device),
        is_mismatch=True,
    )


def _is_made_at(scene: Scene, facts: OperandFacts, given: Passed) -> bool:
    """Whether the user's code has made a tensor that a module was given, without a device."""
    named = Named(given.text, None, given.node)
    made = creation(scene, facts, named, given.index) if given.index >= 0 else None
    return made is not None and owner_of(made.file) == scene.user


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


# --- an operation of the program itself


def _operation(scene: Scene, sides: Sides) -> Mistake:
    index = scene.use
    odd, other = named_pair(scene, sides.odd, sides.other)
    facts, part = behind(scene, sides.odd, odd, index)
    met = sides.other
    if met.site is not None:
        met, _ = behind(scene, met, other, index)
    shown = shortened(scene.failing_text(index), 60)
    where = f"{scene.home_label}: " if scene.home_label else ""
    first, second = _words(sides.other, other), _words(sides.odd, odd)
    head = f"{where}{shown or 'an operation'} takes {first} and {second}"
    lines = [
        described("operand", _text(sides.other, other), scene.as_named(sides.other, other)),
        *origin(scene, met, "", -1),
        described("operand", _text(sides.odd, odd), scene.as_named(sides.odd, odd)),
        *because(odd, part, facts.device),
        *origin(scene, facts, "" if part is None else part.text, index),
    ]
    is_made_here = index >= 0 and creation(scene, facts, part, index) is not None
    if odd is not None and part is not None and not is_made_here:
        if index >= 0 and _is_given(odd, part, scene.stack[index]):
            facts, part = sides.odd, odd  # it is moved itself
    named = part or Named("", None)
    entry = scene.entry(sides.odd, is_made_here)
    fallback = "operands-on-other-devices"
    if entry is None or not entry.text or _is_kept_by_object(scene, odd, entry):
        rule, fix = cause(scene, facts, named, index, sides.other, other, "", fallback)
    else:
        spot = scene.stack[entry.index]
        is_told = bool(origin(scene, facts, "" if part is None else part.text, index))
        facts = scene.argument_facts(entry)
        lines += [] if is_told else origin(scene, facts, entry.text, entry.index)
        lines.append(("passed at", shown_line(spot.file, spot.line)))
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
        argument=_text(sides.odd, odd if odd is None or odd.tensor is not None else part),
        devices=(sides.odd.device, sides.other.device),
        is_mismatch=True,
    )


def _is_kept_by_object(scene: Scene, named: Named | None, entry: Passed) -> bool:
    """Whether a method's own object, which nobody can move as a whole, keeps an operand."""
    node = None if named is None else named.node
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or entry.holder:
        return False
    spot = scene.stack[scene.use]
    is_own = node.value.id == own_name(spot)
    return is_own and as_module(spot.names.get(node.value.id)) is None


def _is_given(named: Named, part: Named, spot: Spot) -> bool:
    """Whether an operand is what a function has given, and no method of the deciding part.

    What a class gives is an object, which may hide a tensor that it can't move.
    """
    call = named.node
    if not isinstance(call, ast.Call) or isinstance(read(call.func, spot), type):
        return False
    return all(n is not part.node for n in ast.walk(call.func))


def _words(facts: OperandFacts, named: Named | None) -> str:
    return f"{shortened(_text(facts, named), 50)} on {facts.device}"


def _text(facts: OperandFacts, named: Named | None) -> str:
    return facts.name if named is None else named.text
