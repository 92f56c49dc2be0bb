"""Tensors that a line of the user's puts in the place of a module's own for one call."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.runtime.explaining.lookup import Named, own_tensors, read
from devlint.runtime.explaining.mistakes import Mistake, described, moved, origin
from devlint.runtime.explaining.origins import shortened, shown_line
from devlint.runtime.explaining.scene import Scene, is_same
from devlint.runtime.explaining.targets import can_be_assigned, device_text
from devlint.runtime.operands import OperandFacts, is_tensor


@dataclass(frozen=True, slots=True)
class Lent:
    """A parameter or buffer of a module at work that one of the user's lines has given it."""

    index: int
    """Of the frame whose line that is."""
    named: Named


def lent(scene: Scene, facts: OperandFacts) -> Lent | None:
    """How a line that calls a module names one of its tensors, other than by way of a module."""
    test = is_same(facts)
    for frame in reversed(scene.modules):
        if any(test(tensor) for _, tensor in own_tensors(frame.module)):
            for index in filter(scene.is_users, range(frame.index - 1, -1, -1)):
                for named in scene.operands(index):
                    if named.tensor is not None and test(named.tensor):
                        return Lent(index, named)
    return None


def wrongly_lent(scene: Scene, odd: OperandFacts, other: OperandFacts, given: Lent) -> Mistake:
    """The mistake of tensors that were given to a module in the wrong place."""
    index, text = given.index, given.named.text
    near = scene.named(other, index)
    met = "its input" if near is None else near.text
    call = shortened(scene.failing_text(index), 60) or "a call"
    lines = [
        described("operand", "" if near is None else met, scene.as_named(other, near)),
        *origin(scene, other, "", -1),
        described("operand", text, odd),
        *origin(scene, odd, text, index),
    ]
    if index != scene.use:
        spot = scene.stack[index]
        lines.append(("passed at", shown_line(spot.file, spot.line)))
    return Mistake(
        f"{call} takes {met} on {other.device} and {text} on {odd.device}",
        lines,
        f"move it first: {_moved(scene, given, device_text(scene, index, other.device, '', near))}",
        "operands-on-other-devices",
        argument=text,
        devices=(odd.device, other.device),
        is_mismatch=True,
    )


def _moved(scene: Scene, given: Lent, target: str) -> str:
    """The statement that moves a tensor, or all of those that are given together."""
    node = given.named.node
    text = given.named.text if node is None else scene.source(given.index).text_of(node)
    held = None if node is None else read(node, scene.stack[given.index])
    is_all = type(held) is dict and can_be_assigned(text) and all(map(is_tensor, held.values()))
    if is_all:
        return f"{text} = {{name: each.to({target}) for name, each in {text}.items()}}"
    return moved(given.named.text, target, True)
