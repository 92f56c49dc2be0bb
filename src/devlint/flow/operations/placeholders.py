"""Tensors without elements: what holds the place of one to come, and what is grown from nothing.

`self.mean = torch.empty(0)` is there to be replaced, so nothing is said of where it is. A local
`found = torch.tensor([])` to which results are joined, whether it is empty or not, has to be where
they are.
"""

from __future__ import annotations

from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.mixtures import Empty
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def placeholder(frame: Frame, made: Value) -> Value:
    """A tensor without elements, of which nothing is said until it is grown."""
    empty = Empty(made, frame.function, frame.arm)
    return Value(Kind.TENSOR, UNKNOWN, data=empty, scalar=False)


def asked(frame: Frame, node: ir.Name, value: Value) -> Value:
    """A name that a condition asks about: whoever looks whether it is empty may replace it."""
    if not isinstance(value.data, Empty):
        return value
    frame.state.bind(node.id, Value(Kind.TENSOR, UNKNOWN, scalar=False))
    return frame.state.env[node.id]


def grown(frame: Frame, arguments: list[Given]) -> list[Given]:
    """The operands of an operation; of a local tensor without elements it is known where it was
    made, unless an `if` since then may have found that it is empty."""
    if not any(isinstance(value.data, Empty) for _, value in arguments):
        return arguments
    return [(node, _made(frame, node, value)) for node, value in arguments]


def _made(frame: Frame, node: ir.Expr, value: Value) -> Value:
    empty = value.data
    if not isinstance(empty, Empty) or value.origin is not Origin.NONE:
        return value
    here = empty.function is frame.function and empty.arm is frame.arm
    named = isinstance(node, ir.Name) and frame.function is not None
    return empty.made if here and named else value
