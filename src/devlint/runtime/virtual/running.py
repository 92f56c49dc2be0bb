"""The one emulation that is on: torch is one for the whole process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from devlint.runtime.virtual.world import World


class Running:
    """Which emulation is on, and the logs of those who wait for one."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.thread = ""
        """The name of the thread that has entered it."""
        self.logs: list[list[Any]] = []
        """In the last of them an emulation notes its transfers that has no log of its own."""
        self.lock = threading.RLock()
        """Reentrant: a generator that holds an emulation may be thrown away at any moment."""
        self.watches_forks = False


RUNNING = Running()


def running_world() -> World | None:
    """The emulation that is on, if one is."""
    return RUNNING.world


def share_log(log: Any) -> Callable[[], None]:
    """Give a log to the emulations that begin from now on, until what is returned is called.

    Those who share logs may end in another order than they have begun.
    """
    entry = [log]  # one log may be shared twice
    RUNNING.logs.append(entry)

    def take_back() -> None:
        RUNNING.logs = [each for each in RUNNING.logs if each is not entry]

    return take_back
