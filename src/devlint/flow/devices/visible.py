"""Defaults that ask CUDA while a file is imported, before it says which devices are visible."""

from __future__ import annotations

from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import last_name

_ASKS = frozenset(("torch.cuda.is_available", "torch.cuda.device_count"))
_VARIABLE = "CUDA_VISIBLE_DEVICES"


def set_later(frame: Frame, name: str) -> ir.Assign | None:
    """Where a function of the file sets the variable that CUDA reads once, when it is first asked;
    None where nothing is asked, or no function sets it."""
    if name not in _ASKS:
        return None
    functions = (s for s in frame.file.body if isinstance(s, ir.Function))
    nodes = (node for function in functions for node in nodes_of(function.body))
    return next((n for n in nodes if isinstance(n, ir.Assign) and _sets(n)), None)


def _sets(statement: ir.Assign) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = ...`."""
    match statement.targets:
        case (ir.Subscript(value=base, index=ir.Constant(value=key)),):
            return key == _VARIABLE and last_name(base) == "environ"
    return False
