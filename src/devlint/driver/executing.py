"""Hands units of tasks to an executor, and outlives what dies there.

An executor is what `concurrent.futures` calls one: the processes of `pool` are one, a cluster is
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeVar

from devlint.config.settings import SettingsError

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = 30.0
"""Seconds until an executor that has broken has said so of all that it was given."""
_LONGEST = 300
"""Characters of an error that are told."""


class ExecutorError(SettingsError):
    """There is no executor that could do the work; the text says why, on one line."""

    def __str__(self) -> str:
        return f"--executor: {super().__str__()}"


class DiedError(Exception):
    """A process has ended before it gave a result."""


class RefusedError(Exception):
    """A worker is another devlint than this one, so it has done nothing; the text says how."""


DIFFERS = (RefusedError, ImportError, AttributeError)
"""What tells that a worker is another devlint: one may not have what it is to call."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process that worked on a task ended without a result: out of memory, or a crash; or what
    else it was, where an executor says so."""

    reason: str = ""


class Executor(Protocol):
    """What is used of an executor."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]: ...

    def shutdown(self, wait: bool = True) -> None: ...


class Crew:
    """An executor, made by a function, that is to have so many units at a time.

    Override what an executor does otherwise.
    """

    def __init__(self, make: Callable[[], Executor], width: int) -> None:
        self._make = make
        self._executor = make()
        self._width = width

    @property
    def width(self) -> int:
        """How many units are to be under way."""
        return self._width

    def submit(self, function: Callable[..., Any], unit: object) -> Future[Any]:
        """Have a function applied to a unit. Raises `BrokenExecutor`, `ExecutorError`."""
        return self._executor.submit(function, unit)

    def renew(self) -> None:
        """Take a new executor in the place of one that is broken."""
        self._executor.shutdown(wait=False)
        self._executor = self._make()

    def refuse(self, error: BaseException) -> None:
        """Leave out the workers that are another devlint. Raises `ExecutorError` where these can't
        be left out, or none is left."""
        raise ExecutorError(f"a worker is refused: {error}") from error

    def check(self) -> None:
        """Raise `ExecutorError` where nothing works any more, and not for one unit alone."""

    def close(self) -> None:
        """Give up what isn't done."""
        self._executor.shutdown(wait=False)


def spread(
    function: Callable[[Sequence[T]], Sequence[R]], units: Iterable[Sequence[T]], crew: Crew
) -> Iterator[tuple[T, R | Died]]:
    """Each task with its result, as the units are done. `function` must not raise, but for
    `RefusedError`.

    What was under way where something died is done again at the end, task by task and one at a
    time: each is only to blame for itself, and has the memory for itself. Raises `ExecutorError`.
    """
    suspects: list[tuple[T, Exception]] = []
    yield from _finish(function, units, crew, False, suspects)
    for task, _ in suspects:
        dead: list[tuple[T, Exception]] = []
        yield from _finish(function, [[task]], crew, True, dead)
        for _, error in dead:
            crew.check()
            yield task, Died(_reason(error))


def _finish(
    function: Callable[[Sequence[T]], Sequence[R]],
    units: Iterable[Sequence[T]],
    crew: Crew,
    alone: bool,
    failed: list[tuple[T, Exception]],
) -> Iterator[tuple[T, R | Died]]:
    """The results of units, of which as many are under way as the crew is to have, or one `alone`;
    the tasks of those that have none are added to `failed`, with what was raised instead."""
    waiting, again = iter(units), list[Sequence[T]]()
    pending: dict[Future[Any], Sequence[T]] = {}
    renewed = False
    try:
        while True:
            broken = False
            while not broken and len(pending) < (1 if alone else crew.width):
                unit = again.pop() if again else next(waiting, None)
                if unit is None:
                    break
                try:
                    pending[crew.submit(function, unit)] = unit
                except BrokenExecutor as error:
                    if renewed and not pending:
                        raise ExecutorError(f"it breaks again and again ({told(error)})") from error
                    again.append(unit)
                    broken = True
            if not pending and not broken:
                return
            done = wait(pending, return_when=FIRST_COMPLETED).done
            if broken or any(map(_is_broken, done)):
                broken, done = True, wait(pending, timeout=_PATIENCE).done
            for future in done:
                unit = pending.pop(future)
                try:
                    results: Sequence[R] = future.result()
                except DIFFERS as error:
                    crew.refuse(error)
                    again.append(unit)
                except Exception as error:  # whatever an executor raises: it is anybody's
                    failed.extend((task, error) for task in unit)
                else:
                    yield from zip(unit, results, strict=True)
            renewed = broken
            if broken:
                left = chain.from_iterable(pending.values())
                failed.extend((task, BrokenExecutor()) for task in left)
                pending.clear()
                crew.renew()
    finally:
        for future in pending:
            future.cancel()


def _reason(error: Exception) -> str:
    return "" if isinstance(error, (DiedError, BrokenExecutor)) else told(error)


def told(error: BaseException | None) -> str:
    """An error on one line, the start of it where it is long."""
    text = " ".join(str(error).split())
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return short if isinstance(error, RefusedError) else f"{type(error).__name__}: {short}"


def _is_broken(future: Future[Any]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)
