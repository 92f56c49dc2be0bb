"""DEV502: memory is pinned that isn't the host's."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Pinning, Role
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace_tail
from devlint.rules import rule
from devlint.rules._meetings import place
from devlint.rules._moving import without


@rule("misused-pinned-memory", on=Pinning)
def misused_pinned_memory(pinning: Pinning) -> Iterator[Report]:
    """Report what pins a tensor of an accelerator."""
    if pinning.context.role is Role.TEST:
        return
    if pinning.via == "argument" and pinning.argument is not None:
        rewrites = without(pinning.node, pinning.argument)
        yield Report(
            at=pinning.argument if rewrites else pinning.node,
            message=f"the tensors are {place(pinning.device)}, and only host memory can be pinned",
            fix=Change("Remove `pin_memory=True`", rewrites, Safety.SAFE) if rewrites else None,
            help="leave `pin_memory=True` out",
        )
    elif pinning.via == "method":
        yield _on_accelerator(pinning)


def _on_accelerator(pinning: Pinning) -> Report:
    operand = pinning.operand
    tail = replace_tail(operand.node, pinning.node, "")
    return Report(
        at=pinning.node,
        message=f"`{operand}` is {place(operand)}, and only host memory can be pinned",
        because=operand.trace,
        fix=Change("Remove `.pin_memory()`", (tail,), Safety.SAFE),
        help="pin it before it is moved, or leave the pinning out",
    )
