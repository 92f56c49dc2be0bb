"""Which of the tensors that met is in the wrong place, and those that a line has lent a module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import nn

from devlint.runtime.explaining.definitions import shortened, shown_line
from devlint.runtime.explaining.lookup import Named, modules_below, own_tensors
from devlint.runtime.explaining.mistakes import Mistake, described, moved, origin
from devlint.runtime.explaining.ownership import Test
from devlint.runtime.explaining.scene import Scene, is_same, shares_memory
from devlint.runtime.explaining.targets import device_text
from devlint.runtime.operands import OperandFacts

Owner = tuple[nn.Module, str]
"""A module and the name of its parameter or buffer."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The operand that is in the wrong place, and one that it met."""

    odd: OperandFacts
    other: OperandFacts
    odd_owner: Owner | None
    other_owner: Owner | None


def choose_sides(scene: Scene, operands: Sequence[OperandFacts]) -> Sides | None:
    """Of operands in several places, the one that is taken to be wrong, and one that it met."""
    owners = [(facts, _owner(scene, facts, scene.owners.of_tensor)) for facts in operands]
    if not any(owner for _, owner in owners):  # there may be many parts: the last to be asked
        owners = [(facts, _owner(scene, facts, scene.owners.of_part)) for facts in operands]
    free = [pair for pair in owners if pair[1] is None]
    owned = [(facts, owner) for facts, owner in owners if owner is not None]
    for kept in sorted(owned, key=lambda pair: "weight" not in pair[1][1]):
        for loose in free:
            if loose[0].device != kept[0].device:
                is_behind = kept[0].device == "cpu"
                return _as_sides(kept, loose) if is_behind else _as_sides(loose, kept)
    for odd in sorted(owners, key=lambda pair: pair[0].device != "cpu"):
        for other in owners:
            if odd[0].device != other[0].device:
                # Of two accelerators the first operand's is taken to be the right one.
                return _as_sides(odd, other) if odd[0].device == "cpu" else _as_sides(other, odd)
    return None


def _as_sides(
    odd: tuple[OperandFacts, Owner | None], other: tuple[OperandFacts, Owner | None]
) -> Sides:
    return Sides(odd[0], other[0], odd[1], other[1])


def _owner(scene: Scene, facts: OperandFacts, of: Callable[[Test], Owner | None]) -> Owner | None:
    owner = of(is_same(facts)) or of(shares_memory(facts))
    return None if owner is None or lent(scene, facts) is not None else owner


# --- tensors that a line puts in the place of a module's own for one call


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
