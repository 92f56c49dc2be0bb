"""Threads and processes that a program starts: each believes in the same machine."""

from __future__ import annotations

import multiprocessing.spawn
import threading
from collections.abc import Callable
from typing import Any

from devlint.runtime.patches import Patches
from devlint.runtime.spawned import Start
from devlint.runtime.virtual.world import World


def patch(world: World, patches: Patches, start: Callable[[str], None]) -> None:
    """Patch threads, and processes that are spawned, where `start` is called with the machine."""

    @patches.wrap(threading.Thread, "_bootstrap_inner")
    def seen(bootstrap: Callable[[Any], Any], thread: Any) -> Any:
        with world.modes():
            return bootstrap(thread)

    @patches.wrap(multiprocessing.spawn, "get_preparation_data")
    def with_emulation(prepare: Callable[[str], dict[str, Any]], name: str) -> dict[str, Any]:
        return {"devlint": Start(start, str(world.machine.spec)), **prepare(name)}
