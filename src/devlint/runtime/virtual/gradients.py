"""`.grad`: where a gradient is, when a program reads it or assigns one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import (
    CPU,
    NEUTRAL,
    attribute,
    is_tagged,
    own_storage,
    place,
    put,
    shown_place,
)


class Gradients:
    """Handlers of `.grad`."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        return {attribute("grad").__get__: self.read, attribute("grad").__set__: self.write}

    def read(self, func: Any, args: Any, kwargs: Any) -> Any:
        gradient = func(*args)
        if gradient is None:
            return None
        tensor = args[0]
        storage, owner = own_storage(gradient), own_storage(tensor)
        if storage is not None and owner is not None:
            found = storage.__dict__.get("_devlint_device")
            if found is not None and found is owner._devlint_device:
                return gradient  # seen before
        expected = shown_place(tensor)
        if expected is CPU and not is_tagged(gradient):
            if self._machine.known_place(tensor) is CPU:
                _remember(gradient, CPU)
            return gradient
        if place(gradient) is not expected:
            if is_tagged(gradient):
                if _stays(gradient):
                    return gradient  # the tensor has since been moved, by `.data`, and this has not
                gradient = gradient.clone()  # it shares memory with another gradient
                attribute("grad").__set__(tensor, gradient)
            put(gradient, expected)
            _remember(gradient, expected)
        return gradient

    def write(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, gradient = args
        if isinstance(gradient, Tensor):
            owner = known_operand(self._machine, "self", tensor)
            given = known_operand(self._machine, "grad", gradient)
            # Where the dtypes differ, torch complains of that first.
            if given.differs_from(owner) and gradient.dtype is tensor.dtype:
                text = texts.assigned_gradient(owner.device, given.device)
                raise device_error(RuntimeError, text, [owner, given], "grad")
            if given.device is not NEUTRAL:
                _remember(gradient, given.device, is_given=True)
        return func(*args)


def known_operand(machine: Machine, name: str, tensor: Tensor) -> Operand:
    """A tensor where it is, as far as that is known."""
    return Operand(name, tensor, machine.known_place(tensor))


_GIVEN = 0
"""Said of memory that the program itself has assigned as a gradient."""


def _remember(gradient: Tensor, device: torch.device, is_given: bool = False) -> None:
    """Remember where a gradient is, though its tensor may be moved.

    Of those that the engine lets share memory, each is where its own tensor is, so that it matters
    which one it was; what a program has assigned is where it is.
    """
    storage = own_storage(gradient)
    if storage is not None:
        storage._devlint_device = device
        storage._devlint_gradient = _GIVEN if is_given else gradient._cdata


def _stays(gradient: Tensor) -> bool:
    """Whether it is known where this very gradient is."""
    storage = own_storage(gradient)
    if storage is None:
        return False
    return storage.__dict__.get("_devlint_gradient") in (_GIVEN, gradient._cdata)
