"""When something happened, in memory that doesn't grow: buckets that get wider as time goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

BUCKETS = 120
"""How many there are at most. When the time is longer than that, each two become one."""
_FIRST_WIDTH = 1 / 128
"""Seconds. A power of two: widths and edges are exact."""


class Timeline:
    """Amounts by name, each added to the bucket of the moment. Not for several threads at once.

    Args:
        clock: tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._started = datetime.now(timezone.utc)
        self._width = _FIRST_WIDTH
        self._rows: dict[str, list[int]] = {}

    def add(self, name: str, amount: int) -> None:
        """Add to what has happened now."""
        index = self._reach(self._clock())
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = [0] * BUCKETS
        row[index] += amount

    def _reach(self, now: float) -> int:
        """The bucket of a moment; all get wider until there is one."""
        since = max(now - self._began, 0.0)
        while since >= self._width * BUCKETS:
            self._width *= 2
            for name, row in self._rows.items():
                halves = [a + b for a, b in zip(row[::2], row[1::2], strict=True)]
                self._rows[name] = halves + [0] * (BUCKETS - len(halves))
        return int(since / self._width)

    def as_record(self) -> dict[str, Any]:
        """All of it until now, for JSON.

        `started` is the time of day, `seconds` how long it has been, `bucket_seconds` the width
        of a bucket; each row of `rows` has as many numbers as buckets have begun.
        """
        now = self._clock()
        count = self._reach(now) + 1
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(now - self._began, 6),
            "bucket_seconds": self._width,
            "rows": {name: row[:count] for name, row in self._rows.items()},
        }
