"""Generator functions: a call gives something whose elements are what the body yields."""

from __future__ import annotations

from devlint.flow.domain.state import Object
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NOTHING, Value
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.operations import unpacking
from devlint.flow.operations.containers import lazily
from devlint.model import ir
from devlint.model.trees import called


def is_generator(closure: Closure) -> bool:
    """Whether a call of a function runs nothing of it yet."""
    return isinstance(closure.node, ir.Function) and closure.file.scan(closure.node).yields


def note_yielded(frame: Frame, node: ir.Yield, value: Value) -> None:
    """Remember what a function gives to whoever iterates."""
    frame.yielded.append(unpacking.element_of(frame, value) if node.delegate else value)


def elements(frame: Frame, node: ir.Expr, inner: Frame) -> Value:
    """What a call of a generator function gives, after a run of its body. What the body does to
    objects is done between the steps of whoever iterates: only what it makes itself is kept."""
    for ref in inner.state.heap.written:
        if ref not in frame.state.heap:
            frame.state.heap[ref] = inner.state.heap[ref]
    decorators = inner.function.decorators if isinstance(inner.function, ir.Function) else ()
    if not all(dotted(inner, called(each)).startswith("torch.") for each in decorators):
        return NOTHING  # a context manager, a fixture ...
    made = Object(element=join_all(inner.yielded))
    return lazily(frame, node, made)
