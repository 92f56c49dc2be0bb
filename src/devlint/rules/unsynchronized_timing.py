"""DEV505: a duration is measured while the accelerator is still at work."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import EarlyClock
from devlint.model.reports import Hop, Report
from devlint.rules import rule


@rule("unsynchronized-timing", on=EarlyClock)
def unsynchronized_timing(early: EarlyClock) -> Iterator[Report]:
    """Report a duration that ends before the work does."""
    yield Report(
        at=early.node,
        message="measures how long it takes to queue the work, not to do it: nothing waits for "
        "the accelerator before the clock is read",
        because=(
            Hop(early.work, "work for the accelerator is queued here"),
            Hop(early.clock, "the clock is read here"),
        ),
        help="call `torch.accelerator.synchronize()` (or `torch.cuda.synchronize()`) before each "
        "reading of the clock, or measure with events",
    )
