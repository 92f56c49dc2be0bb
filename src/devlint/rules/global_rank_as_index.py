"""DEV409: the number of a process among those of all machines chooses a device of its own."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import DeviceUse, Role, Sort
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule


@rule("global-rank-as-index", on=DeviceUse)
def global_rank_as_index(use: DeviceUse) -> Iterator[Report]:
    """Report the expression that names the device."""
    if use.context.role is Role.TEST:
        return
    asked = next((each for each in use.operand.steps if each.sort is Sort.GLOBAL_RANK), None)
    if asked is None:
        return
    yield Report(
        at=use.node,
        message=f"`{ir.render(asked.node)}` is the global rank: on every machine but the first, no "
        "GPU has this index",
        because=use.operand.trace,
        help='use the local rank: `int(os.environ["LOCAL_RANK"])`',
        root=asked.node,
    )
