"""A derivation in the words that users read."""

from __future__ import annotations

from devlint.flow.domain.derivation import ON_HOST, Sort, Step, steps
from devlint.flow.domain.lattice import CPU, UNKNOWN
from devlint.model.reports import Hop


def hop(step: Step, value: str = "") -> Hop:
    """A step as users read it, of a value that the source calls so."""
    place = "the CPU" if step.device == CPU else step.device
    words = step.sort.wording.format(device=step.device, place=place, name=step.name)
    return Hop(step.node, words, step.sort.value, value, _device(step) if value else "")


def hops(last: Step | None, value: str = "") -> tuple[Hop, ...]:
    """The steps that users are shown, oldest first, of a value that the source calls so."""
    return tuple(hop(step, value) for step in steps(last) if step.sort.shown)


def _device(step: Step) -> str:
    """Where something is from a step on; "" where the step leaves it where it was."""
    if step.sort in ON_HOST:
        return str(CPU)
    if step.device == UNKNOWN and step.sort is not Sort.MOVE_UNKNOWN:
        return ""
    return str(step.device)
