"""Runs a function over many tasks in processes, and outlives a process that dies."""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 8
_COLLECT_EVERY = 32
"""Files between two garbage collections: the cycles of one file are small, a collection is not."""
_COLLECT_ALL_EVERY = 128
"""Collections between two that look also at what has been kept: other files, most of which stay.
Workers, of which there are several, do so four times as often."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process that worked on a task ended without a result: out of memory, or a crash."""


def each(
    function: Callable[[T], R], tasks: Sequence[T], jobs: int, preload: Sequence[str] = ()
) -> Iterator[tuple[T, R | Died]]:
    """Each task with its result, as they come. `function` must not raise.

    With one job everything happens in this process. `preload` names modules that worker
    processes should have imported. Workers have ended when the iterator is closed.
    """
    if jobs <= 1 or len(tasks) <= 1:
        yield from _in_process(function, tasks)
        return
    size = max(1, min(_CHUNK, len(tasks) // (jobs * 4)))
    chunks = deque(tuple(tasks[start : start + size]) for start in range(0, len(tasks), size))
    while chunks:
        suspects: list[tuple[T, ...]] = []
        with _Workers(function, jobs, preload) as workers:
            yield from workers.finish(chunks, suspects)
        # One of these killed its process. Each gets one of its own, so that one alone is blamed.
        for chunk in suspects:
            for task in chunk:
                yield task, _alone(function, task, preload)


def _in_process(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | Died]]:
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


@contextmanager
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


class _Workers(Generic[T, R]):
    """A pool of processes that are gone when the `with` block is left, whatever happened."""

    def __init__(self, function: Callable[[T], R], jobs: int, preload: Sequence[str]) -> None:
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context(
            "forkserver" if "forkserver" in methods else "spawn"
        )
        if preload and "forkserver" in methods:
            self._context.set_forkserver_preload(list(preload))
        self._function = function
        self._jobs = jobs
        self._executor = ProcessPoolExecutor(jobs, self._context, initializer=_start)

    def __enter__(self) -> _Workers[T, R]:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._executor.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:
            for process in multiprocessing.active_children():
                process.terminate()

    def finish(
        self, chunks: deque[tuple[T, ...]], suspects: list[tuple[T, ...]]
    ) -> Iterator[tuple[T, R | Died]]:
        """Work on the chunks until they, or a process, are gone.

        Then those that were being worked on are in `suspects` and the rest is left in `chunks`.
        Few are handed out at a time, so that few are suspected.
        """
        running: dict[Future[list[R]], tuple[T, ...]] = {}
        while chunks or running:
            try:
                while chunks and len(running) < self._jobs * 2:
                    with _interrupts_held():
                        future = self._executor.submit(_work, self._function, chunks[0])
                    running[future] = chunks.popleft()
            except BrokenProcessPool:
                suspects.extend(running.values())
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    results = future.result()
                except BrokenProcessPool:
                    suspects.extend(running.values())
                    return
                yield from zip(running.pop(future), results, strict=True)


def _alone(function: Callable[[T], R], task: T, preload: Sequence[str]) -> R | Died:
    with _Workers(function, 1, preload) as workers:
        suspects: list[tuple[T, ...]] = []
        for _, result in workers.finish(deque([(task,)]), suspects):
            return result
    return Died()


def _start() -> None:
    """A worker leaves Ctrl-C to the parent, and what is imported by now lives forever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    gc.freeze()


def _work(function: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
    results = [function(task) for task in tasks]
    _collect(_COLLECT_ALL_EVERY // 4)
    return results


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while a process is started, which inherits that until `_start` is run."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
