"""The one thread in which all of the linter runs: what it remembers of files is nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Thread:
    """Does one thing after the other."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "devlint-linter")

    async def run(self, function: Callable[..., T], *given: object) -> T:
        """The result of a function that is called there. Raises what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*given))

    def end(self) -> None:
        """Begin nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
