"""Models that are wrapped for several processes or devices, and aren't where the wrapper wants."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devlint.crashes.messages import Words
from devlint.runtime.explaining.mistakes import Mistake
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.targets import accelerator, can_be_assigned, device_text
from devlint.runtime.explaining.traced import assigned, wrapped
from devlint.runtime.operands import OperandFacts

_RULE = "module-wrapped-before-move"


def replica(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """A wrapper has refused a module, when it was made or when it was called."""
    call = scene.failing_call(scene.use)
    return _called(scene, words, call) if words.home else _made(scene, words, call)


def _called(scene: Scene, words: Words, call: ast.Call | None) -> Mistake:
    name = "model" if call is None else scene.source(scene.use).text_of(call.func)
    found = assigned(scene, name, scene.use)
    target = device_text(scene, scene.use, words.home)
    return Mistake(
        f"DataParallel wants the module on {words.home}, and a part of it is on {words.device}",
        [] if found is None else [(wrapped(scene, found, scene.use) or found).shown()],
        f"move the whole module before it is called: {name}.to({target})",
        _RULE,
        module=scene.label(scene.called[0].module) if scene.called else scene.home_label,
        argument=name,
        devices=(words.device, words.home),
    )


def _made(scene: Scene, words: Words, call: ast.Call | None) -> Mistake:
    given = {k.arg: k.value for k in ([] if call is None else call.keywords)}
    module = call.args[0] if call is not None and call.args else given.get("module")
    name = "" if module is None else scene.source(scene.use).text_of(module)
    found = assigned(scene, name, scene.use)
    ids = given.get("device_ids")
    target = "" if ids is None else _first(scene, ids)
    shown = name or "a module"
    if words.device:
        head = f"DistributedDataParallel is given device_ids, and {shown} is on {words.device}"
    else:
        head = f"DistributedDataParallel is given {shown}, which is on several devices"
    if "device_ids" in words.text and not words.device:
        fix = "leave device_ids and output_device out: the model says where its parts run"
    elif target and can_be_assigned(name):
        fix = f"move the whole module before it is wrapped: {name} = {name}.to({target})"
    else:
        fix = "move the whole module to the device of this rank before it is wrapped"
    return Mistake(
        head,
        [] if found is None else [found.shown()],
        fix,
        _RULE,
        module=scene.home_label,
        argument=name,
        devices=tuple(device for device in (words.device, _wanted(scene)) if device),
    )


def _wanted(scene: Scene) -> str:
    """The device of the first of the `device_ids` that the wrapper was given."""
    held = (spot.names.get("device_ids") for spot in scene.stack[scene.use + 1 :])
    ids = next((value for value in held if type(value) is list and value), [""])
    if type(ids[0]) is int:
        return f"{accelerator()}:{ids[0]}"
    return str(ids[0])


def _first(scene: Scene, ids: ast.expr) -> str:
    """The one device of a list, as the line writes it."""
    source = scene.source(scene.use)
    if isinstance(ids, (ast.List, ast.Tuple)):
        return source.text_of(ids.elts[0]) if len(ids.elts) == 1 else ""
    return f"{source.text_of(ids)}[0]"
