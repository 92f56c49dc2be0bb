"""Pinned memory: memory of the host that an accelerator can read. What is pinned, and when."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import CUDA_USED, DEVICE_ASKED
from devlint.flow.domain.lattice import (
    Device,
    Known,
    is_place_of_argument,
    left_out,
    may_be_accelerator,
    names_accelerator,
)
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Kind, Origin, Value
from devlint.flow.facts import Operand, Pinning
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def method(frame: Frame, node: ir.Call, args: Arguments) -> None:
    """`x.pin_memory()`: of a tensor that is on an accelerator, or of any other on a line that runs
    where there may be no accelerator."""
    if args.receiver is None or args.receiver[1].kind not in (*TENSORS, Kind.UNKNOWN):
        return
    operand = frame.operand(*args.receiver)
    if not _is_away(operand.value, operand.device):
        _tell_anywhere(frame, node, operand)
    elif not _is_asked(frame, operand.device):
        frame.record(Pinning(node, frame.context(), operand, "method", operand.device))


def _tell_anywhere(frame: Frame, node: ir.Call, operand: Operand) -> None:
    if frame.tells and CUDA_USED not in frame.state.known:  # a call that needs CUDA came back
        frame.record(Pinning(node, frame.context(), operand, "anywhere", operand.device))


def _is_asked(frame: Frame, device: Device) -> bool:
    """Whether a condition around it has asked for a device: it may be this one."""
    return DEVICE_ASKED in frame.state.known and not isinstance(device, Known)


def _is_away(value: Value, device: Device) -> bool:
    """Whether it was put where an accelerator may be: not only handed in."""
    device = left_out(device)
    followed = value.origin in (Origin.MOVED, Origin.FOLLOWS) and not is_place_of_argument(device)
    return may_be_accelerator(device) and (followed or names_accelerator(device))


def argument(frame: Frame, node: ir.Call, args: Arguments, device: Device) -> bool:
    """Whether what makes a tensor or a loader is given `pin_memory=True`; a fact where the tensors
    are on an accelerator."""
    for given, value in args.all:
        if given.keyword == "pin_memory" and value.data is True:
            place = frame.state.simplify(device)
            if names_accelerator(place):
                operand = frame.operand(given.value, value)
                frame.record(Pinning(node, frame.context(), operand, "argument", place, given))
            return True
    return False


def made(frame: Frame, node: ir.Call, args: Arguments, value: Value) -> Value:
    """A tensor that a call makes, which `pin_memory=True` pins."""
    if not argument(frame, node, args, value.device):
        return value
    if not names_accelerator(frame.state.simplify(value.device)):
        _tell_anywhere(frame, node, frame.operand(node, value))
    return pinned(frame, value, node)


def pinned(frame: Frame, value: Value, node: ir.Call) -> Value:
    """The same value, pinned by a call of this file."""
    if frame.is_guest:
        return value
    return value.but(trait=Trait.PINNED, trace=Step(Sort.PINNED, node, value.trace))
