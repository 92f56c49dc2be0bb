"""DEV503: a copy to the host is read before it has arrived."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import EarlyRead
from devlint.model.findings import Safety
from devlint.model.reports import Change, Hop, Report
from devlint.rules import rule
from devlint.rules._moving import without


@rule("unsynchronized-read", on=EarlyRead)
def unsynchronized_read(read: EarlyRead) -> Iterator[Report]:
    """Report what reads a copy that nothing has waited for."""
    what = "it" if read.operand.node is read.call else f"`{read.operand}`"
    yield Report(
        at=read.node,
        message=f"{what} is read before its copy to the host has arrived: "
        "`non_blocking=True` only starts it",
        because=(Hop(read.call, "the copy starts here, and nothing waits for it"),),
        fix=Change("Remove `non_blocking=True`", without(read.call, read.argument), Safety.SAFE),
        help="leave `non_blocking=True` out, or wait with `synchronize()` before reading",
    )
