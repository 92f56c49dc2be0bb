"""What the callbacks of training frameworks share: a guard for as long as something trains."""

from __future__ import annotations

from typing import Any

from devlint.runtime.explaining.caught import tell
from devlint.runtime.explaining.notes import NAME, add_note, held_by
from devlint.runtime.explaining.stack import live
from devlint.runtime.guard import Guard
from devlint.runtime.guard.tracebacks import chain, tidy
from devlint.runtime.reader import READER


class TrainingGuard(Guard):
    """A guard of all modules that is turned on and off by a framework's events.

    All modules, since losses, metrics and teachers are seldom part of the model that is trained.
    Copies and pickles of it are off.
    """

    def __init__(self, mode: str = "strict", when: str = "always", batches: int = 3) -> None:
        super().__init__((), mode, when, batches)
        self._arguments = mode, when, batches

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def begin(self) -> None:
        """Turn it on, as if it had never been on."""
        self.remove()
        self.__enter__()

    def count_again(self) -> None:
        """Count the first batches from here on."""
        if self._first:
            self.begin()

    def explain(self, error: BaseException) -> None:
        """Add to an error what is known of it, where something else will go on with the error."""
        if isinstance(error, Exception) and self.mode != "off":
            tidy(error)
            tell(error, live(), READER)


def name_process(error: BaseException, index: int, count: int) -> None:
    """Say on an error that has been explained in which of several processes it was raised."""
    if count < 2:
        return
    note = f"devlint: in the process of rank {index} of {count}"
    for link in chain(error):
        held = held_by(link)
        if held.get(NAME) is not None and note not in held.get("__notes__", ()):
            add_note(link, note)
            return
