"""DEV501: code that loader workers run uses an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Role, Symbol, WorkerUse
from devlint.model.findings import Level
from devlint.model.reports import Report
from devlint.rules import rule


@rule("accelerator-in-worker", on=WorkerUse)
def accelerator_in_worker(use: WorkerUse) -> Iterator[Report]:
    """Report what goes to an accelerator in a worker process."""
    if use.context.role is Role.TEST:
        return
    chosen = isinstance(use.device, Symbol)
    yield Report(
        at=use.node,
        message=f"{use.what} runs in worker processes of a loader, and uses {use.device}"
        + (", which may be an accelerator" if chosen else ""),
        because=(use.proof,),
        help="keep it on the host here and move the batch in the loop over the loader, or start "
        'the workers with `multiprocessing_context="spawn"`',
        level=Level.WARNING if chosen else None,
    )
