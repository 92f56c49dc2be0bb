"""A module that isn't where its input is: it was never moved, or moving its model left it out."""

from __future__ import annotations

import ast

from torch import nn

from devlint.runtime.explaining.addresses import address, whole_on, written_callee
from devlint.runtime.explaining.definitions import place_of, shortened, shown_line
from devlint.runtime.explaining.lookup import Named, contents, modules_below, own_tensors
from devlint.runtime.explaining.mistakes import Mistake, described, origin, since
from devlint.runtime.explaining.naming import named_near
from devlint.runtime.explaining.origins import was_moved
from devlint.runtime.explaining.ownership import Holder, path_below, takes_along
from devlint.runtime.explaining.scene import Passed, Scene, is_same, shares_memory
from devlint.runtime.explaining.sides import Sides
from devlint.runtime.explaining.stack import own_name
from devlint.runtime.explaining.targets import device_text
from devlint.runtime.explaining.traced import made_module, of_attribute
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


def unmoved_keeper(scene: Scene, sides: Sides) -> nn.Module | None:
    """The module that keeps an operand unregistered, and would have taken it along."""
    owners, test = scene.owners, shares_memory(sides.odd)
    kept = owners.plain_attribute(is_same(sides.odd)) or owners.plain_attribute(test)
    if kept is None or not takes_along(type(kept[0])) or scene.was_given(kept[0], test):
        return None
    module, device = kept[0], sides.other.device
    was_moved = any(scene.is_on(part, device) for part in contents(module).values())
    return None if was_moved or owners.device_of(module) == device else module


def left_behind(scene: Scene, sides: Sides, owner: nn.Module) -> Mistake:
    label = scene.label(owner)
    given = given_to(scene, sides.other)
    head = f"{label} is on {sides.odd.device}, but"
    if given is not None:
        head = f"{head} received {given.position}"
        lines = [described("argument", given.text, scene.argument_facts(given))]
    else:
        named = None if scene.use < 0 else named_near(scene, sides.other)
        head = f"{head} met {'its input' if named is None else shortened(named.text, 40)}"
        met = scene.as_named(sides.other, named)
        lines = [described("operand", "" if named is None else named.text, met)]
    lines += origin(scene, sides.other, "", -1)
    owner = _whole_behind(scene, owner, sides)
    rule, fix, index = why_behind(scene, sides, owner, given)
    if 0 <= index != scene.use:
        line = shown_line(scene.stack[index].file, scene.stack[index].line)
        lines += [] if any(text == line for _, text in lines) else [("passed at", line)]
    made = "" if sides.odd.site else made_module(scene, owner, sides.other.device)
    lines.append(("model", f"on {sides.odd.device}, {made}" if made else since(sides.odd)))
    text = "" if given is None else given.text
    if not text:
        whole = scene.owners.root if _is_all_behind(scene, owner, sides.other.device) else None
        text = address(scene, owner if whole is None else whole)[0]
    return Mistake(
        f"{head} on {sides.other.device}",
        lines,
        fix,
        rule,
        module=label,
        argument=text or ("" if given is None else given.position),
        devices=(sides.odd.device, sides.other.device),
        is_mismatch=True,
    )


def _whole_behind(scene: Scene, owner: nn.Module, sides: Sides) -> nn.Module:
    """The largest part of the outermost module that is behind as a whole, and a module is in."""
    if _is_all_behind(scene, owner, sides.other.device):
        return owner
    while (above := scene.owners.keeper(owner)) is not None:
        if scene.owners.path(owner) is None or scene.owners.device_of(above[0]) != sides.odd.device:
            break
        owner = above[0]
    return owner


def _is_all_behind(scene: Scene, owner: nn.Module, device: str) -> bool:
    """Whether nothing of the outermost module, of which another one is a part, is on a device."""
    path = scene.owners.path(owner)
    return path is not None and not (path and scene.owners.has_any_on(device))


