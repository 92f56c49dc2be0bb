"""Threads and processes that a program starts: each believes in the same machine."""

from __future__ import annotations

import multiprocessing.spawn
import threading
from collections.abc import Callable
from typing import Any

from devlint.runtime.virtual.patches import Patches
from devlint.runtime.virtual.world import World

Start = Callable[[str], None]


class _Start:
    """Unpickled by a spawned process before it imports the program: starts the emulation there."""

    def __init__(self, start: Start, spec: str) -> None:
        self._start = start
        self._spec = spec

    def __reduce__(self) -> tuple[Any, ...]:
        return self._start, (self._spec,)


def patch(world: World, patches: Patches, start: Start) -> None:
    """Patch threads, and processes that are spawned, where `start` is called with the machine."""
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def seen(thread: Any) -> Any:
        with world.modes():
            return bootstrap(thread)

    patches.set(threading.Thread, "_bootstrap_inner", seen)

    prepare = multiprocessing.spawn.get_preparation_data

    def with_emulation(name: str) -> dict[str, Any]:
        return {"devlint": _Start(start, str(world.machine.spec)), **prepare(name)}

    patches.set(multiprocessing.spawn, "get_preparation_data", with_emulation)
