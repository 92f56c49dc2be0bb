"""What can be typed where things meet to say where one of them is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.values import TENSORS, Kind, Value
from devlint.flow.facts import Operand
from devlint.model import ir
from devlint.model.trees import children, is_named

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame


def with_near(frame: Frame, operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """Operands, each with the part of it by which its place can be said, of a list the first, and
    with a variable for its device."""
    return tuple(
        replace(each, near=_near(frame, each), said=device_in(frame, each.device))
        for each in operands
    )


def device_in(frame: Frame, device: Device) -> ir.Expr | None:
    """A variable of a function, or of its file, that holds a device."""
    if device in (UNKNOWN, CPU):
        return None
    for scope in (frame.state.env, *frame.scopes, frame.file.names):
        for name, value in scope.items():
            if value.kind is Kind.DEVICE and frame.state.simplify(value.device) == device:
                return ir.Name(name)
    return None


def _near(frame: Frame, operand: Operand) -> ir.Expr | None:
    if operand.device == UNKNOWN or is_named(operand.node) or frame.world.trial is not None:
        return None
    for node in _named(operand.node):
        value = quietly(frame, node)
        found = frame.object(value)
        if found is not None and value.kind in (Kind.LIST, Kind.TUPLE):
            value, node = found.elements(), ir.Subscript(node, ir.Constant(0))
        if value.kind in TENSORS and frame.place(value) == operand.device:
            return node
    return None


def quietly(frame: Frame, node: ir.Expr) -> Value:
    """The value of an expression, of which nothing is told once more."""
    before, frame.recording = frame.recording, False
    try:
        return frame.evaluate(node)
    finally:
        frame.recording = before


def _named(node: ir.Node) -> Iterator[ir.Expr]:
    """The parts of an expression that have a name, from the left; not what it binds itself."""
    if isinstance(node, (ir.Comprehension, ir.Lambda, ir.Walrus, ir.Unpacked)):
        return
    if isinstance(node, ir.Expr) and is_named(node):
        yield node
    for child in children(node):
        yield from _named(child)
