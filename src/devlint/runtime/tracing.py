"""Tracing: where each tensor was made and last moved, and which lines copy between devices.

While a tracing is on, a function mode sees what the program calls (`tracing_mode`). It is put on
the stack of modes of the thread that enters and of each thread that starts meanwhile; the autograd
engine runs with it too. Threads that ran before, and processes, aren't traced. Who leaves in
another thread than it has entered ends the tracing all the same: what can only be taken off in the
first thread does nothing until it is.
"""

from __future__ import annotations

import threading

from devlint.runtime.collected import Collection
from devlint.runtime.collecting import CollectingMode
from devlint.runtime.early_reads import Tell
from devlint.runtime.tracing_mode import TracingMode
from devlint.runtime.tracing_surroundings import SURROUNDINGS, push, remove
from devlint.runtime.transfers import TransferLog
from devlint.runtime.virtual.running import RUNNING


class Tracing:
    """Notes while it is entered; may be entered again, also by other threads.

    No result changes: each call is done as the program has written it, and what is noted lies on
    the storages of tensors. Compiled code runs as if there were no tracing.

    Args:
        log: where transfers are noted; where it has a part in another tracing, each only once.
        collection: where device mistakes are noted, if the program is to go on after them.
        tell: is told of copies to the host that are read before they have arrived.
    """

    def __init__(
        self,
        log: TransferLog | None = None,
        collection: Collection | None = None,
        tell: Tell = lambda explanation: None,
    ) -> None:
        self.log = TransferLog() if log is None else log
        self.collection = collection
        self._tell = tell
        self._lock = threading.Lock()
        self._entered = 0
        self._mode: TracingMode | None = None

    def __enter__(self) -> Tracing:
        with self._lock:
            if not self._entered:
                self._begin()
            self._entered += 1
            mode = self._mode
        if mode is not None:
            push(mode)
        return self

    def __exit__(self, *details: object) -> None:
        with self._lock:
            mode = self._mode
            if self._entered == 1:
                self._end()
            self._entered = max(self._entered - 1, 0)
        if mode is not None:
            remove(mode)

    def _begin(self) -> None:
        collection, log, tell = self.collection, self.log, self._tell
        if any(log is each for each in RUNNING.logs):
            log = TransferLog()
        self._mode = (
            TracingMode(log, tell) if collection is None else CollectingMode(log, tell, collection)
        )
        SURROUNDINGS.enter(self._mode)

    def _end(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.readers.close()
            mode.is_on = False
            SURROUNDINGS.leave(mode)
