"""Threads and processes that a program starts: each believes in the same machine."""

from __future__ import annotations

import multiprocessing.spawn
import threading
from typing import Any

from devlint.runtime.virtual.patches import Patches
from devlint.runtime.virtual.world import World


class _Start:
    """Unpickled by a spawned process before it imports the program: starts the emulation there."""

    def __init__(self, spec: str) -> None:
        self._spec = spec

    def __reduce__(self) -> tuple[Any, ...]:
        return start_for_good, (self._spec,)


def start_for_good(spec: str) -> None:
    """Emulate until the process ends."""
    from devlint.runtime.virtual import emulate

    emulate(spec).__enter__()


def patch(world: World, patches: Patches) -> None:
    """Patch threads, forks and spawned processes."""
    bootstrap = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def seen(thread: Any) -> Any:
        with world.modes():
            return bootstrap(thread)

    patches.set(threading.Thread, "_bootstrap_inner", seen)

    prepare = multiprocessing.spawn.get_preparation_data

    def with_emulation(name: str) -> dict[str, Any]:
        return {"devlint": _Start(str(world.machine.spec)), **prepare(name)}

    patches.set(multiprocessing.spawn, "get_preparation_data", with_emulation)
