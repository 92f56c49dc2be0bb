"""DEV506: a training loop waits for the accelerator in each of its rounds."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import LoopRead
from devlint.model.reports import Hop, Report
from devlint.rules import rule


@rule("transfer-in-loop", on=LoopRead)
def transfer_in_loop(read: LoopRead) -> Iterator[Report]:
    """Report what brings a tensor to the host in every round."""
    how = f"{read.method}()" if read.method in ("print", "float", "int", "bool") else (
        f".{read.method}()"
    )  # fmt: skip
    yield Report(
        at=read.node,
        message=f"`{how}` waits for the accelerator in each step of the training loop",
        because=(*read.operand.trace, Hop(read.loop, "the loop begins here")),
        help="collect with `.detach()` and move it to the host after the loop, or every few steps",
    )
