"""A meeting of which only PyTorch's text and the source tell: there are no frames that know it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from devlint.crashes.messages import Words
from devlint.crashes.remedies import INPUTS, named_by_torch, said_of, said_of_meeting
from devlint.crashes.scene import parts_of
from devlint.runtime.explaining.causes import cause
from devlint.runtime.explaining.definitions import shortened
from devlint.runtime.explaining.lookup import Named, read
from devlint.runtime.explaining.mistakes import (
    Mistake,
    discarded,
    origin,
)
from devlint.runtime.explaining.origins import Creation, creation
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.operands import is_tensor, unknown


def by_text(scene: Scene, words: Words) -> Mistake | None:
    """Say what the text of an error tells, and what the failing line looks like."""
    if words.kind in ("state", "leaf"):
        return None  # other mistakes have the same text
    if words.kind != "meeting":
        return _single(scene, words)
    return _meeting(scene, words) if words.device and words.home else None


def _single(scene: Scene, words: Words) -> Mistake:
    """Of one call."""
    node = scene.source(scene.use).failing if scene.use >= 0 else None
    said = said_of(words, shortened(scene.failing_text(scene.use), 60), node)
    rule = "" if words.kind == "pinned" else said.remedy.rule  # nobody has seen what was pinned
    asked = said.argument if words.kind == "ordinal" else ""
    home = words.home or ("cpu" if words.kind in ("numpy", "host", "lengths") else "")
    return Mistake(
        f"{scene.home_label}: {said.headline}" if scene.home_label else said.headline,
        (),
        said.remedy.fix,
        rule,
        module=scene.home_label,
        argument=said.argument,
        devices=tuple(device for device in (asked or words.device, home) if device),
        is_mismatch=words.kind == "index",
    )


def _meeting(scene: Scene, words: Words) -> Mistake:
    """Of two tensors."""
    index = scene.use
    parts = list(_parts(scene, index))
    named = _stranger(scene, words, parts)
    name, text = words.operands[0][0], "" if named is None else named.text
    where = f"{scene.home_label}: " if scene.home_label else ""
    callee = _callee(scene) if text and name in INPUTS else ""
    head = where + said_of_meeting(words, shortened(scene.failing_text(index), 60), callee, text)
    lines = [*named_by_torch(words), *origin(scene, None, text, index)]
    rule, fix = _repair(scene, words, named, parts)
    return Mistake(
        head,
        lines,
        fix,
        rule,
        module=scene.home_label,
        argument=text or name,
        devices=(words.device, words.home),
        is_mismatch="meta" not in (words.device, words.home),
    )


def _repair(scene: Scene, words: Words, named: Named | None, parts: list[Named]) -> tuple[str, str]:
    """The rule that speaks of it, and the repair."""
    index, is_layer = scene.use, _is_layer(scene)
    if "meta" in (words.device, words.home):
        return "", "give the tensor on meta memory and data first; it can't be copied"
    fallback = "input-on-other-device" if is_layer else "operands-on-other-devices"
    if named is None:
        what = words.operands[0][0] or "one"
        return fallback, f"move {what} to {words.home} before this line"
    others = [part for part in parts if part.text != named.text]
    partner = others[0] if len(others) == 1 and not is_layer else None
    odd, met = unknown(named.text, words.device), unknown("", words.home)
    return cause(scene, odd, named, index, met, partner, _callee(scene), fallback)


def _stranger(scene: Scene, words: Words, parts: list[Named]) -> Named | None:
    """The part of the failing line that is in the wrong place, if that is sure."""
    held = [p for p in parts if p.tensor is not None and _is_on(scene, p, words.device)]
    if any(part.tensor is not None for part in parts):
        if _runs_the_graph(scene):
            return None  # what met is inside
        return held[0] if len(held) == 1 else None
    if words.device == "cpu":
        left = [
            part
            for part in parts
            if discarded(scene, part.text, scene.use, words.home) or _made(scene, part) is not None
        ]
        if left:
            return left[0] if len(left) == 1 else None
    is_input = words.operands[0][0] in INPUTS and _is_layer(scene)
    return parts[0] if is_input and len(parts) == 1 else None


def _runs_the_graph(scene: Scene) -> bool:
    """Whether the failing line computes gradients, with tensors that it doesn't name."""
    return any(
        spot.owner == "torch" and Path(spot.file).parent.name == "autograd"
        for spot in scene.stack[scene.use + 1 :]
    )


def _is_on(scene: Scene, part: Named, device: str) -> bool:
    found = "" if part.tensor is None else scene.device(part.tensor)
    return found == device or found.partition(":")[0] == device


def _made(scene: Scene, part: Named) -> Creation | None:
    return creation(scene, unknown(part.text, "cpu"), part, scene.use)


def _is_layer(scene: Scene) -> bool:
    """Whether the failing line called a layer of torch.nn."""
    return any(
        spot.owner == "torch" and "modules" in spot.file and spot.code.co_name == "forward"
        for spot in scene.stack[scene.use + 1 :]
    )


def _callee(scene: Scene) -> str:
    """How the failing line writes the layer that it called."""
    if not _is_layer(scene) or scene.use < 0:
        return ""
    call = scene.failing_call(scene.use)
    return "" if call is None else scene.source(scene.use).text_of(call.func)


def _parts(scene: Scene, index: int) -> Iterator[Named]:
    """What the failing line works on, as far as it has names."""
    if index < 0:
        return
    source = scene.source(index)
    node = source.failing
    if isinstance(node, ast.AugAssign):
        node = ast.BinOp(node.target, node.op, node.value)
    elif isinstance(node, ast.stmt):
        node = getattr(node, "value", None)
    for part in parts_of(node):
        value = read(part, source.spot)
        if not issubclass(type(value), (ModuleType, type, bool, int, float, str)):
            yield Named(source.text_of(part), value if is_tensor(value) else None, part)
