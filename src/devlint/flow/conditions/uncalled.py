"""Questions that are named and not called: a function is true, whatever it would have answered."""

from __future__ import annotations

from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import UncalledQuestion
from devlint.flow.frames.frame import Frame
from devlint.model import ir

_QUESTIONS = ("is_available", "is_built", "is_initialized", "is_bf16_supported")


def note(frame: Frame, node: ir.Expr, value: Value) -> None:
    """Note a test that is such a function (`if torch.cuda.is_available:`)."""
    if value.kind is not Kind.LIBRARY or not frame.tells or isinstance(node, ir.Boolean):
        return  # of `a and b`, its terms have been looked at
    name = str(value.data)
    if name.startswith("torch.") and name.rpartition(".")[2] in _QUESTIONS:
        frame.record(UncalledQuestion(node, frame.context()))
