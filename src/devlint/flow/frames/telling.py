"""What a frame writes down: facts, with what stands around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE
from devlint.flow.facts import Context, Fact, Guard, Role
from devlint.flow.frames.callee_facts import at_call_site, hangs_on_finding
from devlint.flow.syntax.walk import first_parameter, first_row

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame


def context(frame: Frame, by: tuple[str, ...]) -> Context:
    """What stands around a fact, and the rows of policy by which it is one. Nothing that is found
    out hangs on it."""
    known, guard = frame.state.known, frame.guard
    if known.told(CUDA_AVAILABLE):
        guard = Guard.PROVEN
    elif known.told(ACCELERATOR_CHOSEN) and guard is Guard.NONE:
        guard = Guard.CHOSEN
    receiver = "" if frame.owner is None else first_parameter(frame.function)
    owner = frame.owner if frame.of_role is Role.MODULE else None
    stateless = owner is not None and owner.is_stateless()
    *_, running = frame.chain()
    method, name = running.owner and running.function, running.qualname
    row = first_row(method) if method else 0
    return Context(frame.qualname, frame.of_role, guard, receiver, stateless, by, name, row)


def record(frame: Frame, fact: Fact) -> None:
    """Write a fact down, unless nothing is told here; of a followed function, as one of the call
    that leads there."""
    if frame.world.trial is not None:
        if not frame.expecting:
            frame.world.trial.facts.append(fact)
        return
    if not frame.is_heard:
        if frame.recording:
            frame.withhold(fact, "expected-error")
        return
    told = fact if frame.file is frame.world.home else at_call_site(frame, fact)
    if told is not None and hangs_on_finding(told):
        frame.withhold(told, "condition-of-another-file")
    elif told is not None:
        frame.world.facts.append(told)
