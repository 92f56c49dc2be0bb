"""Turning an emulation on and off."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from devlint.runtime.virtual.api import (
    autocast,
    distributed,
    exchange,
    libraries,
    modules,
    objects,
    optimizers,
    processes,
    storages,
)
from devlint.runtime.virtual.autograd import Autograd
from devlint.runtime.virtual.composites import Composites
from devlint.runtime.virtual.factories import Factories
from devlint.runtime.virtual.host import Host
from devlint.runtime.virtual.kinds import Spec, parse
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.moves import Moves
from devlint.runtime.virtual.patches import Patches
from devlint.runtime.virtual.waits import install
from devlint.runtime.virtual.world import World

Function = TypeVar("Function", bound=Callable[..., Any])


class _Running:
    """The one emulation that is on: torch is one for the whole process."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.thread = ""
        """The name of the thread that has entered it."""
        self.logs: list[list[Any]] = []
        """In the last of them an emulation notes its transfers that has no log of its own."""
        self.lock = threading.RLock()
        """Reentrant: a generator that holds an emulation may be thrown away at any moment."""
        self.watches_forks = False


_running = _Running()


def running_world() -> World | None:
    """The emulation that is on, if one is."""
    return _running.world


def share_log(log: Any) -> Callable[[], None]:
    """Give a log to the emulations that begin from now on, until what is returned is called.

    Those who share logs may end in another order than they have begun.
    """
    entry = [log]  # one log may be shared twice
    _running.logs.append(entry)

    def take_back() -> None:
        _running.logs = [each for each in _running.logs if each is not entry]

    return take_back


def emulate(kind: str = "cuda", count: int | None = None, *, transfers: Any = None) -> Emulation:
    """Pretend that this machine has accelerators.

    To be used in a `with` statement or as a decorator.

    Args:
        kind: "cuda", "xpu" or "mps"; "cuda:2" stands for two of them.
        count: how many; one unless given.
        transfers: notes copies between devices, if given.

    Raises:
        ValueError: for another kind, or a number that no machine has.
    """
    return Emulation(parse(kind, count), transfers)


class Emulation:
    """Accelerators that are there between entering and leaving.

    Raises:
        RuntimeError: on entering, if an emulation is on already.
    """

    def __init__(self, spec: Spec, transfers: Any = None) -> None:
        self.spec = spec
        self.transfers = transfers
        self._world: World | None = None
        self._patches = Patches()

    @property
    def limits(self) -> dict[str, int]:
        """What the program has used that isn't emulated, and how often."""
        return {} if self._world is None else dict(self._world.limits)

    @property
    def copies(self) -> int:
        """How many copies between devices the program has made."""
        return 0 if self._world is None else self._world.copies

    @property
    def is_used(self) -> bool:
        """Whether the program has used an accelerator."""
        return self._world is not None and self._world.machine.initialized

    @property
    def has_refused(self) -> bool:
        """Whether an operator was given tensors of several devices."""
        return self._world is not None and self._world.checks.has_refused

    def __enter__(self) -> Emulation:
        with _running.lock:
            if _running.world is not None:
                raise RuntimeError(
                    f"an emulation of {_running.world.machine.spec} is on already, entered in "
                    f"thread {_running.thread!r}, and all threads share the one: leave it first"
                )
            log = self.transfers
            if log is None and _running.logs:
                (log,) = _running.logs[-1]
            world = self._world = World(Machine(self.spec), log)
            _running.world, _running.thread = world, threading.current_thread().name
        try:
            self._turn_on(world)
        except BaseException:
            self._turn_off()
            raise
        return self

    def __exit__(self, *details: object) -> None:
        self._turn_off()

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def emulated(*args: Any, **kwargs: Any) -> Any:
            with Emulation(self.spec, self.transfers):
                return function(*args, **kwargs)

        return emulated  # type: ignore[return-value]

    def _turn_on(self, world: World) -> None:
        moves = Moves(world)
        autograd = Autograd(world)
        handlers = world.functions.handlers
        factories = Factories(world, moves)
        for part in (moves, factories, Host(world), autograd, Composites(world)):
            handlers.update(part.handlers())
        autocast.patch(world, self._patches)
        if world.transfers is not None:
            install(world, world.transfers)  # around those that there are
        world.functions.placeless = moves.placeless() - set(handlers)
        storages.patch(world, self._patches)
        objects.patch(world, self._patches)
        modules.Surface(world).patch(self._patches)
        libraries.patch(world, self._patches)
        factories.patch(self._patches)
        autograd.patch(self._patches)
        optimizers.patch(world, self._patches)
        processes.patch(world, self._patches)
        distributed.patch(world, self._patches)
        exchange.patch(world, self._patches)
        _watch_forks()
        world.functions.__enter__()

    def _turn_off(self) -> None:
        """Any thread may do that, and other threads see nothing of the emulation from then on."""
        with _running.lock:
            if self._world is None:
                return
            self._world.functions.end()  # in this thread also where another has done the rest
            if self._world is not _running.world:
                return
            try:
                self._patches.undo()
            finally:
                _running.world = None


def _watch_forks() -> None:
    if not _running.watches_forks and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
        _running.watches_forks = True


def _after_fork() -> None:
    _running.lock = threading.RLock()  # another thread of the parent may have held it
    if _running.world is not None:
        _running.world.machine.after_fork()
