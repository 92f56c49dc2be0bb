"""Errors that are about no two tensors: what the machine, the process or the file hasn't got."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard

from devlint.crashes.messages import Kind, Words
from devlint.crashes.remedies import FIND_OUT, REMEDIES
from devlint.runtime.explaining.bindings import assigned, wrapped
from devlint.runtime.explaining.mistakes import Mistake
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.targets import device_text


class _DeviceName(ast.Constant):
    """A constant that names a device."""

    value: str


_OPTIMIZER = REMEDIES["optimizer"]


def surrounding(scene: Scene, words: Words) -> Mistake | None:
    """The mistake behind a text that is about a whole model, a file or the machine."""
    teller = _TELLERS.get(words.kind)
    return None if teller is None else teller(scene, words)


def is_optimizer_at_work(scene: Scene) -> bool:
    """Whether the failing line has called an optimizer of torch."""
    return any(
        spot.owner == "torch" and Path(spot.file).parent.name == "optim"
        for spot in scene.stack[scene.use + 1 :]
    )


def of_optimizer(scene: Scene, met: Mistake) -> Mistake:
    """A meeting of what an optimizer steps with, which the program has no names for."""
    call = scene.failing_text(scene.use) or "an optimizer"
    places = " and ".join(sorted(set(met.devices)))
    head = f"{call} works on parameters, gradients and states of {places}"
    called = _failing_call(scene)
    lines = list(met.lines)
    if called is not None and isinstance(called.func, ast.Attribute):
        name = scene.source(scene.use).text_of(called.func.value)
        found = assigned(scene, name, scene.use)
        lines += [] if found is None else [("optimizer", found.place())]
    return replace(
        met, headline=head, lines=lines, fix=_OPTIMIZER.fix, argument="", rule=_OPTIMIZER.rule
    )


def _load(scene: Scene, words: Words) -> Mistake:
    missing = f"{words.device}:{words.number}" if words.number else words.device
    call = _failing_call(scene)
    if call is not None and _name_of(call) == "load":
        keywords = [k for k in call.keywords if k.arg != "map_location"]
        keyword = ast.keyword("map_location", ast.Constant("cpu"))
        shown = ast.unparse(ast.Call(call.func, call.args, [*keywords, keyword]))
        shown = shown.replace("'cpu'", '"cpu"')
    else:
        shown = 'torch.load(..., map_location="cpu")'
    return Mistake(
        f"the file holds tensors of {missing}, which this process doesn't have",
        (),
        f"say where they are to go: {shown}",
        "load-without-map-location",
        devices=(missing,),
    )


def _missing(scene: Scene, words: Words) -> Mistake:
    device = words.device or "an accelerator"
    node = _failing(scene)
    text = scene.failing_text(scene.use)
    parts = [] if node is None else list(ast.walk(node))
    rule, fix = "", REMEDIES["missing"].fix
    if any(isinstance(p, ast.Call) and _name_of(p) == "cuda" for p in parts):
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


def _fork(scene: Scene, words: Words) -> Mistake:
    return Mistake(
        f"a forked process uses {words.device}, which its parent has used already",
        (),
        REMEDIES["fork"].fix,
        REMEDIES["fork"].rule,
        devices=(words.device,),
    )


def _empty(scene: Scene, words: Words) -> Mistake:
    return Mistake(
        f"{scene.failing_text(scene.use) or 'a move'} copies from meta, where tensors have no data",
        (),
        REMEDIES["empty"].fix,
        module=scene.home_label,
        devices=("meta",),
    )


def _backend(scene: Scene, words: Words) -> Mistake:
    device = words.device
    call = scene.failing_text(scene.use)
    return Mistake(
        f"{call or 'a collective'} was given a tensor on {device}, for which the process group "
        "has no backend",
        (),
        REMEDIES["backend"].fix,
        REMEDIES["backend"].rule if device == "cpu" else "",
        devices=(device,),
    )


def _replica(scene: Scene, words: Words) -> Mistake:
    lines, name = list[tuple[str, str]](), ""
    if words.home:
        head = (
            f"DataParallel wants the module on {words.home}, and a part of it is on {words.device}"
        )
        call = _failing_call(scene)
        name = "model" if call is None else scene.source(scene.use).text_of(call.func)
        found = assigned(scene, name, scene.use)
        if found is not None:
            lines = [(wrapped(scene, found, scene.use) or found).shown()]
        target = device_text(scene, scene.use, words.home)
        fix = f"move the whole module before it is called: {name}.to({target})"
    else:
        head = "DistributedDataParallel wants a module on one kind of device, and it is on several"
        fix = REMEDIES["replica"].fix
    devices = tuple(device for device in (words.device, words.home) if device)
    module = scene.label(scene.called[0].module) if scene.called else scene.home_label
    rule = REMEDIES["replica"].rule
    return Mistake(head, lines, fix, rule, module=module, argument=name, devices=devices)


def _parameters(scene: Scene, words: Words) -> Mistake:
    return Mistake(
        f"{scene.failing_text(scene.use) or 'a function'} takes parameters of one device, and "
        "got some of several",
        (),
        REMEDIES["parameters"].fix,
    )


def _optimizer(scene: Scene, words: Words) -> Mistake:
    return Mistake(
        "a parameter, its gradient and the optimizer's state for it aren't all on one device",
        (),
        _OPTIMIZER.fix,
        _OPTIMIZER.rule,
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


def _gradient(scene: Scene, words: Words) -> Mistake:
    return Mistake(
        f"{words.operation} gave a gradient on {words.device} for a tensor on {words.home}",
        (),
        REMEDIES["gradient"].fix,
        devices=(words.device, words.home),
        is_mismatch=True,
    )


_TELLERS: Mapping[Kind, Callable[[Scene, Words], Mistake]] = {
    "load": _load,
    "missing": _missing,
    "ordinal": _ordinal,
    "fork": _fork,
    "empty": _empty,
    "backend": _backend,
    "replica": _replica,
    "parameters": _parameters,
    "optimizer": _optimizer,
    "fused": _fused,
    "gradient": _gradient,
}


def _failing(scene: Scene) -> ast.AST | None:
    return scene.source(scene.use).failing if scene.use >= 0 else None


def _failing_call(scene: Scene) -> ast.Call | None:
    node = _failing(scene)
    return node if isinstance(node, ast.Call) else None


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
