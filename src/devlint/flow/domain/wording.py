"""A derivation in the words that users read."""

from __future__ import annotations

from devlint.flow.domain.derivation import SAYS_HOST, Sort, Step, shown, steps
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Guarded
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import device_argument, is_named


def hop(step: Step, value: str = "") -> Hop:
    """A step as users read it, of a value that the source calls so."""
    place = "the CPU" if step.device == CPU else step.device
    words = step.sort.wording.format(device=in_users_words(step), place=place, name=step.name)
    return Hop(step.node, words, step.sort.value, value, _device(step) if value else "")


def hops(last: Step | None, value: str = "") -> tuple[Hop, ...]:
    """The steps that users are shown, oldest first, of a value that the source calls so."""
    return tuple(hop(step, value) for step in steps(last) if step.sort.shown)


def in_users_words(step: Step) -> str:
    """Where a step puts something: a choice as the program calls it, `device`, and not all that may
    come out of it."""
    given = device_argument(step.node) if isinstance(step.device, Guarded) else None
    if given is not None and is_named(given):
        return f"`{ir.render(given)}`"
    return str(step.device)


def place_of(device: Device, last: Step | None) -> str:
    """A device in the words of the step that put something there, where that was the last."""
    told = shown(last)
    return in_users_words(told) if told is not None and told.device == device else str(device)


def _device(step: Step) -> str:
    """Where something is from a step on; "" where the step leaves it where it was."""
    if step.sort in SAYS_HOST:
        return str(CPU)
    if step.device == UNKNOWN and step.sort is not Sort.MOVE_UNKNOWN:
        return ""
    return str(step.device)
