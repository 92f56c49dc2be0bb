"""Which calls are followed: all but those that lead back to what is running."""

from __future__ import annotations

from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.model import ir

_MOST_RECURSIVE = 2
"""Of functions that call each other, no more are followed from one to the next."""
_MOST_NESTED = 3
"""So many lists in lists are followed by a function that calls itself with their parts."""


def can_be_followed(frame: Frame, closure: Closure, positional: list[Value]) -> bool:
    """Whether the body of a function runs for a call of it."""
    around = [each for each in frame.chain() if each.function is closure.node]
    recursive = frame.world.recursive
    if around and not _goes_on_into_parts(around, closure, positional):
        for each in frame.chain():  # they call each other
            assert each.function is not None
            recursive.add(each.function)
            if each is around[-1]:
                break
            each.is_cut = True
        return False
    if not around and closure.node in recursive and frame.nested() >= _MOST_RECURSIVE:
        return False
    return isinstance(closure.node, ir.Lambda) or not closure.node.is_async


def _goes_on_into_parts(around: list[Frame], closure: Closure, positional: list[Value]) -> bool:
    inside = all(_goes_into_parts(each, closure, positional) for each in around)
    return inside and len(around) < _MOST_NESTED


def _goes_into_parts(around: Frame, closure: Closure, positional: list[Value]) -> bool:
    """Whether a function that was given a list or a dict calls itself with a tensor, as one that
    moves a whole batch does, or with another list: there it ends."""
    given = around.state.env.get(closure.node.params[0].name) if positional else None
    if given is None or not given.kind.is_container:
        return False
    part = positional[0]
    return part.kind is Kind.TENSOR or (part.kind.is_container and part.data != given.data)
