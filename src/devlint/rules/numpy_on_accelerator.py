"""DEV205: a tensor on an accelerator is asked for `.numpy()`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint import ir
from devlint.findings import Change, Report, Safety, insert_after
from devlint.flow.facts import HostRead, Known, Origin, Role, Symbol, may_be_accelerator
from devlint.rules import rule
from devlint.rules._meetings import followed_by, place


@rule("numpy-on-accelerator", on=HostRead)
def numpy_on_accelerator(read: HostRead) -> Iterator[Report]:
    """Report `.numpy()` where the source gives a reason to think of an accelerator."""
    receiver = read.receiver
    if read.method != "numpy" or not may_be_accelerator(receiver.device):
        return
    if any(argument.keyword == "force" for argument in read.node.args):
        return  # `.numpy(force=True)` copies by itself
    if receiver.origin is Origin.INPUT and isinstance(receiver.device, Symbol):
        return  # a helper may well be meant for CPU tensors only
    if read.context.role is Role.DATA and not isinstance(receiver.device, Known):
        return
    calls = _missing(read)
    yield Report(
        at=read.node,
        message=f"`{receiver}` is {place(receiver.device)} but `.numpy()` needs it on cpu",
        because=receiver.trace,
        fix=Change(f"Insert `{calls}`", (insert_after(receiver.node, calls),), Safety.SAFE),
        help=f"copy it to the host first: `{followed_by(receiver, f'{calls}.numpy()')}`",
    )


def _missing(read: HostRead) -> str:
    """What has to stand before `.numpy()`."""
    match read.receiver.node:
        case ir.Call(func=ir.Attribute(attr="detach")):
            return ".cpu()"
    return ".detach().cpu()" if read.grad else ".cpu()"
