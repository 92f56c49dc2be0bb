"""A derivation in the words that users read."""

from __future__ import annotations

from devlint.flow.domain.derivation import Step, steps
from devlint.flow.domain.lattice import CPU
from devlint.model.findings import Hop


def hop(step: Step) -> Hop:
    """A step as users read it."""
    place = "the CPU" if step.device == CPU else step.device
    words = step.sort.wording.format(device=step.device, place=place, name=step.name)
    return Hop(step.node, words, step.sort.value)


def hops(last: Step | None) -> tuple[Hop, ...]:
    """The steps that users are shown, oldest first."""
    return tuple(hop(step) for step in steps(last) if step.sort.shown)
