"""Parts of expressions that have a name: where a tensor is can be said by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.values import TENSORS, Kind
from devlint.flow.facts import Operand
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import children, is_named


def with_near(frame: Frame, operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """Operands, each with the part of it by which its place can be said: of a list the first."""
    return tuple(replace(each, near=_near(frame, each)) for each in operands)


def _near(frame: Frame, operand: Operand) -> ir.Expr | None:
    if operand.device == UNKNOWN or is_named(operand.node) or frame.world.trial is not None:
        return None
    before, frame.recording = frame.recording, False
    try:
        for node in _named(operand.node):
            value = frame.evaluate(node)
            found = frame.object(value)
            if found is not None and value.kind in (Kind.LIST, Kind.TUPLE):
                value, node = found.elements(), ir.Subscript(node, ir.Constant(0))
            if value.kind in TENSORS and frame.place(value) == operand.device:
                return node
    finally:
        frame.recording = before
    return None


def _named(node: ir.Node) -> Iterator[ir.Expr]:
    """The parts of an expression that have a name, from the left; not what it binds itself."""
    if isinstance(node, (ir.Comprehension, ir.Lambda, ir.Walrus, ir.Unpacked)):
        return
    if isinstance(node, ir.Expr) and is_named(node):
        yield node
    for child in children(node):
        yield from _named(child)
