"""Turning an emulation on and off."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.api import (
    autocast,
    defaults,
    distributed,
    exchange,
    libraries,
    modules,
    objects,
    optimizers,
    processes,
    profiling,
    storages,
)
from devlint.runtime.virtual.api.warned import WARNINGS
from devlint.runtime.virtual.autograd import Autograd
from devlint.runtime.virtual.composites import Composites
from devlint.runtime.virtual.factories import Factories
from devlint.runtime.virtual.host import Host
from devlint.runtime.virtual.kinds import Spec, parse
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.moves import Moves
from devlint.runtime.virtual.running import RUNNING
from devlint.runtime.virtual.world import World


def emulate(kind: str = "cuda", count: int | None = None, *, transfers: Any = None) -> Emulation:
    """Emulate accelerators on this machine.

    To be used in a `with` statement or as a decorator.

    Args:
        kind: "cuda", "xpu" or "mps"; "cuda:2" means two of them.
        count: how many; 1 by default.
        transfers: records copies between devices, if given.

    Raises:
        ValueError: for another kind, or an impossible number.
    """
    return Emulation(parse(kind, count), transfers)


def start_for_good(spec: str) -> None:
    """Emulate until the process ends: what a spawned process begins with."""
    emulate(spec).__enter__()


class Emulation(ContextDecorator):
    """Accelerators that exist inside a `with` statement.

    Args:
        spec: what to emulate.
        transfers: notes copies between devices, if given.
        extend: changes an emulation that is as good as on.

    Raises:
        RuntimeError: on entering, if an emulation is on already.
    """

    def __init__(
        self,
        spec: Spec,
        transfers: Any = None,
        extend: Callable[[World, Patches], None] | None = None,
    ) -> None:
        self.spec = spec
        self.transfers = transfers
        self._extend = extend
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
        with RUNNING.lock:
            if RUNNING.world is not None:
                raise RuntimeError(
                    f"an emulation of {RUNNING.world.machine.spec} is on already, entered in "
                    f"thread {RUNNING.thread!r}, and all threads share the one: leave it first"
                )
            world = self._world = World(Machine(self.spec))
            RUNNING.world, RUNNING.thread = world, threading.current_thread().name
        try:
            self._turn_on(world)
        except BaseException:
            self._turn_off()
            raise
        return self

    def __exit__(self, *details: object) -> None:
        self._turn_off()

    def _recreate_cm(self) -> Emulation:
        """The emulation of one call of a decorated function."""
        return Emulation(self.spec, self.transfers)

    def _turn_on(self, world: World) -> None:
        moves = Moves(world)
        autograd = Autograd(world)
        handlers = world.functions.handlers
        factories = Factories(world, moves)
        for part in (moves, factories, Host(world), autograd, Composites(world)):
            handlers.update(part.handlers())
        autocast.patch(world, self._patches)
        world.functions.placeless = moves.placeless() - set(handlers)
        for api in (
            storages, objects, modules, defaults, libraries, profiling, optimizers, distributed,
            exchange,
        ):  # fmt: skip
            api.patch(world, self._patches)
        factories.patch(self._patches)
        autograd.patch(self._patches)
        processes.patch(world, self._patches, start_for_good)
        self._patches.enter_context(WARNINGS)
        if self._extend is not None:
            self._extend(world, self._patches)
        _watch_forks()
        world.functions.__enter__()
        if self.transfers is not None:
            from devlint.runtime.tracing import Tracing

            self._patches.enter_context(Tracing(self.transfers))

    def _turn_off(self) -> None:
        """Any thread may do that, and other threads see nothing of the emulation from then on."""
        with RUNNING.lock:
            if self._world is None:
                return
            self._world.functions.end()  # in this thread also where another has done the rest
            if self._world is not RUNNING.world:
                return
            try:
                self._patches.close()
            finally:
                RUNNING.world = None


def _watch_forks() -> None:
    if not RUNNING.watches_forks and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
        RUNNING.watches_forks = True


def _after_fork() -> None:
    RUNNING.lock = threading.RLock()  # another thread of the parent may have held it
    if RUNNING.world is not None:
        RUNNING.world.machine.after_fork()
