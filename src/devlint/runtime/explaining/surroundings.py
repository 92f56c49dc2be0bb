"""Errors that are about no two tensors: what the machine, the process or the file doesn't have."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devlint.crashes.messages import Words
from devlint.crashes.remedies import REMEDIES, devices_named
from devlint.runtime.explaining.causes import cause
from devlint.runtime.explaining.definitions import code_of
from devlint.runtime.explaining.mistakes import Mistake, described, origin
from devlint.runtime.explaining.places import name_of
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.targets import accelerator
from devlint.runtime.explaining.traced import assigned
from devlint.runtime.operands import OperandFacts, unknown


def not_loaded(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """A file whose tensors are to go to a device that isn't there."""
    missing = f"{words.device}:{words.number}" if words.number else words.device
    inside = [i for i, spot in enumerate(scene.stack) if "map_location" in spot.names]
    index = scene.users_frame(inside[0] if inside else len(scene.stack) - 1)
    is_asked, lines = _asks_for(scene, missing), list[tuple[str, str]]()
    place = words.device if is_asked and words.number else "cpu"
    shown = f'torch.load(..., map_location="{place}")'
    call = scene.failing_call(index)
    if call is not None and name_of(call) == "load":
        keywords = [k for k in call.keywords if k.arg != "map_location"]
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "map_location")]
        found = assigned(scene, ast.unparse(given[0]), index) if given else None
        lines = [] if found is None else [found.shown()]
        keyword = ast.keyword("map_location", ast.Constant(place))
        shown = code_of(ast.Call(call.func, call.args[:1], [*keywords, keyword]))
    if not is_asked:
        head = f"the file holds tensors of {missing}, which this process doesn't have"
        fix, rule = f"say where to load them: {shown}", "load-without-map-location"
    else:
        head = f"map_location asks for {missing}, which this process doesn't have"
        fix = f"load them to a device that is there: {shown}"
        names = [] if call is None else devices_named(list(ast.walk(call)))
        rule = ""
        if any((":" in name) == bool(words.number) for name in names):
            rule = "hardcoded-device-index" if words.number else "hardcoded-cuda-device"
    return Mistake(head, lines, fix, rule, devices=(missing,))


def _asks_for(scene: Scene, missing: str) -> bool:
    """Whether the program has named a place itself, or it stood in the file."""
    held = (spot.names.get("location") for spot in scene.stack if spot.owner == "torch")
    stored = next((place for place in held if type(place) is str), None)
    if stored is None:
        return False
    return missing not in (stored, f"{stored}:0", stored.partition(":")[0])


def without_backend(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """A collective that was given a tensor in the wrong place."""
    device, index = words.device, scene.use
    rule, fix = REMEDIES["backend"].rule if device == "cpu" else "", REMEDIES["backend"].fix
    name, lines = "", list[tuple[str, str]]()
    for named in scene.operands(index) if index >= 0 else ():
        if named.tensor is not None and scene.is_on(named.tensor, device):
            name, facts = named.text, scene.reader.facts(named.text, named.tensor)
            lines = [described("operand", name, facts), *origin(scene, facts, name, index)]
            if rule:
                home = unknown("", accelerator())
                _, fix = cause(scene, facts, named, index, home, None, "", rule)
            break
    return Mistake(
        f"{scene.failing_text(index) or 'a collective'} was given {name or 'a tensor'} on "
        f"{device}, for which the process group has no backend",
        lines,
        fix,
        rule,
        argument=name,
        devices=(device,),
    )
