"""A callback that guards what Lightning runs: `fit`, `validate`, `test` and `predict`.

    from devlint.integrations.lightning import DeviceGuard
    trainer = Trainer(callbacks=[DeviceGuard()])

It is for `lightning.pytorch` and for `pytorch_lightning`: for the one that has been imported, and
else for the one that is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from devlint.integrations.training import TrainingGuard, name_process
from devlint.runtime.guard.uncaught import print_notes

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _bases() -> tuple[type, ...]:
    """The class of callbacks, of each of the two packages that the program may mean."""
    names = [name for name in _PACKAGES if name in sys.modules]
    if not names:
        names = [n for n in _PACKAGES if importlib.util.find_spec(n.partition(".")[0])][:1]
    # Without any of them, this raises what a missing package raises.
    return tuple(importlib.import_module(name).Callback for name in names or _PACKAGES[:1])


_Callback: Any = type("_Callback", _bases(), {})


class DeviceGuard(_Callback):  # type: ignore[misc]
    """Explain device errors of a training run, and find them before kernels run.

    What a call of a module raises becomes `DeviceMismatchError`, as under `devlint.guard`; other
    errors, of a loss or an optimizer, keep their type and get the explanation as a note.

    Attributes:
        guard: which is on while the trainer runs.
    """

    def __init__(self, mode: str = "strict", *, when: str = "always", batches: int = 3) -> None:
        """Take the arguments of `devlint.guard`.

        Raises:
            ValueError: for another mode, another `when`, or no batches.
        """
        super().__init__()
        self.guard = TrainingGuard(mode, when, batches)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Turn the guard on; `fit`, `validate`, `test` and `predict` begin with this."""
        self.guard.begin()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Leave out the batches that were used to see whether the validation works."""
        self.guard.count_again()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Turn it off."""
        self.guard.remove()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Turn it off, and explain the error, which Lightning raises again."""
        self.guard.explain(exception)
        self.guard.remove()
        name_process(exception, trainer.global_rank, trainer.world_size)
        print_notes(exception)
