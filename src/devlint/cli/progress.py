"""A progress bar on stderr, for people who wait."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 1.0
"""Seconds before a bar appears: a short run is over by then."""


class Bar:
    """Shows how far a run is, once it takes longer than a second; only on a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._start = time.monotonic()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, done: int, total: int) -> None:
        """`done` of `total` files are linted."""
        if not self._wanted:
            return
        if self._progress is None:
            if time.monotonic() - self._start < _PATIENCE or done == total:
                return
            self._progress = _make()
            self._progress.start()
        if self._task is None:
            self._task = self._progress.add_task("Linting", total=total)
        self._progress.update(self._task, completed=done)


def _make() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    return Progress(*columns, console=Console(stderr=True), transient=True)
