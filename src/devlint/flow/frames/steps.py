"""The steps that are taken for one linted file, and where they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

MOST_STEPS = 1_000_000
"""Statements and calls that are run for one linted file, those of the files it imports included."""
ENTRIES = 128
"""Names and objects that are copied in the time of a step."""
NODES = 16
"""Nodes that are looked at in the time of a step."""
_BETWEEN = 1000
"""Steps after which it is asked again whether to stop."""


class UnfinishedError(Exception):
    """Work on a file ended before its end."""


class TooManyStepsError(UnfinishedError):
    """A file asks for more than `MOST_STEPS`."""


class StoppedError(UnfinishedError):
    """Nobody wants the result any more."""


_stopping: ContextVar[Callable[[], bool] | None] = ContextVar("stopping", default=None)


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Ask now and then, while something is worked out, whether to stop: then that raises
    `StoppedError`."""
    token = _stopping.set(asked)
    try:
        yield
    finally:
        _stopping.reset(token)


@dataclass(slots=True)
class Steps:
    """What has been done so far for one linted file: a number that is the same in each run, unlike
    the time. Up to `free`, nothing is asked."""

    taken: int = 0
    free: int = 0

    def take(self, number: int) -> None:
        """Count steps. Raises `TooManyStepsError` and `StoppedError`."""
        self.taken += number
        if self.taken > self.free:
            self.look()

    def look(self) -> None:
        """Whether there may be more. Raises as `take` does."""
        if self.taken > MOST_STEPS:
            raise TooManyStepsError
        asked = _stopping.get()
        if asked is not None and asked():
            raise StoppedError
        self.free = min(self.taken + _BETWEEN, MOST_STEPS)

    def restart(self) -> None:
        """Nothing has been done yet."""
        self.taken = self.free = 0
