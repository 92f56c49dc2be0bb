"""DEV210: a tensor on the CPU is given to processes that exchange tensors of accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Collective, Role
from devlint.model import ir
from devlint.model.findings import Level
from devlint.model.reports import Hop, Report
from devlint.rules import rule
from devlint.rules._meetings import distinct, fresh

_OF_ONE_TENSOR = ("all_reduce", "broadcast", "reduce")


@rule("cpu-tensor-in-collective", on=Collective)
def cpu_tensor_in_collective(call: Collective) -> Iterator[Report]:
    """Report the tensor that the backend refuses: where it is made, if nobody has moved it since.
    That is what to fix, however many collectives it goes through."""
    if call.context.role in (Role.TEST, Role.DATA):
        return
    made = _creation(call)
    at = made or call.tensor.node
    here = " here" if made is not None and made is not call.tensor.node else ""
    op = call.op.rpartition(".")[2]
    given: tuple[Hop, ...] = (Hop(call.node, f"given to `{op}` here"),) if here else ()
    backend = "runs on a backend that takes accelerator tensors only"
    if call.asked is not None:
        backend = "may run on NCCL, which takes accelerator tensors only"
        given += (Hop(call.asked, "NCCL is asked for here"),)
    yield Report(
        at=at,
        message=f"`{call.tensor}` is {'made ' if here else ''}on cpu{here}, but `{op}` {backend}",
        because=distinct((*call.tensor.trace, *given)),
        help="make it on the accelerator of this process, or move it there first",
        level=None if call.asked is None else Level.WARNING,
    )


def _creation(call: Collective) -> ir.Expr | None:
    """The call that made a tensor which a name stands for; None for what may be a list of them."""
    if not fresh(call.tensor) or not isinstance(call.tensor.node, ir.Name):
        return None
    if call.op.rpartition(".")[2] not in _OF_ONE_TENSOR:
        return None
    return next((hop.node for hop in call.tensor.trace if isinstance(hop.node, ir.Call)), None)
