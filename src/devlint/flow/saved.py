"""Files that the running function has written before: what it loads from them was saved on the
devices that it runs on."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import Frame


def is_own(frame: Frame, node: ir.Call, name: str) -> bool:
    """Whether a call loads what the function has saved at the same path, on each way that leads to
    the call; a call that saves is remembered."""
    if name not in ("torch.save", "torch.load"):
        return False
    path = _path(node, int(name == "torch.save"))
    if name == "torch.save":
        frame.saved.setdefault(path, frame.arm)
        return False
    return path in frame.saved and frame.arm in (None, frame.saved[path])


def _path(node: ir.Call, position: int) -> str:
    """The expression that names the file."""
    for argument in node.args:
        if argument.keyword == "f":
            return ir.render(argument.value, 200)
    return ir.render(node.args[position].value, 200) if len(node.args) > position else ""
