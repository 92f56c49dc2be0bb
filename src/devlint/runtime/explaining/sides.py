"""Which of the tensors that met is in the wrong place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from devlint.runtime.explaining.lent import lent
from devlint.runtime.explaining.ownership import Test
from devlint.runtime.explaining.scene import Scene, is_same, shares_memory
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
