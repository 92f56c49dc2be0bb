"""What a function gives that calls itself, by a fixpoint: at first the calls that lead back don't
come back, so it gives what the others do; then these give that, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from devlint.flow.domain.keys import of_callee, roots
from devlint.flow.domain.lattice import symbols
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame

_ROUNDS = 4
"""Runs in which it has to settle; else nothing is known of what such a call gives."""
_NO_RETURN = NONE.but(trait=Trait.EXITS)
_TELL_NOTHING = (Kind.NUMBER, Kind.UNKNOWN)
"""What a function is given that decides nothing of places, but by its identity."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What calls of a running function give that lead back to it, if they bring what it was given:
    its parameters by name."""

    value: Value
    given: dict[str, Value]


def run(frame: Frame, body: Callable[[Frame], Value]) -> Value:
    """Run a frame's function by `body`, whatever it gives to itself."""
    function = frame.function
    assert function is not None
    scan = frame.file.scan(function)
    if function.name not in scan.called and function.name not in scan.self_calls:
        return body(frame)
    assumed, start = frame.world.answers.assumed, frame.state
    before, given = assumed.get(function), dict(start.env)
    value, found = _NO_RETURN, NOTHING
    for _ in range(_ROUNDS):
        assumed[function] = Assumed(value, given)
        frame.state = frame.fork(start)
        with frame.silently():
            found = _by_itself(frame, body(frame))
        for noted in (frame.returns, frame.yielded, frame.saved, frame.dropped_devices):
            noted.clear()
        if found == value:
            break
        value = found
    settled = found == value and value.kind in TENSORS
    assumed[function] = Assumed(value if settled else NOTHING, given)
    frame.state = start
    result = body(frame)
    if before is None:
        del assumed[function]
    else:
        assumed[function] = before
    return result


def given_back(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    """What a call gives that isn't followed, since it leads back to the function that runs."""
    assumed: Assumed | None = frame.world.answers.assumed.get(closure.node)
    if assumed is None or closure.node.is_async:
        return NOTHING
    names = (each.name for each in closure.node.params)
    brought = {**dict(zip(names, positional, strict=False)), **keywords}
    named = {each.key.partition(".")[0] for each in symbols(assumed.value.device)}
    for parameter in closure.node.params:
        own, other = assumed.given.get(parameter.name), brought.get(parameter.name)
        if own is not None and not _is_alike(own, other, parameter.name in named):
            return NOTHING
    return assumed.value


def _is_alike(own: Value, other: Value | None, is_named: bool) -> bool:
    """Whether a parameter of the running function and that of a call tell the same of places."""
    if own.kind in _TELL_NOTHING and not is_named:
        return other is None or other.kind in (*_TELL_NOTHING, own.kind)
    if other is None or (own.kind, own.device) != (other.kind, other.device):
        return False
    return own.kind in TENSORS or own.data == other.data


def _by_itself(frame: Frame, value: Value) -> Value:
    """What is known of a result without the objects and the names of the call that gave it."""
    if value.kind not in TENSORS:
        return value if value.trait is Trait.EXITS else NOTHING
    names = frame.own_names()

    def apart(key: str) -> str:
        return key if names.isdisjoint(roots(key)) else of_callee(key, frame.qualname)

    return value.rekeyed(apart).but(data=None, trait=None)
