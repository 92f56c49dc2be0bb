"""A module that isn't where its input is: it was never moved, or moving its model left it out."""

from __future__ import annotations

import ast

from torch import nn

from devlint.runtime.explaining.bindings import made_module
from devlint.runtime.explaining.elsewhere import of_attribute
from devlint.runtime.explaining.lookup import Named
from devlint.runtime.explaining.mistakes import Mistake, described, device_text, origin, since
from devlint.runtime.explaining.origins import shortened, shown_line
from devlint.runtime.explaining.ownership import Holder
from devlint.runtime.explaining.scene import Passed, Scene, is_same, shares_memory
from devlint.runtime.explaining.sides import Sides
from devlint.runtime.operands import OperandFacts


def given_to(scene: Scene, facts: OperandFacts) -> Passed | None:
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


def left_behind(scene: Scene, sides: Sides, owner: nn.Module) -> Mistake:
    label = scene.label(owner)
    given = given_to(scene, sides.other)
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


def _registered(holder: Holder) -> str:
    """The repair of a plain container, or of an object, that keeps modules."""
    kept = f"self.{holder.attribute}"
    instead = f"let it move with the module, instead of a {holder.container}"
    if holder.container in ("list", "tuple"):
        return f"{instead}: {kept} = nn.ModuleList(...)"
    if holder.container == "dict":
        return f"{instead}: {kept} = nn.ModuleDict(...)"
    if holder.container != "SimpleNamespace":
        return f"let it move with the module: make {holder.container}, which {kept} is, a module"
    found = of_attribute(type(holder.owner), holder.attribute)
    value = None if found is None else found.value
    if not isinstance(value, ast.Call) or value.args or not value.keywords:
        return f"{instead}: keep it in an nn.ModuleDict"
    items = ", ".join(ast.unparse(keyword) for keyword in value.keywords)
    return f"{instead}: {kept} = nn.ModuleDict(dict({items}))"


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
            return (
                "module-left-behind",
                f"{type(owner).__name__} isn't a part of {kind}: move it as well",
                -1,
            )
        return "unregistered-modules", _registered(holder), -1
    path = scene.owners.path(owner)
    entry = next((m for m in scene.modules if m.is_call), None)
    callee, index = scene.callee(entry) if entry is not None else ("", -1)
    if path and scene.owners.has_any_on(device):
        return (
            "module-left-behind",
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
    return "module-left-behind", f"move the module before the call{moved_module}", index
