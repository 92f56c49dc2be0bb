"""DEV104: a fixed index of a device."""

from collections.abc import Iterator

from devlint.flow.facts import DeviceUse, Guard, Known, Role
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule

_ONLY_MPS = Known("mps", 0)
"""Beside which there is no other: nothing was chosen."""


@rule("hardcoded-device-index", on=DeviceUse)
def hardcoded_device_index(use: DeviceUse) -> Iterator[Report]:
    device = use.parsed
    if device is None or device.index is None or device.type in ("cpu", "meta"):
        return
    if not _is_written_out(use) or _is_chosen(use, device.index) or device == _ONLY_MPS:
        return
    index, kind = device.index, device.type
    spelled = f'`"{device}"`' if isinstance(use.operand.constant, str) else f"index {index}"
    if index == 0:
        message = f"{spelled} is the first {kind} device, whichever one was chosen"
    else:
        message = f"{spelled} needs at least {index + 1} {kind} devices"
    remedy = "take the device from an argument, or leave the index out for the current device"
    yield Report(at=use.node, message=message, help=remedy)


def _is_written_out(use: DeviceUse) -> bool:
    """Whether this is the literal itself (not a variable that brings it), or one in two parts:
    `torch.device("cuda", 1)`."""
    parts = use.via == "torch.device" and isinstance(use.node, ir.Call)
    return parts or isinstance(use.node, ir.Constant)


def _is_chosen(use: DeviceUse, index: int) -> bool:
    """Whether something around it says that this device is there.

    That CUDA is available proves device 0, and no other; a flag was set by somebody who knows.
    """
    guard = use.context.guard
    if index == 0 or use.context.role is Role.TEST:
        return use.choice or guard is not Guard.NONE
    return guard is Guard.CHOSEN
