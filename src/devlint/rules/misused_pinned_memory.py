"""DEV502: memory is pinned that can't be, or where there may be no accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Guard, Pinning, Role
from devlint.model.findings import Level, Safety
from devlint.model.reports import Change, Report, replace_tail
from devlint.rules import rule
from devlint.rules._meetings import place
from devlint.rules._moving import without


@rule("misused-pinned-memory", on=Pinning)
def misused_pinned_memory(pinning: Pinning) -> Iterator[Report]:
    """Report what pins a tensor of an accelerator, and what pins although the CPU may be chosen."""
    if pinning.context.role is Role.TEST:
        return
    if pinning.via == "moved":
        yield from _without_accelerator(pinning)
    elif pinning.via == "argument" and pinning.argument is not None:
        rewrites = without(pinning.node, pinning.argument)
        yield Report(
            at=pinning.argument if rewrites else pinning.node,
            message=f"the tensors are {place(pinning.device)}, and only host memory can be pinned",
            fix=Change("Remove `pin_memory=True`", rewrites, Safety.SAFE) if rewrites else None,
            help="leave `pin_memory=True` out",
            level=Level.ERROR,
        )
    else:
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
        level=Level.ERROR,
    )


def _without_accelerator(pinning: Pinning) -> Iterator[Report]:
    if pinning.context.function.rpartition(".")[2] == "pin_memory":
        return  # a loader calls it, and only where there is an accelerator
    if pinning.context.guard is not Guard.NONE:
        return  # it was asked for, or the code is there for what it raises
    yield Report(
        at=pinning.node,
        message="pins memory on every machine, and raises where there is no accelerator; the "
        f"tensor goes to {pinning.device}",
        because=pinning.operand.trace,
        help="pin only where there is one: `if torch.accelerator.is_available():`",
    )
