"""What `isinstance` gives for a tensor that is known to be one."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import Frame
from devlint.flow.library import dotted
from devlint.flow.values import Kind, Origin

PROVED = (Origin.DEFAULT, Origin.HOST_DATA, Origin.MOVED)
"""It was made here, or moved: what comes in may be other than it is said to be."""
_OTHERS = frozenset(
    ("builtins.list", "builtins.tuple", "builtins.dict", "builtins.set", "builtins.str",
     "builtins.int", "builtins.float", "builtins.bool", "numpy.ndarray")
)  # fmt: skip


def is_instance(frame: Frame, node: ir.Expr) -> bool | None:
    """Whether a tensor is of a type, where `node` asks that of one and the answer is known."""
    match node:
        case ir.Call(func=ir.Name(id="isinstance"), args=(subject, types)):
            if not isinstance(subject.value, ir.Name):
                return None
            value = frame.look_up(subject.value.id)
            if value is None or value.kind is not Kind.TENSOR or value.origin not in PROVED:
                return None
            given = types.value
            members = given.items if isinstance(given, ir.Display) else (given,)
            names = {dotted(frame, member) for member in members}
            return True if "torch.Tensor" in names else False if names <= _OTHERS else None
    return None