def _registered(scene: Scene, holder: Holder) -> str:
    """The repair of a plain container, or of an object, that keeps modules."""
    kept = f"self.{holder.attribute}"
    instead = f"let it move with the module, instead of a {holder.container}"
    if holder.container in ("list", "tuple"):
        return f"{instead}: {kept} = nn.ModuleList(...)"
    if holder.container == "dict":
        return f"{instead}: {kept} = nn.ModuleDict(...)"
    if holder.container != "SimpleNamespace":
        return f"let it move with the module: make {holder.container}, which {kept} is, a module"
    found = of_attribute(scene, type(holder.owner), holder.attribute)
    value = None if found is None else found.value
    if not isinstance(value, ast.Call) or value.args or not value.keywords:
        return f"{instead}: keep it in an nn.ModuleDict"
    items = ", ".join(ast.unparse(keyword) for keyword in value.keywords)
    return f"{instead}: {kept} = nn.ModuleDict(dict({items}))"


def why_behind(
    scene: Scene, sides: Sides, owner: nn.Module, given: Passed | None
) -> tuple[str, str, int]:
    """The rule, the repair, and the frame whose line calls the module, if the repair is there."""
    root = scene.owners.root
    assert root is not None  # the owner is at work, and so is a module outside of it
    device, path = sides.other.device, scene.owners.path(owner)
    holder = None if path is not None else scene.owners.holder(owner)
    if holder is not None and scene.is_users_class(type(holder.owner)):
        return "unregistered-modules", _registered(scene, holder), -1
    late = _made_late(scene, sides, owner, given)
    if late is not None:
        return "module-left-behind", *late
    text, index = address(scene, owner)
    if path is None:
        what = f"{type(owner).__name__} isn't a part of {type(root).__name__}: move it as well"
        return "module-left-behind", what + _moved(scene, text, index, sides, given), index
    if not _is_all_behind(scene, owner, device):
        what = ""
        if scene.owners.device_of(root, owner) == device:
            what = f"the rest of {type(root).__name__} is on {device}: "
            if _was_moved_without(scene, root, owner, sides.odd):
                what += f"make {path} before the model is moved, or "
        code = _moved(scene, text, index, sides, given, whole_on(scene, device))
        return "module-left-behind", f"{what}move it as well{code}", index
    callee, index = written_callee(scene, scene.modules[0])
    code = _moved(scene, callee, index, sides, given)
    index = index if callee else -1
    return "module-left-behind", f"move the module before the call{code}", index


def _made_late(
    scene: Scene, sides: Sides, owner: nn.Module, given: Passed | None
) -> tuple[str, int] | None:
    """The repair of a module that a function at work has made, and that function's frame."""
    keeper = scene.owners.keeper(owner)
    line = None if keeper is None else of_attribute(scene, type(keeper[0]), keeper[1])
    if keeper is None or line is None or not isinstance(line.value, ast.Call):
        return None
    index = scene.running_at(line.file, line.line, -1)
    name = own_name(scene.stack[index]) if index >= 0 else ""
    if not name or scene.stack[index].names.get(name) is not keeper[0]:
        return None
    made = f"{name}.{keeper[1]} = {ast.unparse(line.value)}"
    where = place_of(line.file, line.line)
    return f"move it where it is made, at {where}{_moved(scene, made, index, sides, given)}", index


def _was_moved_without(
    scene: Scene, root: nn.Module, part: nn.Module, tensor: OperandFacts
) -> bool:
    """Whether a module was moved as a whole before one part was made, as far as is noted."""
    if was_moved(tensor):
        return False
    others = [
        scene.reader.facts(name, own)
        for _, module in modules_below(root)
        if path_below(part, module) is None
        for name, own in own_tensors(module)
    ]
    return len({each.moved or each.site for each in others}) == 1


def _moved(
    scene: Scene, text: str, index: int, sides: Sides, given: Passed | None, callee: str = ""
) -> str:
    """The call that moves a module as a line writes it; empty where it isn't named."""
    if not text:
        return ""
    named = scene.named(sides.other, index)
    if named is None and given is not None and given.index == index:
        named = Named(given.text, None)
    if named is None and index == scene.use:
        named = named_near(scene, sides.other)
    return f": {text}.to({device_text(scene, index, sides.other.device, callee, named)})"
