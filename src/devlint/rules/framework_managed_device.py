"""DEV406: a move by hand in code whose framework places things."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    Guarded,
    Known,
    Move,
    Operand,
    Role,
    Symbol,
    Trait,
    may_be_accelerator,
)
from devlint.model.reports import Report
from devlint.rules import rule

_HOOK = "transfer_batch_to_device"


@rule("framework-managed-device", on=Move)
def framework_managed_device(move: Move) -> Iterator[Report]:
    """Report `.cuda()` and `.to(<an accelerator>)` of what Lightning or Accelerate has placed."""
    lightning = move.context.role is Role.MANAGED
    if not (lightning or move.managed) or move.override or _is_hook(move):
        return
    if move.method not in ("to", "cuda", "xpu") or not _names_one(move):
        return
    yield Report(
        at=move.node,
        message=f"`{move.receiver}` is moved by hand where "
        f"{'Lightning' if lightning else 'Accelerate'} places models and batches",
        because=move.receiver.trace,
        help="leave it out; what is made here goes to "
        + ("`self.device`" if lightning else "`accelerator.device`"),
    )


def _is_hook(move: Move) -> bool:
    """Whether it stands where Lightning asks for it."""
    return _HOOK in move.context.function.split(".")


def _names_one(move: Move) -> bool:
    """Whether the device is chosen by the line, and not asked from the framework or a tensor."""
    if move.method != "to":
        return True
    target = move.target
    if target is None or not may_be_accelerator(move.device):
        return False
    if isinstance(move.device, (Known, Guarded)):
        return not _is_asked(target)
    return move.managed and isinstance(move.device, Symbol) and not _is_asked(target)


def _is_asked(target: Operand) -> bool:
    """`x.device`, `self.device`, `accelerator.device`."""
    return target.value.trait in (Trait.DEVICE_OF_TENSOR, Trait.PLACER)
