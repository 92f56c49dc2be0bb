"""A callback that guards the `Trainer` of transformers.

    from devlint.integrations.transformers import DeviceGuardCallback
    trainer = Trainer(model, args, train_dataset=rows, callbacks=[DeviceGuardCallback()])

It guards `train` with all that happens there. No event tells that `evaluate` or `predict` begin
on their own: `with devlint.guard(): trainer.evaluate()` is for those.
"""

from __future__ import annotations

import importlib
import threading
import weakref
from contextlib import ExitStack
from typing import Any

from torch import nn

from devlint.integrations.training import TrainingGuard
from devlint.runtime.explaining.stack import live
from devlint.runtime.guard.uncaught import explained

_transformers: Any = importlib.import_module("transformers")


class DeviceGuardCallback(_transformers.TrainerCallback):  # type: ignore[misc]
    """Explain device errors of a training run, and find them before kernels run.

    What a call of a module raises becomes `DeviceMismatchError`, as under `devlint.guard`; what is
    raised elsewhere, in a loss, a metric or an optimizer, is explained where nobody catches it.

    No event tells of an error either. So the guard leaves when it has seen one, and is there again
    with the next step, if there is a next step. Of an error that it hasn't seen, it learns when a
    module is called outside of a training, when another training begins, or when the model or the
    trainer is gone.

    Attributes:
        guard: which is on while the trainer trains.
    """

    def __init__(self, mode: str = "strict", *, when: str = "always", batches: int = 3) -> None:
        """Take the arguments of `devlint.guard`.

        Raises:
            ValueError: for another mode, another `when`, or no batches.
        """
        self.guard = _UntilAnError(mode, when, batches)

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Turn the guard on."""
        self.guard.leave_with(self, model)
        self.guard.begin()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Turn it on again: somebody has caught the error, and the training goes on."""
        if not self.guard.is_on:
            self.guard.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Turn it off."""
        self.guard.remove()


class _UntilAnError(TrainingGuard):
    """A guard that leaves with the first error, or where no trainer is at work any more."""

    def __init__(self, mode: str = "strict", when: str = "always", batches: int = 3) -> None:
        super().__init__(mode, when, batches)
        self._thread = 0
        self._ends: list[Any] = []

    def leave_with(self, *owners: object) -> None:
        """Be off, at the latest, when one of these objects is gone."""
        for end in self._ends:
            end.detach()
        self._ends = [weakref.finalize(o, self.remove) for o in owners if o is not None]
        for end in self._ends:
            end.atexit = False

    def _turn_on(self, stack: ExitStack) -> None:
        self._thread = threading.get_ident()
        super()._turn_on(stack)
        if self.mode != "off":
            stack.enter_context(explained(self.explained_error))

    def explained_error(self, error: Exception) -> Exception:
        try:
            return super().explained_error(error)
        finally:
            if self._is_in_trainers_thread():
                self.remove()

    def covers(self, module: nn.Module | None = None) -> bool:
        if not self._is_in_trainers_thread() or _is_training():
            return True
        self.remove()
        return False

    def _is_in_trainers_thread(self) -> bool:
        """Another thread may be one that computes for the trainer, beside others."""
        return threading.get_ident() == self._thread


def _is_training() -> bool:
    """Whether a method of a trainer is running."""
    kind = _transformers.Trainer
    return any(issubclass(type(spot.names.get("self")), kind) for spot in live())
