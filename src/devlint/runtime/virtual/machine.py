"""The emulated machine: how many accelerators it has, which one is current, what it is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.virtual.kinds import Kind, Spec
from devlint.runtime.virtual.precision import WITHOUT, Autocast
from devlint.runtime.virtual.tags import CPU, NEUTRAL, is_tagged, own_storage, place

_FORKED = (
    "Cannot re-initialize {title} in forked subprocess. To use {title} with multiprocessing, "
    "you must use the 'spawn' start method"
)

_UNSEEN = (
    "the emulation of {spec} doesn't see the calls of this thread, which was running before it: it "
    "sees the thread that entered it and those that were started since. Start this thread, or the "
    "pool that it belongs to, inside the emulation"
)

real_device_type = torch.device


class _PerThread(threading.local):
    """What one thread is doing. All numbers but the first say how many such contexts it is in."""

    current = 0
    """The index of the device that `torch.cuda.set_device` chose."""
    engine = 0
    """Runs of the autograd engine, which makes gradients that nobody has placed yet."""
    watched = 0
    """Contexts that need every operation to be seen one by one."""
    autocast = 0
    """Autocast of the accelerator, which the real CPU's stands for."""
    host_autocast = 0
    """Autocast of the CPU itself, which the accelerator's tensors must not see."""
    hosts_own: Autocast = WITHOUT
    """How the CPU itself casts, while the real one stands for the accelerator."""
    lenient = 0
    """Calls of functions that move their operands themselves."""
    seen = 0
    """The emulation's function mode, which sees the thread's calls."""
    unusual = 0
    """Any of engine, watched, autocast and host_autocast."""

    @contextmanager
    def inside(self, what: str) -> Iterator[None]:
        """Be in one of the unusual contexts."""
        self.enter(what)
        try:
            yield
        finally:
            self.leave(what)

    def enter(self, what: str) -> None:
        setattr(self, what, getattr(self, what) + 1)
        self.unusual += 1

    def leave(self, what: str) -> None:
        setattr(self, what, getattr(self, what) - 1)
        self.unusual -= 1

    def casting(self, on_accelerator: bool) -> Autocast | None:
        """How the real CPU has to cast for tensors there, where it is set to something else."""
        if self.autocast:
            return None if on_accelerator else self.hosts_own
        return WITHOUT if on_accelerator and self.host_autocast else None

    @contextmanager
    def moving_operands(self) -> Iterator[None]:
        """Be in a function that moves its operands itself."""
        self.lenient += 1
        try:
            yield
        finally:
            self.lenient -= 1


class Machine:
    """So many accelerators of one kind."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.kind: Kind = spec.kind
        self.count = spec.count
        self.devices = tuple(_device(self.kind.type, index) for index in range(spec.count))
        self.initialized = False
        self.forked = False
        """In a child that was forked after the accelerator had been used, it can't be used."""
        self.thread = _PerThread()

    def wake_for_torch(self) -> None:
        """What torch itself asks for before it makes a tensor on an accelerator.

        Raises:
            RuntimeError: in a thread whose calls the emulation doesn't see, or as `wake` does.
        """
        if not self.thread.seen:
            raise RuntimeError(_UNSEEN.format(spec=self.spec))
        self.wake()

    def wake(self) -> None:
        """What the first use of an accelerator does.

        Raises:
            RuntimeError: in a process that was forked from one that had used it.
        """
        if self.forked:
            raise RuntimeError(_FORKED.format(title=self.kind.title))
        self.initialized = True

    def after_fork(self) -> None:
        """A forked child can't use what its parent has initialised."""
        self.forked = self.forked or self.initialized
        self.initialized = False

    def owns(self, device: torch.device) -> bool:
        """Whether a device is one of the emulated ones."""
        return device.type == self.kind.type

    def known_place(self, tensor: Tensor) -> torch.device:
        """Where a tensor is; `NEUTRAL` in the engine, where it is on the CPU or nobody has said."""
        found = place(tensor)
        if found is not CPU or not self.thread.engine or is_tagged(tensor):
            return found
        return CPU if getattr(own_storage(tensor), "_devlint_pinned", False) else NEUTRAL

    @property
    def has_cudnn(self) -> bool:
        """Whether recurrent layers run in cuDNN."""
        return self.kind.type == "cuda" and torch.backends.cudnn.enabled

    @property
    def current(self) -> torch.device:
        return self.devices[self.thread.current]

    def resolve(self, device: Any) -> torch.device | None:
        """The device that an argument names, with its index if it is an accelerator.

        Raises:
            RuntimeError: where the machine has no such device, or the string spells none.
        """
        if device is None:
            return None
        if isinstance(device, bool):
            raise TypeError(f"a device is expected, not {device}")
        if isinstance(device, int):
            return self.at(device)
        if not isinstance(device, real_device_type):
            device = real_device_type(device)
        if device.type != self.kind.type:
            return CPU if device.type == "cpu" else device
        return self.at(self.thread.current if device.index is None else device.index)

    def resolve_or_current(self, device: Any) -> torch.device:
        """As `resolve`; the current accelerator where no device is named."""
        return self.resolve(device) or self.current

    def at(self, index: int) -> torch.device:
        """The accelerator of an index.

        Raises:
            RuntimeError: where the machine has no such device.
        """
        if index < 0:
            raise RuntimeError("Device index must not be negative")
        self.wake()
        if index >= self.count:
            text = self.kind.out_of_range.format(index=index, count=self.count)
            raise error_type()(text)
        return self.devices[index]


@cache
def _device(type_: str, index: int) -> torch.device:
    """One object for one device, in all emulations: places are compared by identity."""
    return real_device_type(type_, index)


def error_type() -> type[RuntimeError]:
    """What errors of the accelerator's runtime are."""
    return getattr(torch, "AcceleratorError", RuntimeError)
