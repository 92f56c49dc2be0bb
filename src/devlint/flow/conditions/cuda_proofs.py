"""What a condition proves of CUDA by itself: how many devices there are, what is on one of them."""

from __future__ import annotations

from devlint.flow.devices.named import DEVICES_COUNTED
from devlint.flow.domain.keys import CUDA_AVAILABLE, Literal, Settled, is_about_devices
from devlint.flow.domain.traits import Trait
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.model import ir
from devlint.model.trees import words

ON_CUDA_ALONE = frozenset(("nccl", "rccl"))
"""Backends of process groups that raise where there is no GPU."""
_OPPOSITE = {">": "<=", ">=": "<", "==": "!=", "!=": "==", "<": ">=", "<=": ">"}


def of_count(node: ir.Compare, holds: bool) -> Settled:
    """What is settled where the number of devices compares like that with another: there is one,
    which was counted, or none. A number that isn't spelled out is taken to be of devices."""
    op = node.op if holds else _OPPOSITE.get(node.op, "")
    number = node.right.value if isinstance(node.right, ir.Constant) else None
    least = number if isinstance(number, int) else 1
    some = {">": least >= 0, ">=": least >= 1, "==": least >= 1, "!=": least == 0}
    none = {"<": least <= 1, "<=": least <= 0, "==": least == 0}
    if some.get(op):
        told = counted(ir.Compare(op, node.left, node.right))
        return told or (f"{DEVICES_COUNTED} {op} a number", True), (CUDA_AVAILABLE, True)
    return ((CUDA_AVAILABLE, False),) if number is not None and none.get(op) else ()


def proves_cuda(frame: Frame, node: ir.Expr, holds: bool) -> bool:
    """`x.is_cuda`, `device.type == "cuda"`, `get_backend() == "nccl"` and the like where they hold,
    `device.type != "cuda"` where it doesn't."""
    match node:
        case ir.Compare(op="==" | "in" | "!=" as op, left=left, right=ir.Constant(value=str(text))):
            named = text.startswith("cuda") and any(map(is_about_devices, words(left)))
            return (op != "!=") is holds and (named or text in ON_CUDA_ALONE)
        case ir.Attribute(attr="is_cuda"):
            return holds
        case ir.Name() if counts_devices(frame, node):
            return holds
        case ir.Call(func=func):
            asked = dotted(frame, func).endswith("is_cuda_available")
            return holds and (asked or counts_devices(frame, node))
    return False


def counts_devices(frame: Frame, node: ir.Expr) -> bool:
    """`torch.cuda.device_count()`, or a name for what it gave."""
    if isinstance(node, ir.Name):
        value = frame.look_up(node.id)
        return value is not None and value.trait is Trait.DEVICE_COUNT
    return isinstance(node, ir.Call) and dotted(frame, node.func) == "torch.cuda.device_count"


def counted(node: ir.Compare) -> Literal | None:
    """The key of a condition on the number of devices, by whatever name, and whether it is asked
    for or its opposite: `n > 1` is `n >= 2`, and not `n <= 1`; `n != 0` is `n > 0`."""
    match node:
        case ir.Compare(op="==" | "!=" as op, right=ir.Constant(value=0)):
            return f"{DEVICES_COUNTED} > 0", op == "!="
        case ir.Compare(op=op, right=ir.Constant(value=int() as number)) if op in _COUNTED:
            sign, more, holds = _COUNTED[op]
            return f"{DEVICES_COUNTED} {sign} {number + more}", holds
    return None


_COUNTED = {
    ">": (">", 0, True), ">=": (">", -1, True), "<=": (">", 0, False), "<": (">", -1, False),
    "==": ("==", 0, True), "!=": ("==", 0, False),
}  # fmt: skip
