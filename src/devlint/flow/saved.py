"""Files that the running function has written before: what it loads from them was saved on the
devices that it runs on."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import Frame
from devlint.flow.scan import descendants


def is_own(frame: Frame, node: ir.Call, name: str) -> bool:
    """Whether a call loads what the function has saved at the same path, on each way that leads to
    the call; a call that saves is remembered."""
    if name not in ("torch.save", "torch.load"):
        return False
    path = _path(node, int(name == "torch.save"))
    if not path:
        return False
    if name == "torch.save":
        frame.saved.setdefault(path, frame.arm)
        return False
    return path in frame.saved and frame.arm in (None, frame.saved[path])


def _path(node: ir.Call, position: int) -> str:
    """The expression that names the file; "" where two that are spelled alike may be two files: of
    an f-string only the shape is known."""
    named = (argument.value for argument in node.args if argument.keyword == "f")
    path = next(named, node.args[position].value if len(node.args) > position else None)
    if path is None or any(isinstance(part, ir.Text) for part in descendants(path)):
        return ""
    return ir.render(path, 200)
