"""What the words of a condition say of devices."""

from __future__ import annotations

from devlint.flow.domain.keys import (
    ACCELERATOR_CHOSEN,
    DEVICE_ASKED,
    HOST_CHOSEN,
    Settled,
    asks_for_host,
    chooses_host,
    is_about_devices,
)
from devlint.flow.domain.paths import identity
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.model import ir
from devlint.model.trees import called, words

_NO_ACCELERATOR = ("cpu", "mps", "", None, -1)
_LEAST_INDICES = (-1, 0, 1)
"""What an index of a device, or their number, is compared with: `gpu < 0`, `n_gpus < 1`."""
_EQUALITIES = ("==", "!=", "is", "is not", "in", "not in")


def by_name(frame: Frame, node: ir.Expr, holds: bool) -> Settled:
    """What the words of a condition say; worked out once for each."""
    return frame.file.once(_hint, (node, holds), frame)


def _hint(asked: tuple[ir.Expr, bool], frame: Frame) -> Settled:
    node, holds = asked
    if not any(map(is_about_devices, words(node))):
        return ()
    if isinstance(node, ir.Compare) and node.op in ("<", "<="):
        negative = is_one_of(frame, node.right, _LEAST_INDICES)
    elif isinstance(node, ir.Compare):
        among = isinstance(node.right, ir.Display)
        compared = node.right.items if isinstance(node.right, ir.Display) else (node.right,)
        of_none = any(is_one_of(frame, each, _NO_ACCELERATOR) for each in compared)
        if of_none and among and (node.op, holds) in (("in", True), ("not in", False)):
            return ()  # it is one of several, of which one is the host, or none
        negative = (node.op in ("==", "is", "in")) is of_none and node.op in _EQUALITIES
    else:
        negative = asks_for_host(identity(called(node)))
        if chooses_host(identity(node), holds):
            return (DEVICE_ASKED, holds), (HOST_CHOSEN, True)
    told = ((DEVICE_ASKED, holds),)
    return (*told, (ACCELERATOR_CHOSEN, True)) if holds is not negative else told


def is_one_of(frame: Frame, node: ir.Expr, values: tuple[object, ...]) -> bool:
    """Whether an expression is a constant of these, or the device that one of them names."""
    match node:
        case ir.Constant(value=value):
            return any(
                value is each or (type(value) is type(each) and value == each) for each in values
            )
        case ir.Unary(op="-", operand=ir.Constant(value=int(value))):
            return -value in values
        case ir.Call(func=func, args=(ir.Argument(value=ir.Constant(value=str(name))),)):
            return name in values and dotted(frame, func) == "torch.device"
    return False
