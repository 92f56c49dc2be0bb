"""Attributes of tensors that a file replaces: a test that pretends to have an accelerator."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frames.files import File
from devlint.flow.syntax.walk import descendants


def is_replaced(file: File, attr: str) -> bool:
    """Whether a file patches an attribute of all tensors: `patch("torch.Tensor.device", ...)`,
    `monkeypatch.setattr(torch.Tensor, "device", ...)`. Then it may be assigned."""
    if file.replaced is None:
        nodes = (node for statement in file.body for node in descendants(statement))
        file.replaced = frozenset(_replaced(node) for node in nodes if isinstance(node, ir.Call))
    return attr in file.replaced


def _replaced(call: ir.Call) -> str:
    """The attribute of all tensors that a call replaces, else ""."""
    match [argument.value for argument in call.args[:2]]:
        case [ir.Constant(value=str(name)), *_]:
            owner, _, attr = name.rpartition(".")
            return attr if owner.endswith("Tensor") else ""
        case [ir.Name() | ir.Attribute() as owner, ir.Constant(value=str(attr))]:
            return attr if ir.render(owner).endswith("Tensor") else ""
    return ""
