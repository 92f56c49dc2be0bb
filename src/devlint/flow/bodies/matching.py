"""`match`: a chain of conditions, as far as its cases are constants."""

from __future__ import annotations

from devlint.flow.conditions import narrow
from devlint.flow.conditions.settled import settled
from devlint.flow.domain.state import State
from devlint.flow.domain.state_joins import join_states
from devlint.flow.domain.values import NOTHING
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def _asked(node: ir.Match, case: ir.Case) -> ir.Expr | None:
    """The condition that a case of constants stands for."""
    if not case.values or not all(isinstance(each, ir.Constant) for each in case.values):
        return None
    if len(case.values) == 1:
        return ir.Compare("==", node.subject, case.values[0])
    return ir.Compare("in", node.subject, ir.Display("tuple", case.values))


def match(frame: Frame, node: ir.Match) -> None:
    frame.evaluate(node.subject)
    before = frame.state
    ends: list[State] = []
    complete = False
    for case in node.cases:
        asked = _asked(node, case)
        frame.state = before
        holds = None if asked is None else settled(frame, asked)
        if holds is False:
            continue
        frame.state = frame.fork(before)
        for name in case.binds:
            frame.state.bind(name, NOTHING)
        for value in case.values:
            frame.evaluate(value)
        if asked is not None:
            narrow.assume(frame, asked, True)
        if case.guard is not None:
            frame.evaluate(case.guard)
            narrow.assume(frame, case.guard, True)
        frame.run(case.body)
        ends.append(frame.state)
        if case.irrefutable or (holds and case.guard is None):
            complete = True
            break
        if asked is not None and case.guard is None:
            frame.state = frame.fork(before)
            narrow.assume(frame, asked, False)
            before = frame.state
    frame.state = ends[0] if complete and ends else before
    for end in ends:
        frame.state = join_states(frame.state, end)
