"""The last line of a program in which nothing was wrong, and what is counted for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.optim.optimizer import register_optimizer_step_post_hook

if TYPE_CHECKING:
    from devlint.runtime.guard import Guard
    from devlint.runtime.virtual import Emulation


class Steps:
    """Counts the steps of the first optimizer at work, and what is copied between them.

    Args:
        copies: how many copies between devices there have been.
        then: is called after each step.
    """

    def __init__(self, copies: Callable[[], int], then: Callable[[], None] = lambda: None) -> None:
        self._copies = copies
        self._then = then
        self._optimizer = 0
        self._steps = 0
        self._first = self._last = 0
        handle = register_optimizer_step_post_hook(self._stepped)
        self.remove: Callable[[], None] = handle.remove

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        self._optimizer = self._optimizer or id(optimizer)
        if id(optimizer) != self._optimizer:
            return
        self._last = self._copies()
        if not self._steps:
            self._first = self._last
        self._steps += 1
        self._then()

    @property
    def copies(self) -> float | None:
        """Copies a step, after the first one; nothing of fewer than two."""
        return (self._last - self._first) / (self._steps - 1) if self._steps > 1 else None


def success_line(guard: Guard, emulation: Emulation | None, steps: Steps | None) -> str:
    """The line of a program in which nothing was wrong; empty if something was, or nothing checked.

    Args:
        guard: of the program.
        emulation: on which it ran, if it did.
        steps: what was counted.
    """
    if not guard.found_nothing or (emulation is not None and emulation.has_refused):
        return ""
    modules = guard.modules_checked
    checked = f": {modules:,} module{'s' * (modules != 1)} checked" if modules else ""
    where = ""
    if emulation is not None and emulation.is_used:
        where = f" on {emulation.spec.kind.type} (emulated)"
    if not checked and not where:
        return ""
    copies = None if steps is None else steps.copies
    end = ""
    if copies is not None:
        shown = f"{copies:.1f}".removesuffix(".0")
        end = f", {shown} cop{'y' if shown == '1' else 'ies'} a step"
    return f"devlint: no device mismatch{checked}{where}{end}\n"
