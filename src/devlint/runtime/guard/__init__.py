"""The runtime guard: `guard`, `guarded` and `install_guard`.

`agreement` says whether a layer's tensors are in one place, `structure` finds what `.to()` would
leave behind, `watch` has the calls of modules seen, `guard` turns it all on and off and tells,
`uncaught` is for errors that end a program, `errors` has the error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar, overload

from torch import nn

from devlint.runtime.ending import at_end, rank_line, write
from devlint.runtime.guard.errors import DeviceMismatchError, EarlyReadWarning
from devlint.runtime.guard.guard import MODES, Guard
from devlint.runtime.guard.uncaught import explained
from devlint.runtime.transfers import TransferLog

__all__ = [
    "MODES",
    "VARIABLE",
    "DeviceMismatchError",
    "EarlyReadWarning",
    "Guard",
    "InstalledGuard",
    "guard",
    "guarded",
    "install_guard",
]

Function = TypeVar("Function", bound=Callable[..., Any])

VARIABLE = "DEVLINT_GUARD"
"""The environment variable that names a mode."""


def guard(
    *models: nn.Module,
    mode: str = "strict",
    when: str = "always",
    batches: int = 3,
    transfers: TransferLog | None = None,
) -> Guard:
    """Watch modules, or all modules, for tensors that are on different devices.

    To be used in a `with` statement, or as a decorator.

    Args:
        models: the models to watch, with all modules that they call; every module if none is given.
        mode: "strict" checks calls before they run. "explain" does nothing until there is an
            error, and explains it. "trace" is strict, and records where tensors are made and moved
            and what is copied between devices. "collect" goes on after a mistake, and prints all
            of them at the end. "off" does nothing.
        when: "always", or "first-batches".
        batches: with "first-batches", the number of calls of a model that are checked before the
            guard turns itself off.
        transfers: records copies in the mode "trace"; a new log by default.

    Raises:
        ValueError: for another mode, another `when`, or no batches.
        TypeError: for models that aren't modules.
    """
    return Guard(models, mode, when, batches, transfers)


@overload
def guarded(function: Function) -> Function: ...
@overload
def guarded(
    *, mode: str = ..., when: str = ..., batches: int = ...
) -> Callable[[Function], Function]: ...
def guarded(
    function: Function | None = None,
    *,
    mode: str = "strict",
    when: str = "always",
    batches: int = 3,
) -> Any:
    """Decorate a function: every module is watched while it runs. Arguments as for `guard`.

    Raises:
        ValueError: for another mode, another `when`, or no batches.
    """
    decorator = Guard((), mode, when, batches)
    return decorator if function is None else decorator(function)


def install_guard(
    mode: str | None = None, *, when: str = "always", batches: int = 3
) -> InstalledGuard:
    """Turn a guard on for the whole program. Call `remove()` of the result to turn it off.

    It watches every module, and explains uncaught errors, in threads and notebooks too. In the
    mode "trace" it prints the copies between devices when the program ends.

    Args:
        mode: as for `guard`. The default is the environment variable `DEVLINT_GUARD`, or "strict"
            if that isn't set.
        when: as for `guard`.
        batches: as for `guard`.

    Raises:
        ValueError: for another mode, another `when`, or no batches.
    """
    if mode is None:
        mode = os.environ.get(VARIABLE, "strict") or "off"
    installed = InstalledGuard((), mode, when, batches)
    installed.__enter__()
    return installed


class InstalledGuard(Guard):
    """A guard for a whole program."""

    prints_transfers = True

    def _turn_on(self, stack: ExitStack) -> None:
        super()._turn_on(stack)
        if self.mode != "off":
            stack.enter_context(explained(self.explained_error))
        if self.mode == "collect" and self._prints:
            stack.callback(at_end(self.print_collected))
        if self.mode == "trace" and self.prints_transfers:
            stack.callback(at_end(self._print_transfers))

    def _print_transfers(self) -> None:
        if self.transfers is not None:
            write(sys.stderr, rank_line() + self.transfers.table())
