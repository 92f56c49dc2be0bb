"""The executors that the command line may name: a running Dask or Ray, or anybody's.

None is believed before it has said that it is the same devlint, and none is named by a
configuration file: what is linted may be a stranger's.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import Any

from devlint.config.sources import Source
from devlint.driver.executing import (
    DIFFERS,
    Crew,
    Died,
    DiedError,
    Executor,
    ExecutorError,
    spread,
    told,
)
from devlint.driver.remote import Checker, Terms, greet, lint, terms_of
from devlint.driver.run import Outcome
from devlint.driver.units import Overview

FORMS = "dask://HOST:PORT, ray://HOST:PORT or MODULE:CALLABLE"
_PATIENCE = 60.0
"""Seconds until a cluster has to answer."""
_STARTING = 300.0
"""Seconds in which a cluster that is idle has started a worker."""
_LEAST = 16
"""Units that Dask is handed, however few workers it has."""
_SOON = 5.0
"""Seconds in which most workers answer."""
_PLACE = re.compile(r"(?:[^\s/:@\[\]]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}")
_CALLABLE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class Elsewhere:
    """Lints files with an executor. Raises `ExecutorError` where a text names none."""

    def __init__(self, name: str) -> None:
        self._make = _made_by(name)
        self.refused: dict[str, str] = {}
        """Workers that aren't the same devlint, and how they differ."""

    def __call__(self, todo: Sequence[Source]) -> Iterator[tuple[Source, Outcome | Died]]:
        """What comes of each file, as it comes. Raises `ExecutorError`."""
        settings = {id(source.settings): source.settings for source in todo}
        terms = terms_of(settings.values(), uuid.uuid4().hex)
        with closing(self._make(terms)) as crew:
            self.refused = crew.refused
            overview = Overview(todo)
            checker = Checker(overview.contents)
            units = overview.units(crew.workers)
            for source, outcome in spread(partial(lint, terms), units, crew):
                known = outcome if isinstance(outcome, Died) else checker.checked(source, outcome)
                yield source, known


class _Anybodys(Crew):
    """Any executor. Whose workers differ can't be told apart from the others."""

    def __init__(self, make: Callable[[], Executor], terms: Terms, workers: int = 0) -> None:
        super().__init__(make, 1)
        self.workers = workers or getattr(self._executor, "_max_workers", None) or _cores()
        self._width = 2 * self.workers
        self.refused: dict[str, str] = {}
        self._terms = terms
        self.check()

    def check(self) -> None:
        try:
            self.submit(greet, self._terms).result(_STARTING)
        except Exception as error:
            self.close()
            if isinstance(error, DIFFERS):
                self.refuse(error)
            raise ExecutorError(f"it does nothing ({told(error)})") from error

    def refuse(self, error: BaseException) -> None:
        raise ExecutorError(f"a worker is refused: {told(error)}") from error


