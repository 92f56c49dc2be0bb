"""The one thread in which all of the linter runs: what it remembers of files is nobody else's."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_ALL_EVERY = 20
"""How many times what is new is freed until all is looked through."""


class Thread:
    """Does one thing after the other."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "devlint-linter")
        self._collections = 0

    async def run(self, function: Callable[..., T], *given: object) -> T:
        """The result of a function that is called there. Raises what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*given))

    async def collect(self) -> None:
        """Free the circles among what is left over: where nobody waits for anything, since the
        collector would go through every tree several times while it is made."""
        self._collections += 1
        await self.run(gc.collect, 2 if self._collections % _ALL_EVERY == 0 else 0)

    def end(self) -> None:
        """Begin nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
