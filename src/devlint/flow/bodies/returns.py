"""What a run of a function gives: all that it returns, with the state that it leaves; of a
generator function, something whose elements are what it yields."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from devlint.flow.domain.keys import HINTS, parts_of
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import End, join_ends
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames import protocols
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.operations.containers import lazily
from devlint.model import ir
from devlint.model.trees import called


def together(ends: list[End], settled: frozenset[str] = HINTS) -> End:
    """What several `return`s or `yield`s give, each of which is reached under its own conditions.

    `if cuda: return a`, then `return b`, is a choice between two as much as `a if cuda else b`: a
    condition that holds at some of them and doesn't at all the others tells them apart, or one of
    which all parts hold: a choice by one after the other. `settled` are those that tell none apart.
    """
    if len(ends) == 1:
        return ends[0]
    for key in dict.fromkeys(key for _, state in ends for key in state.known.names()):
        if key in settled:
            continue
        parts = parts_of(key) or ((key, True),)
        holding = [end for end in ends if all(end[1].known.told(each) is so for each, so in parts)]
        others = [end for end in ends if end[1].known.told(key) is False]
        if holding and others and len(holding) + len(others) == len(ends):
            within = settled | {key}
            joined, rest = together(holding, within), together(others, within)
            for part, holds in reversed(parts):
                joined = join_ends(*((joined, rest) if holds else (rest, joined)), part)
            return joined
    for test in reversed(ends[0][1].parted):
        holding = [end for end in ends if end[1].parted.get(test)]
        others = [end for end in ends if end[1].parted.get(test) is False]
        if holding and others and len(holding) + len(others) == len(ends):
            return join_ends(together(holding, settled), together(others, settled), test=test)
    return reduce(join_ends, ends)


def is_generator(closure: Closure) -> bool:
    """Whether a call of a function runs nothing of it yet."""
    return closure.file.scan(closure.node).yields


def elements(frame: Frame, node: ir.Expr, inner: Frame) -> Value:
    """What a call of a generator function gives, after a run of its body. What the body does to
    objects is done between the steps of whoever iterates: only what it makes itself is kept."""
    element, state = together(inner.yielded or [(NOTHING, inner.state)])
    for ref in state.heap.written:
        if ref not in frame.state.heap:
            frame.state.heap[ref] = state.heap[ref]
    assert inner.function is not None
    names = [dotted(inner, called(each)) for each in inner.function.decorators]
    made = Object(element=element)
    if names == [MANAGER]:
        manager = replace(made, source=MANAGER)
        return Value(Kind.INSTANCE, data=frame.allocate(node, manager))
    if not all(name.startswith("torch.") for name in names):
        return NOTHING  # a fixture ...
    return lazily(frame, node, made)


def entered(frame: Frame, node: ir.Expr, manager: Value) -> Value:
    """What `with` gives for an object: what its `__enter__` returns, or its function yields."""
    found = frame.object(manager)
    if found is not None and found.source == MANAGER:
        return found.element
    return protocols.answer(frame, node, manager, "__enter__")


MANAGER = "contextlib.contextmanager"
