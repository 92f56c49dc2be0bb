"""A call of something that a row describes."""

from __future__ import annotations

from dataclasses import dataclass

from devlint import ir
from devlint.flow.arguments import Arguments, Given
from devlint.flow.devices import use_device
from devlint.flow.frame import Frame
from devlint.flow.lattice import UNKNOWN, Device
from devlint.flow.values import Kind
from devlint.torchapi.effects import Arg, Row

TENSORS = (Kind.TENSOR, Kind.BATCH, Kind.PLACED)
"""The kinds that stand for a tensor, proved or as good as."""


@dataclass(frozen=True, slots=True)
class Use:
    """A call of something that a row describes."""

    frame: Frame
    node: ir.Call
    row: Row
    args: Arguments

    def find(self, parameter: tuple[Arg, ...]) -> Given | None:
        return self.args.find(parameter)


def device_argument(use: Use, via: str = "device") -> Device | None:
    """What the device argument of a call names; None where none is given."""
    if not use.row.device:
        return None
    given = use.find(use.row.device)
    if given is None:
        return UNKNOWN if use.args.unpacked else None
    if given[1].kind is Kind.NONE:
        return None
    return use_device(use.frame, *given, via=via)
