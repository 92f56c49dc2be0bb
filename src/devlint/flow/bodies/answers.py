"""What a call answers that was asked before: the same, by way of its own arguments."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from devlint.flow.domain.derivation import Step
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import Answer

Traces = tuple[Step | None, ...]


def told_again(answer: Answer, given: Traces) -> Value:
    """The answer to a question that was asked of other arguments, for these."""
    trace = _rebased(answer.value.trace, answer.given, given)
    return answer.value if trace is answer.value.trace else answer.value.but(trace=trace)


def _rebased(trace: Step | None, before: Traces, now: Traces) -> Step | None:
    if trace is None:
        return None
    for old, new in zip(before, now, strict=True):
        if trace is old:
            return new
    rest = _rebased(trace.before, before, now)
    return trace if rest is trace.before else replace(trace, before=rest)


def question(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> Hashable:
    """What the answer of a call hangs on besides its receiver; None where that is too much: an
    object among the arguments that holds more than constants. Asked again, it has the same answer,
    and the same facts."""
    given: list[Hashable] = []
    for value in (*positional[1:], *keywords.values()):
        told = _told(frame, value)
        if told is None:
            return None
        given.append(told)
    first = positional[0] if positional else None
    known = frozenset(frame.known_in(closure.file).items())
    names = tuple(keywords)
    context = (frame.recording, frame.expecting, frame.role, known, frame.state.default)
    return (closure.node, closure.file, first, tuple(given), names, context)


def _told(frame: Frame, value: Value) -> Hashable:
    """What an argument tells; None where that may change. Lists of constants are told apart by
    what they hold, wherever they were made."""
    found = frame.object(value)
    if found is None:
        return value
    if value.kind not in (Kind.LIST, Kind.TUPLE) or found.items is None or found.entries:
        return None
    if any(item.kind not in _CONSTANTS for item in found.items) or found.element is not NOTHING:
        return None
    return (value.kind, value.trait, found.items)


_CONSTANTS = (Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.NONE)
