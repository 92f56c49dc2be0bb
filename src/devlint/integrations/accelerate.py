"""A guard for what Accelerate trains, which has no callbacks of its own.

    from devlint.integrations.accelerate import guard_accelerator
    with guard_accelerator(accelerator):
        train(model, loader)

It does what `devlint.guard()` does, and its errors say which process they are from.
"""

from __future__ import annotations

from typing import Any

from devlint.integrations.training import name_process
from devlint.runtime.guard import Guard


def guard_accelerator(
    accelerator: Any, *, mode: str = "strict", when: str = "always", batches: int = 3
) -> Guard:
    """A guard as `devlint.guard()` gives it, whose errors name the accelerator's process.

    It watches every module: those that were prepared, those that will be, and those that one
    forgets to prepare, as a loss with weights.

    Args:
        accelerator: an `accelerate.Accelerator`.
        mode: as for `devlint.guard`.
        when: as for `devlint.guard`.
        batches: as for `devlint.guard`.

    Raises:
        ValueError: for another mode, another `when`, or no batches.
    """
    return _AcceleratorGuard(accelerator, mode, when, batches)


class _AcceleratorGuard(Guard):
    def __init__(self, accelerator: Any, mode: str, when: str, batches: int) -> None:
        super().__init__((), mode, when, batches)
        self._accelerator = accelerator

    def explained_error(self, error: Exception) -> Exception:
        raised = super().explained_error(error)
        name_process(raised, self._accelerator.process_index, self._accelerator.num_processes)
        return raised
