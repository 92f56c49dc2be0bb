"""The processes that a guarded program starts, and what `--guard collect` has found in them.

A process that is started afresh is guarded as well. What it has collected it leaves in a file,
which the first process reads when all have ended. In a forked one nothing is traced, so nothing is
collected: the first mistake is raised there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing.spawn
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from devlint.runtime.collected import Collection
from devlint.runtime.ending import at_end
from devlint.runtime.patches import Patches
from devlint.runtime.spawned import Start
from devlint.safety.escaping import json_text


class Gathering:
    """The collection of a program, and the folder that its processes write to."""

    def __init__(self) -> None:
        self.collection = Collection()
        self.folder = tempfile.mkdtemp(prefix="devlint-")

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self) -> None:
        """Wait for threads and processes, as Python does when a program ends; take in theirs."""
        for process in multiprocessing.active_children():
            if not process.daemon:
                process.join()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        self.take_in()

    def take_in(self) -> None:
        """Take in what processes have left."""
        for path in sorted(Path(self.folder).glob("*.json")):
            with suppress(OSError, ValueError, TypeError, KeyError):  # a process was killed
                self.collection.add_records(json.loads(path.read_text(encoding="utf-8")))
            with suppress(OSError):
                path.unlink()


@contextlib.contextmanager
def guard_in_spawned(mode: str, folder: str) -> Iterator[None]:
    """Have processes that are started afresh, and so share nothing, guarded as well.

    Args:
        mode: of the guard.
        folder: where they leave what they have collected; empty where they collect nothing.
    """
    with Patches() as patches:

        @patches.wrap(multiprocessing.spawn, "get_preparation_data")
        def with_guard(prepare: Callable[[str], dict[str, Any]], name: str) -> dict[str, Any]:
            # Behind the rest: where there is an emulation, the guard is to find it.
            return {**prepare(name), "devlint_guard": Start(_start_for_good, mode, folder)}

        yield


def _start_for_good(mode: str, folder: str) -> None:
    from devlint.runtime.guard import InstalledGuard

    collected = None
    if folder:
        collected = Collection()
        at_end(functools.partial(_leave, collected, folder))
    InstalledGuard((), mode, collected=collected).__enter__()


def _leave(collection: Collection, folder: str) -> None:
    if collection:
        path = Path(folder, f"{os.getpid()}.json")
        with suppress(OSError):  # the first process has ended, and its folder is gone
            path.write_text(json_text(collection.records()), encoding="utf-8")
