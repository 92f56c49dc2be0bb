"""Tensors that a line of the user's puts in the place of a module's own for one call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from devlint.runtime.explaining.definitions import shortened, shown_line
from devlint.runtime.explaining.lookup import Named, modules_below, own_tensors
from devlint.runtime.explaining.mistakes import Mistake, described, moved, origin
from devlint.runtime.explaining.ownership import Test
from devlint.runtime.explaining.scene import Scene, is_same, shares_memory
from devlint.runtime.explaining.targets import device_text
from devlint.runtime.operands import OperandFacts


@dataclass(frozen=True, slots=True)
class Lent:
    """A parameter or buffer of a module at work that one of the user's lines has given it."""

    index: int
    """Of the frame whose line that is."""
    named: Named


def lent(scene: Scene, facts: OperandFacts) -> Lent | None:
    """How a line that calls a module names one of its tensors, other than by way of a module."""
    same = is_same(facts)
    for frame in reversed(scene.modules):
        if any(same(tensor) for _, tensor in own_tensors(frame.module)):
            return next(_named(scene, frame.index, same), None)
    for frame in scene.modules[:1]:
        for found in _named(scene, frame.index, shares_memory(facts)):
            key = re.search(r'\["([^"\]]+)"\]$', found.named.text)
            if key is not None and key[1] in _names(frame.module):
                return found  # a transform has put a copy of it in a parameter's place
    return None


def _named(scene: Scene, before: int, test: Test) -> Iterator[Lent]:
    """The tensors of the user's lines around a call, the innermost line first."""
    for index in filter(scene.is_users, range(before - 1, -1, -1)):
        for named in scene.operands(index):
            if named.tensor is not None and test(named.tensor):
                yield Lent(index, named)


def _names(root: nn.Module) -> set[str]:
    """What the parameters and buffers of a module are called."""
    return {
        f"{path}.{name}" if path else name
        for path, module in modules_below(root)
        for name, _ in own_tensors(module)
    }


def wrongly_lent(scene: Scene, odd: OperandFacts, other: OperandFacts, given: Lent) -> Mistake:
    """The mistake of tensors that were given to a module in the wrong place."""
    index, text = given.index, given.named.text
    near = scene.named(other, index)
    met = "its input" if near is None else near.text
    target = device_text(scene, index, other.device, "", near)
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
        f"move it first: {moved(scene, text, target, index)}",
        "operands-on-other-devices",
        argument=text,
        devices=(odd.device, other.device),
        is_mismatch=True,
    )
