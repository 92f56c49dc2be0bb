"""When what is linted: a while after the last change, one after the other, none for nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

DEBOUNCE = 0.2
"""Seconds after a change in which another may come."""
_GRACE = 1.0
"""Seconds that work may go on after its text has changed: what it finds out of other files is of
use to the next."""


class Stop:
    """Whether work should end before its end: asked in the thread that does it."""

    def __init__(self) -> None:
        self._until = float("inf")
        self._began = time.monotonic()

    def ask(self) -> None:
        """Its result is out of date."""
        self._until = self._began + _GRACE

    def ask_now(self) -> None:
        """Nobody waits any more for anything."""
        self._until = 0

    def __call__(self) -> bool:
        return time.monotonic() > self._until


class Schedule:
    """What waits to be linted. To be used within the loop alone."""

    def __init__(self, lint: Callable[[str, Stop], Awaitable[None]]) -> None:
        self._lint = lint
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[str, None] = {}
        self._current: tuple[str, Stop] | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self, uri: str, delay: float = 0) -> None:
        """Lint something after some seconds, unless it is asked for again meanwhile."""
        self.drop(uri)
        self._timers[uri] = asyncio.get_running_loop().call_later(delay, self._due, uri)

    def drop(self, uri: str) -> None:
        """Don't lint it, or let that end."""
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()
        self._waiting.pop(uri, None)
        if self._current is not None and self._current[0] == uri:
            self._current[1].ask()

    def end(self) -> None:
        """Lint nothing any more."""
        for uri in [*self._timers, *self._waiting]:
            self.drop(uri)
        if self._current is not None:
            self._current[1].ask_now()

    def _due(self, uri: str) -> None:
        del self._timers[uri]
        self._waiting[uri] = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                uri = next(iter(self._waiting))
                del self._waiting[uri]
                stop = Stop()
                self._current = uri, stop
                try:
                    await self._lint(uri, stop)
                finally:
                    self._current = None
        finally:
            self._task = None
