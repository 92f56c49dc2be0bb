"""What the parts of an emulation share: the machine, the modes, and what they write down."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch
from torch import Tensor

from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.virtual.errors import NotEmulatedError
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.modes import DispatchMode, FunctionMode
from devlint.runtime.virtual.tags import notes_of, users_instruction


def is_ours(filename: str) -> bool:
    """Whether a file is torch's or devlint's, and so nothing that a user wrote."""
    return owner_of(filename) in ("torch", "devlint")


@dataclass
class World:
    """One emulation at work."""

    machine: Machine
    limits: dict[str, int] = field(default_factory=dict)
    """What the program used that isn't emulated, and how often."""
    copies: int = 0
    """Between devices."""
    checks: DispatchMode = field(init=False)
    functions: FunctionMode = field(init=False)

    def __post_init__(self) -> None:
        self.checks = DispatchMode(self.machine, self._unknown_operator)
        self.functions = FunctionMode(self.machine, self.checks)

    def limit(self, what: str) -> None:
        """Remember that a program met something that isn't emulated."""
        self.limits[what] = self.limits.get(what, 0) + 1

    def refuse(self, what: str, hint: str = "") -> NoReturn:
        """Remember that, and end it.

        Raises:
            NotEmulatedError: always.
        """
        self.limit(what)
        raise NotEmulatedError(f"{what} can't be emulated{hint}")

    def _unknown_operator(self, name: str) -> None:
        self.limit(f"operator {name}: its device rule isn't known, so element-wise is assumed")

    def made(self, tensor: Any) -> Any:
        """Note where a tensor was made or moved; returns it, or what stands for one while a
        program is traced."""
        if isinstance(tensor, Tensor):
            notes_of(tensor)["_devlint_site"] = users_instruction(sys._getframe(1))
        return tensor

    def copied(self, source: torch.device, target: torch.device) -> None:
        """Count a copy between devices, if it is one."""
        self.copies += source is not target

    def modes(self) -> AbstractContextManager[object]:
        """Let this thread's calls be seen; for code that C++ calls back, and new threads."""
        return nullcontext() if self.functions.is_on else self.functions

    def seen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the program whose calls are seen although C++ calls it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            with self.modes():
                return function(*args, **kwargs)

        return call
