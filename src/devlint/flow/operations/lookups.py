"""Indices that are kept on the host, whatever else comes in: what the code around tells of them."""

from __future__ import annotations

from devlint.flow.domain.lattice import is_place_of_argument, only_host
from devlint.flow.domain.values import Origin
from devlint.flow.facts import Operand, Role
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir
from devlint.model.trees import key


def may_index(frame: Frame, base: Operand, index: Operand) -> bool:
    """Whether an argument is an index of the host for all that the function tells."""
    return _indexes_on(frame, base, index) or _keeps_on_host(frame, base, index)


def _indexes_on(frame: Frame, base: Operand, index: Operand) -> bool:
    """Whether an argument picks from what the function uses as an index itself: indices are kept
    on the host, since those of the host index whatever is anywhere."""
    if index.origin is not Origin.INPUT or not is_place_of_argument(index.device):
        return False
    name = key(base.node)
    around = [each.function for each in frame.chain() if each.is_alone]
    return any(
        key(part) == name
        for function in around
        if function is not None
        for node in descendants(function)
        if isinstance(node, ir.Subscript)
        for part in (node.index.items if isinstance(node.index, ir.Display) else (node.index,))
    )


def _keeps_on_host(frame: Frame, base: Operand, index: Operand) -> bool:
    """Whether an argument of a plain object's method indexes what the object put on the host by
    name (`device="cpu"`): such a table is looked up with indices of the host, and no module moves
    its callers' tensors."""
    info, function = frame.owner, frame.function
    if info is None or info.role is not Role.PLAIN or function is None:
        return False
    kept = bool(self_attribute(base.node, first_parameter(function)))
    named = base.origin is Origin.MOVED and only_host(base.device)
    return kept and named and index.origin is Origin.INPUT