class _Dask(Crew):
    """The workers of a Dask cluster, as many as there are at a time."""

    def __init__(self, address: str, terms: Terms) -> None:
        from distributed import Client

        for name in tuple(logging.root.manager.loggerDict):
            if name.startswith("distributed"):  # each has its own level; what fails is told by us
                logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(f"tcp://{address}", timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ExecutorError(f"no scheduler of Dask answers at {address}") from error
        self.refused: dict[str, str] = {}
        self._terms = terms
        try:
            self._ask_scheduler(address)
            # Something to do, for a cluster that starts workers when there is.
            wanted = self._client.get_executor(pure=False).submit(greet, terms)
            self._client.wait_for_workers(1, timeout=_STARTING)
            wanted.cancel()
            self._compare()
            self.workers = max(1, sum(self._client.nthreads().values()))
        except BaseException as error:
            self._client.close()
            if isinstance(error, (OSError, TimeoutError)):
                raise ExecutorError(f"the Dask cluster at {address} has no worker") from error
            raise
        super().__init__(partial(self._client.get_executor, pure=False), 2 * self.workers)
        self._counted = time.monotonic()

    @property
    def width(self) -> int:
        """Twice as many as there are threads by now; and some, for a cluster that grows by what is
        to be done."""
        if time.monotonic() - self._counted > _SOON:
            self._width = 2 * sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return max(_LEAST, self._width)

    def submit(self, function: Callable[..., Any], unit: object) -> Future[Any]:
        if not self.refused:
            return super().submit(function, unit)
        # Workers that have come meanwhile are taken too.
        others = [each for each in self._client.nthreads() if each not in self.refused]
        if not others:
            raise ExecutorError("only workers are left that are refused")
        future: Future[Any] = self._client.get_executor(
            pure=False, workers=others, allow_other_workers=True
        ).submit(function, unit)
        return future

    def _ask_scheduler(self, address: str) -> None:
        """Ask the scheduler as well, which reads what is sent through it."""
        try:
            self._client.run_on_scheduler(greet, self._terms)
        except DIFFERS as error:
            raise ExecutorError(f"the scheduler at {address} is refused: {told(error)}") from error

    def _compare(self) -> None:
        """Ask all workers which devlint they are. Who is busy elsewhere, or has just gone, isn't
        waited for: each is asked again with what it is handed."""
        executor = self._client.get_executor(pure=False)
        asked: dict[Future[None], str] = {
            executor.submit(greet, self._terms, workers=[address]): address
            for address in self._client.nthreads()
        }
        done, waiting = wait(asked, _SOON)
        end = time.monotonic() + _PATIENCE
        while waiting and not any(map(_agrees, done)) and time.monotonic() < end:
            more, waiting = wait(waiting, end - time.monotonic(), FIRST_COMPLETED)
            done |= more
        executor.shutdown(wait=False)
        errors = {asked[each]: each.exception() for each in done if not _agrees(each)}
        self.refused.update(
            {address: told(why) for address, why in errors.items() if isinstance(why, DIFFERS)}
        )
        if len(errors) == len(done):
            some = "; ".join(f"{place}: {told(why)}" for place, why in sorted(errors.items())[:3])
            raise ExecutorError(
                f"all workers are refused ({some})" if some else "no worker answers"
            )

    def refuse(self, error: BaseException) -> None:
        if told(error) in self.refused.values():
            return  # it had that unit already
        self._compare()
        if told(error) not in self.refused.values():
            super().refuse(error)

    def check(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except Exception as error:
            raise ExecutorError(f"the Dask cluster has gone ({told(error)})") from error

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._client.close()


def _agrees(future: Future[Any]) -> bool:
    """Whether a worker has answered that it is the same devlint."""
    return not future.cancelled() and future.exception() is None


class _Ray:
    """A Ray cluster as an executor."""

    def __init__(self, address: str) -> None:
        import ray

        self._ray = ray
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is told below
                ray.init(f"ray://{address}", logging_level=logging.ERROR, log_to_driver=False)
        except (OSError, RuntimeError) as error:
            raise ExecutorError(f"no Ray answers at {address} ({told(error)})") from error
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Ray would run what a worker dies of three times more, and what takes too much memory again
        # and again: `spread` does it once more, with nothing beside it.
        self._call = ray.remote(num_cpus=1, max_retries=0)(_call)

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future = Future[Any]()
        try:
            if not self._ray.is_initialized():  # it would start a Ray of its own
                raise ConnectionError("Ray has gone")
            given = self._call.remote(function, *args).future()
            given.add_done_callback(partial(self._hand_on, future))
        except ConnectionError as error:
            future.set_exception(error)
        return future

    def _hand_on(self, future: Future[Any], given: Future[Any]) -> None:
        """Hand on what has come of a task; of an error what was raised where it ran."""
        if not future.set_running_or_notify_cancel():
            return  # nobody waits for it
        error = given.exception()
        if error is None:
            future.set_result(given.result())
        elif isinstance(error, self._ray.exceptions.WorkerCrashedError):
            future.set_exception(DiedError())
        else:
            cause = getattr(error, "cause", None)
            future.set_exception(cause if isinstance(cause, Exception) else error)

    def shutdown(self, wait: bool = True) -> None:
        self._ray.shutdown()


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def _made_by(name: str) -> Callable[[Terms], _Anybodys | _Dask]:
    """How a crew is made that the command line names. Raises `ExecutorError`."""
    scheme, found, place = name.partition("://")
    if found:
        if scheme not in ("dask", "ray"):
            raise ExecutorError(f"`{name}` is none of {FORMS}")
        if not _PLACE.fullmatch(place) or int(place.rpartition(":")[2]) > 65535:
            raise ExecutorError(f"`{name}` is not of the form {scheme}://HOST:PORT")
        if find_spec("distributed" if scheme == "dask" else "ray") is None:
            package = "distributed" if scheme == "dask" else "'ray[client]'"
            raise ExecutorError(f"it needs `pip install {package}`")
        if scheme == "dask":
            return partial(_Dask, place)
        return lambda terms: _of(_Ray(place), terms)
    if not _CALLABLE.fullmatch(name):
        raise ExecutorError(f"`{name}` is none of {FORMS}")
    module, _, path = name.partition(":")
    try:
        found_there: Any = importlib.import_module(module)
        for part in path.split("."):
            found_there = getattr(found_there, part)
    except (ImportError, AttributeError) as error:
        raise ExecutorError(
            f"{error}; modules are looked for where Python has its packages, and not in what is "
            "linted"
        ) from error
    if not callable(found_there):
        raise ExecutorError(f"`{name}` can't be called")
    return lambda terms: _Anybodys(partial(_called, name, found_there), terms)


def _of(ray: _Ray, terms: Terms) -> _Anybodys:
    return _Anybodys(lambda: ray, terms, ray.workers)


def _called(name: str, make: Callable[[], Any]) -> Executor:
    try:
        made = make()
    except Exception as error:
        raise ExecutorError(f"`{name}` makes no executor ({told(error)})") from error
    if not (hasattr(made, "submit") and hasattr(made, "shutdown")):
        raise ExecutorError(f"`{name}` gives a {type(made).__name__}, which is no executor")
    executor: Executor = made
    return executor


def _cores() -> int:
    return os.cpu_count() or 1
