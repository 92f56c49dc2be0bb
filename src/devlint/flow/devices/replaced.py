"""Attributes that a file sets from outside: of all tensors, where a test emulates an
accelerator, and of objects that it uses."""

from __future__ import annotations

from devlint.flow.frames.files import File
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import last_name


def is_replaced(file: File, attr: str) -> bool:
    """Whether a file patches an attribute of all tensors: `patch("torch.Tensor.device", ...)`,
    `monkeypatch.setattr(torch.Tensor, "device", ...)`. Then it may be assigned."""
    if file.replaced is None:
        calls = (node for node in nodes_of(file.body) if isinstance(node, ir.Call))
        file.replaced = frozenset(map(_replaced, calls))
    return attr in file.replaced


def gives(file: File, attr: str) -> bool:
    """Whether a file stores an attribute in an object from outside: `self.draft.device = device`,
    `model.device = device`; not what the methods of a class store in their own."""
    return any(
        isinstance(target, ir.Attribute)
        and target.attr == attr
        and not (isinstance(target.value, ir.Name) and target.value.id == "self")
        for node in nodes_of(file.body)
        if isinstance(node, ir.Assign)
        for target in node.targets
    )


def _replaced(call: ir.Call) -> str:
    """The attribute of all tensors that a call replaces, else ""."""
    match [argument.value for argument in call.args[:2]]:
        case [ir.Constant(value=str(name)), *_]:
            owner, _, attr = name.rpartition(".")
            return attr if owner.endswith("Tensor") else ""
        case [ir.Name() | ir.Attribute() as owner, ir.Constant(value=str(attr))]:
            return attr if last_name(owner).endswith("Tensor") else ""
    return ""
