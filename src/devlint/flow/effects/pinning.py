"""Pinned memory: memory of the host that an accelerator can read. What is pinned, and when."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step, steps
from devlint.flow.domain.keys import CUDA_USED, DEVICE_ASKED
from devlint.flow.domain.lattice import (
    Device,
    Guarded,
    Known,
    Symbol,
    is_place_of_argument,
    left_out,
    may_be_accelerator,
    may_be_host,
    names_accelerator,
)
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Origin, Value
from devlint.flow.facts import Pinning
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def method(frame: Frame, node: ir.Call, args: Arguments) -> None:
    """`x.pin_memory()` of a tensor that is on an accelerator."""
    if args.receiver is None or args.receiver[1].kind not in TENSORS:
        return
    operand = frame.operand(*args.receiver)
    if _is_away(operand.value, operand.device) and not _is_asked(frame, operand.device):
        frame.record(Pinning(node, frame.context(), operand, "method", operand.device))


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


def pinned(frame: Frame, value: Value, node: ir.Call) -> Value:
    """The same value, pinned by a call of this file; where a call that needs CUDA has come back
    before, pinning works."""
    if frame.is_guest or CUDA_USED in frame.state.known:
        return value
    return value.but(trait=Trait.PINNED, trace=Step(Sort.PINNED, node, value.trace))


def moved(frame: Frame, base: ir.Expr, value: Value, device: Device) -> None:
    """What was pinned goes to a device that may be the CPU: where there is no accelerator, pinning
    raised before."""
    device = frame.state.simplify(device)
    chosen = isinstance(device, Guarded) and may_be_host(device)
    if value.trait is not Trait.PINNED or not (chosen or isinstance(device, Symbol)):
        return
    calls = [step.node for step in steps(value.trace) if step.sort is Sort.PINNED]
    if calls and isinstance(calls[-1], ir.Call):
        operand = frame.operand(base, value)
        frame.record(Pinning(calls[-1], frame.context(), operand, "moved", device))
