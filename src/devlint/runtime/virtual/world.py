"""What the parts of an emulation share: the machine, the modes, and what they write down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.explaining.stack import owner_of, users_frame
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.modes import DispatchMode, FunctionMode
from devlint.runtime.virtual.tags import notes_of

Site = tuple[CodeType, int]
"""A function's code and a line of it."""


def is_ours(filename: str) -> bool:
    """Whether a file is torch's or devlint's, and so nothing that a user wrote."""
    return owner_of(filename) in ("torch", "devlint")


def users_line() -> Site | None:
    """The line of the program that is running."""
    frame = users_frame(sys._getframe(1))
    return None if frame is None else (frame.f_code, frame.f_lineno)


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

    def _unknown_operator(self, name: str) -> None:
        self.limit(f"operator {name}: its device rule isn't known, so element-wise is assumed")

    def made(self, tensor: Any) -> Any:
        """Note where a tensor was made or moved; returns it, or what stands for one while a
        program is traced."""
        if isinstance(tensor, Tensor):
            notes_of(tensor)["_devlint_site"] = users_line()
        return tensor

    def copied(self, source: torch.device, target: torch.device) -> None:
        """Count a copy between devices, if it is one."""
        self.copies += source is not target

    @contextmanager
    def modes(self) -> Iterator[None]:
        """Let this thread's calls be seen; for code that C++ calls back, and new threads."""
        if self.functions.is_on:
            yield
        else:
            with self.functions:
                yield

    def seen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the program whose calls are seen although C++ calls it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            with self.modes():
                return function(*args, **kwargs)

        return call
