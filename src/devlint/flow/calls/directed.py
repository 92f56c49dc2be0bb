"""Modules that are given a device beside their inputs, to take them there."""

from __future__ import annotations

from devlint.flow.frames.arguments import Arguments
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means

_DEVICE = "device"


def is_given_device(args: Arguments) -> bool:
    """`model(batch, device)`, `model(batch, device=self.device)`"""
    return any(argument.keyword == _DEVICE or _is_device(argument) for argument, _ in args.all)


def _is_device(argument: ir.Argument) -> bool:
    return bool(means("device", last_name(argument.value), "variable"))
