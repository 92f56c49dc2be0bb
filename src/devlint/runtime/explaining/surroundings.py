"""Errors that are about no two tensors: what the machine, the process or the file hasn't got."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import TypeGuard

from devlint.crashes.messages import Kind, Words
from devlint.crashes.remedies import FIND_OUT, REMEDIES
from devlint.runtime.explaining.bindings import assigned
from devlint.runtime.explaining.causes import cause
from devlint.runtime.explaining.mistakes import Mistake, described, origin
from devlint.runtime.explaining.origins import name_of
from devlint.runtime.explaining.replicas import replica
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.targets import accelerator
from devlint.runtime.operands import unknown


class _DeviceName(ast.Constant):
    """A constant that names a device."""

    value: str


def surrounding(scene: Scene, words: Words) -> Mistake | None:
    """The mistake behind a text that is about a whole model, a file or the machine."""
    teller = _TELLERS.get(words.kind)
    return None if teller is None else teller(scene, words)


def _load(scene: Scene, words: Words) -> Mistake:
    missing = f"{words.device}:{words.number}" if words.number else words.device
    inside = [i for i, spot in enumerate(scene.stack) if "map_location" in spot.names]
    index = scene.users_frame(inside[0] if inside else len(scene.stack) - 1)
    is_asked, lines = _asks_for(scene, missing), list[tuple[str, str]]()
    place = words.device if is_asked and words.number else "cpu"
    shown = f'torch.load(..., map_location="{place}")'
    call = scene.source(index).failing if index >= 0 else None
    call = call if isinstance(call, ast.Call) else None
    if call is not None and name_of(call) == "load":
        keywords = [k for k in call.keywords if k.arg != "map_location"]
        given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "map_location")]
        found = assigned(scene, ast.unparse(given[0]), index) if given else None
        lines = [] if found is None else [found.shown()]
        keyword = ast.keyword("map_location", ast.Constant(place))
        shown = ast.unparse(ast.Call(call.func, call.args[:1], [*keywords, keyword]))
        shown = shown.replace(f"'{place}'", f'"{place}"')
    if not is_asked:
        head = f"the file holds tensors of {missing}, which this process doesn't have"
        fix, rule = f"say where they are to go: {shown}", "load-without-map-location"
    else:
        head = f"map_location asks for {missing}, which this process doesn't have"
        fix = f"load them to a device that is there: {shown}"
        names = [] if call is None else [p.value for p in ast.walk(call) if _is_device_name(p)]
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


def _missing(scene: Scene, words: Words) -> Mistake:
    device = words.device or "an accelerator"
    node = _failing(scene)
    text = scene.failing_text(scene.use)
    parts = [] if node is None else list(ast.walk(node))
    rule, fix = "", REMEDIES["missing"].fix
    if any(isinstance(p, ast.Call) and name_of(p) == "cuda" for p in parts):
        rule = "hardcoded-cuda-call"
        fix = f"move it with .to(device), where device = {FIND_OUT}"
    elif "torch.cuda." in text:
        rule, fix = "unguarded-cuda-api", "ask before: if torch.cuda.is_available():"
    elif any(_is_device_name(part) for part in parts):
        rule = "hardcoded-cuda-device"
    head = f"{text or 'the program'} needs {device}, which this machine or this torch doesn't have"
    return Mistake(head, (), fix, rule, devices=(words.device,) if words.device else ())


def _ordinal(scene: Scene, words: Words) -> Mistake:
    node = _failing(scene)
    named = [] if node is None else [p.value for p in ast.walk(node) if _is_device_name(p)]
    asked = named[0] if len(named) == 1 and ":" in named[0] else ""
    head = f"{asked or 'the accelerator that is asked for'} isn't there: its number is too high"
    return Mistake(
        head,
        (),
        REMEDIES["ordinal"].fix,
        REMEDIES["ordinal"].rule if asked else "",
        argument=asked,
        devices=(asked or words.device,) if asked or words.device else (),
    )


def _is_device_name(node: ast.AST) -> TypeGuard[_DeviceName]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(cuda|xpu|hpu)(:\d+)?", node.value) is not None
    )


def _backend(scene: Scene, words: Words) -> Mistake:
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


def _fused(scene: Scene, words: Words) -> Mistake:
    option = words.operands[0][0] if words.operands and words.operands[0][0] else "fused=True"
    found = f", and got one on {words.device}" if words.device else ""
    return Mistake(
        f"an optimizer with {option} steps parameters of an accelerator only{found}",
        (),
        f"move the model before the optimizer is made, or leave {option} out",
        devices=(words.device,) if words.device else (),
    )


_HEADS: Mapping[Kind, str] = {
    "fork": "a forked process uses {device}, which its parent has used already",
    "empty": "{call} copies from meta, where tensors have no data",
    "parameters": "{call} takes parameters of one device, and got some of several",
    "optimizer": "a parameter, its gradient and the optimizer's state for it aren't all on one "
    "device",
}


def _plain(scene: Scene, words: Words) -> Mistake:
    """What the frames have no more to say of than what was called."""
    call = scene.failing_text(scene.use) or "a call"
    is_place = words.kind in ("fork", "empty")
    return Mistake(
        _HEADS[words.kind].format(call=call, device=words.device),
        (),
        REMEDIES[words.kind].fix,
        REMEDIES[words.kind].rule,
        module=scene.home_label if words.kind == "empty" else "",
        devices=(words.device,) if is_place else (),
    )


_TELLERS: Mapping[Kind, Callable[[Scene, Words], Mistake]] = {
    "load": _load,
    "missing": _missing,
    "ordinal": _ordinal,
    "backend": _backend,
    "replica": replica,
    "fused": _fused,
    **dict.fromkeys(_HEADS, _plain),
}


def _failing(scene: Scene) -> ast.AST | None:
    return scene.source(scene.use).failing if scene.use >= 0 else None
