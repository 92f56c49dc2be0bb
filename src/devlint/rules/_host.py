"""What the rules about tensors that the host reads share."""

from __future__ import annotations

from devlint.flow.facts import HostRead, Kind, Known, Origin, Role, Symbol, may_be_accelerator
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, insert_after, insert_before
from devlint.model.trees import is_named
from devlint.rules._meetings import followed_by


def is_told(read: HostRead) -> bool:
    """Whether the source gives a reason to think of an accelerator."""
    receiver = read.receiver
    if not may_be_accelerator(receiver.device):
        return False
    if receiver.origin is Origin.INPUT and isinstance(receiver.device, Symbol):
        return False  # a helper may well be meant for CPU tensors only
    return read.context.role is not Role.DATA or isinstance(receiver.device, Known)


def missing(read: HostRead) -> str:
    """What has to stand before the read."""
    match read.receiver.node:
        case ir.Call(func=ir.Attribute(attr="detach")):
            return ".cpu()"
    return ".detach().cpu()" if read.grad else ".cpu()"


def remedy(read: HostRead) -> str:
    """What to do, in one line."""
    if not read.container:
        return f"copy it to the CPU first: `{followed_by(read.receiver, missing(read))}`"
    before, after = _each(read)
    return f"copy them to the CPU first: `{before}{read.receiver}{after}`"


def _each(read: HostRead) -> tuple[str, str]:
    calls = missing(read)
    if read.container is Kind.DICT:
        return f"{{name: each{calls} for name, each in ", ".items()}"
    return f"[each{calls} for each in ", "]"


def copied(read: HostRead) -> Change | None:
    """Copy the tensor to the CPU first: that is the tensor itself where it is there."""
    calls, node = missing(read), read.receiver.node
    if read.container and is_named(node):
        before, after = _each(read)
        rewrites = (insert_before(node, before), insert_after(node, after))
        message = f"Insert `{calls}` for each"
        return Change(message, rewrites, Safety.UNSAFE, help=remedy(read))
    if read.container or not isinstance(
        read.receiver.node, (ir.Name, ir.Attribute, ir.Subscript, ir.Call)
    ):
        return None
    return inserted(read)


def inserted(read: HostRead) -> Change:
    """Copy the tensor, right behind its expression."""
    calls = missing(read)
    rewrites = (insert_after(read.receiver.node, calls),)
    return Change(f"Insert `{calls}`", rewrites, Safety.SAFE, help=remedy(read))
