"""DEV501: code that loader workers run uses an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Role, Symbol, WorkerUse
from devlint.model import ir
from devlint.model.findings import Change, Level, Report, Safety, replace_tail
from devlint.rules import rule
from devlint.rules._moving import without
from devlint.rules._remedies import moved_by


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
        fix=_on_host(use.node),
        help="keep it on the host here and move the batch in the loop over the loader, or start "
        'the workers with `multiprocessing_context="spawn"`',
        level=Level.WARNING if chosen else None,
    )


def _on_host(call: ir.Call) -> Change | None:
    """Leave the move, or the device, out."""
    inner = moved_by(call)
    if inner is not None:
        return Change("Keep it on the host", (replace_tail(inner, call, ""),), Safety.UNSAFE)
    placed = next((each for each in call.args if each.keyword == "device"), None)
    rewrites = () if placed is None else without(call, placed)
    return Change("Make it on the host", rewrites, Safety.UNSAFE) if rewrites else None
