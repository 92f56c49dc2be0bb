"""The executor of this machine: processes that a function is run in over many tasks.

A worker is a Python of its own in isolated mode (`python -I`): neither the current directory, nor
`PYTHONPATH`, nor what else the environment says of Python decides what it imports. It gets the
import path of this process, and the package `devlint` from where this process has it. That rules
out `multiprocessing`: whatever the start method, its processes look for modules in the current
directory first.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import IO, Any, TypeVar

from devlint.driver.executing import Crew, Died, DiedError, spread

T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 8
_COLLECT_EVERY = 32
"""Files between two garbage collections: the cycles of one file are small, a collection is not."""
_COLLECT_ALL_EVERY = 128
"""Collections between two that look also at what has been kept: other files, most of which stay.
Workers, of which there are several, do so four times as often."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of devlint

_PROGRAM = """
import sys, pickle
sys.path[:], package = pickle.load(sys.stdin.buffer)
from importlib import util
spec = util.spec_from_file_location(
    "devlint", package + "/__init__.py", submodule_search_locations=[package]
)
sys.modules["devlint"] = util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["devlint"])
from devlint.driver.pool import serve
serve()
"""


def each(function: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[tuple[T, R | Died]]:
    """Each task with its result, as they come. `function` must not raise.

    With one job everything happens in this process. Workers have ended when the iterator is closed.
    """
    if jobs <= 1 or len(tasks) <= 1:
        yield from _in_process(function, tasks)
        return
    size = max(1, min(_CHUNK, len(tasks) // (jobs * 4)))
    chunks = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    jobs = min(jobs, len(chunks))
    with contextlib.closing(Crew(lambda: Processes(jobs), 2 * jobs)) as crew:
        yield from spread(partial(_apply, function), chunks, crew)


def _apply(function: Callable[[T], R], chunk: Sequence[T]) -> list[R]:
    return [function(task) for task in chunk]


def _in_process(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R]]:
    with collected_rarely():
        for count, task in enumerate(tasks, start=1):
            yield task, function(task)
            if count % _COLLECT_EVERY == 0:
                _collect(_COLLECT_ALL_EVERY)


def _collect(all_every: int) -> None:
    """Free the cycles of what is new, and now and then of all."""
    if gc.get_count()[1] < all_every:
        gc.collect(0)
    else:
        gc.collect()


@contextlib.contextmanager
def collected_rarely() -> Iterator[None]:
    """Turn the automatic garbage collection off: it walks every living node again and again."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # what is there already needn't be walked by our own collections either
    try:
        yield
    finally:
        # What is left becomes old: the collector, turned on, would go through it at once.
        gc.freeze()
        gc.unfreeze()
        if enabled:
            gc.enable()


class Processes:
    """An executor: processes, each driven by a thread. All are gone when it is shut down."""

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs, initializer=_hold_interrupts)
        self._own = threading.local()
        self._lock = threading.Lock()
        self._started: list[_Worker] = []
        self._closed = False

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Have a function called in one of the processes. It ends in an error if that dies."""
        return self._threads.submit(self._ask, (function, args))

    def shutdown(self, wait: bool = True) -> None:
        """End the processes, whatever they do. What isn't done is not waited for."""
        with self._lock:
            self._closed = True
            for worker in self._started:
                worker.end()
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, call: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
        """What this thread's process makes of a call. Raises `DiedError`."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            with self._lock:
                if self._closed:
                    raise DiedError
                worker = self._own.worker = _Worker()
                self._started.append(worker)
        try:
            return worker.ask(call)
        except DiedError:
            worker.end()
            self._own.worker = None
            raise


class _Worker:
    """A process that makes the calls that it is sent."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", *_options(), "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C reaches every process of a console of Windows but those of another group.
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        with contextlib.suppress(OSError):  # it ended at once: the first question will tell
            _send((sys.path, _PACKAGE), self._to)

    def ask(self, call: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
        """The result of a call. Raises `DiedError`."""
        try:
            _send(call, self._to)
            return pickle.load(self._from)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise DiedError from error

    def end(self) -> None:
        """End the process, whatever it does, and wait until it is gone."""
        self._process.kill()
        self._process.wait()


def _send(value: object, stream: IO[bytes]) -> None:
    pickle.dump(value, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _options() -> list[str]:
    """What a Python in isolated mode doesn't take from the environment and has to share with this
    one: how names of files are read, and where compiled modules go, if anywhere."""
    options = ["-X", f"utf8={sys.flags.utf8_mode}"]
    if sys.dont_write_bytecode:
        options.append("-B")
    if sys.pycache_prefix is not None:
        options += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return options


def _hold_interrupts() -> None:
    """Leave Ctrl-C to the main thread. Processes that this one starts inherit that."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def serve() -> None:
    """What a worker does: make calls and answer on standard output, until there are no more or
    nobody who asks."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is printed gets among the answers
    calls = sys.stdin.buffer
    is_first = True
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            function, args = pickle.load(calls)
            if is_first:
                gc.disable()
                gc.freeze()  # what is imported by now lives forever
                is_first = False
            _send(function(*args), answers)
            _collect(_COLLECT_ALL_EVERY // 4)
    os._exit(0)  # nothing is left to be written, and what can't be would be complained about
