"""Comparisons of the places of two tensors: where they are equal, one is where the other is."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import Frame
from devlint.flow.lattice import UNKNOWN, Known
from devlint.flow.values import Kind, Origin, Value


def narrow(frame: Frame, left: ir.Expr, right: ir.Expr) -> None:
    """Enter a branch in which `a.device` and `b.device` are equal."""
    one, other = _owner(left), _owner(right)
    if one is None or other is None:
        return
    before, frame.expecting = frame.expecting, True
    first, second = frame.evaluate(one), frame.evaluate(other)
    frame.expecting = before
    if first.kind is not Kind.TENSOR or second.kind is not Kind.TENSOR:
        return
    if isinstance(frame.place(second), Known) or frame.place(second) == UNKNOWN:
        _put(frame, other, second, first)
    else:
        _put(frame, one, first, second)


def _owner(node: ir.Expr) -> ir.Expr | None:
    """`x` of `x.device`, `x.device.type` and `x.is_cuda`, where it is a name or an attribute."""
    if not isinstance(node, ir.Attribute):
        return None
    if node.attr == "type" and isinstance(node.value, ir.Attribute):
        node = node.value
    named = isinstance(node.value, (ir.Name, ir.Attribute))
    return node.value if named and node.attr in ("device", "is_cuda") else None


def _put(frame: Frame, node: ir.Expr, value: Value, partner: Value) -> None:
    """`value`, which stands at `node`, is where its partner is."""
    placed = value.but(
        device=frame.place(partner), origin=Origin.MOVED, data=None, trace=partner.trace
    )
    if isinstance(node, ir.Name):
        frame.state.env[node.id] = placed
    else:
        frame.state.paths[ir.render(node, 80)] = placed
