"""DEV205: a tensor on an accelerator is asked for `.numpy()`."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import HostRead
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._host import inserted, is_told, missing
from devlint.rules._meetings import confidence, followed_by, place


@rule("numpy-on-accelerator", on=HostRead)
def numpy_on_accelerator(read: HostRead) -> Iterator[Report]:
    """Report `.numpy()` where the source gives a reason to think of an accelerator."""
    receiver = read.receiver
    if read.method != "numpy" or not isinstance(read.node, ir.Call) or not is_told(read):
        return
    if any(argument.keyword == "force" for argument in read.node.args):
        return  # `.numpy(force=True)` copies by itself
    calls = missing(read)
    yield Report(
        at=read.node,
        message=f"`{receiver}` is {place(receiver)} but `.numpy()` needs it on cpu",
        because=receiver.trace,
        fix=inserted(read),
        help=f"copy it to the CPU first: `{followed_by(receiver, f'{calls}.numpy()')}`",
        confidence=confidence(receiver.device),
    )
