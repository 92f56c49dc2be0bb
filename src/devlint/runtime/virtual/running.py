"""What is on, of which there is one for the whole process as there is one torch."""

from __future__ import annotations

import threading
from typing import Any

from devlint.runtime.virtual.world import World


class Running:
    """Which emulation is on, and where transfers are noted."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.thread = ""
        """The name of the thread that has entered it."""
        self.logs: list[Any] = []
        """Those of the tracings that are on, for what no mode sees."""
        self.lock = threading.RLock()
        """Reentrant: a generator that holds an emulation may be thrown away at any moment."""
        self.watches_forks = False


RUNNING = Running()


def running_world() -> World | None:
    """The emulation that is on, if one is."""
    return RUNNING.world
