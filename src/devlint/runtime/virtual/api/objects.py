"""Devices, streams, events, generators: the objects that a program makes by itself."""

from __future__ import annotations

import abc
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch._streambase import _EventBase, _StreamBase

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.arrivals import ARRIVALS
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.world import World

_REAL_DEVICE = torch.device


def patch(world: World, patches: Patches) -> None:
    """Put the emulated objects in the places of torch's own."""
    machine = world.machine
    patches.set(torch, "device", _device_type(machine))
    # Files are read with a table of what is allowed, which is made at the first and then kept.
    patches.callback(torch._weights_only_unpickler._get_allowed_globals.cache_clear)
    patches.set(torch, "Generator", generator_type(machine))


def _device_type(machine: Machine) -> type:
    """Stands in for `torch.device`, which can't be subclassed: `torch.device(0)` needs a GPU.

    Its name is torch's, so that a device is pickled as ever: as `torch.device`, whichever that is.
    """

    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _REAL_DEVICE)

        def __subclasscheck__(cls, other: type) -> bool:
            return other is cls or issubclass(other, _REAL_DEVICE)

        # Tables by type are asked for either: that of `torch.library.custom_op`, for one.
        def __eq__(cls, other: object) -> bool:
            return other is cls or other is _REAL_DEVICE

        def __hash__(cls) -> int:
            return hash(_REAL_DEVICE)

    class device(metaclass=Meta):  # noqa: N801 - torch's name
        __doc__ = _REAL_DEVICE.__doc__

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            number = args[0] if args else kwargs.get("device")
            if type(number) is not int:
                return _REAL_DEVICE(*args, **kwargs)
            # The machine isn't asked whether it has so many; whatever is made there is.
            return _REAL_DEVICE(machine.kind.type, number)

    device.__module__, device.__qualname__ = "torch", "device"
    return device


def generator_type(machine: Machine) -> type:
    """Stands in for `torch.Generator`: one of an accelerator draws from a CPU generator."""

    class Meta(type(torch._C.Generator)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, torch._C.Generator)

    class Generator(torch._C.Generator, metaclass=Meta):
        def __new__(cls, device: Any = "cpu") -> Any:
            target = machine.resolve(device)
            if target is None or not machine.owns(target):
                return torch._C.Generator(device=device)
            made: Any = torch._C.Generator.__new__(cls)
            made._devlint_device = target
            return made

        def __init__(self, device: Any = "cpu") -> None:
            pass

        @property
        def device(self) -> torch.device:  # type: ignore[override]
            found: torch.device = self._devlint_device  # type: ignore[attr-defined]
            return found

        def clone_state(self) -> Any:
            made = type(self)(self.device)
            made.set_state(self.get_state())
            return made

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.streams: dict[torch.device, Any] = {}
        """The current one of each device."""


class Streams:
    """Streams and events. All work is done when a call returns, so there is nothing to wait for;
    which stream is the current one is kept, for programs that ask.
    """

    def __init__(self, machine: Machine, synchronize: Callable[[], None]) -> None:
        self.machine = machine
        self.synchronize = synchronize
        self._thread = _PerThread()
        self.ids = itertools.count(1)
        self.event_type = _event_type(machine, synchronize)
        self.stream_type = _stream_type(self)
        for base, made in ((_StreamBase, self.stream_type), (_EventBase, self.event_type)):
            if isinstance(base, abc.ABCMeta):  # of 2.4, whose compiler asks for that
                base.register(made)
        self._defaults: dict[torch.device, Any] = {}

    def default(self, device: Any = None) -> Any:
        found = self.machine.resolve_or_current(device)
        if found not in self._defaults:
            self._defaults[found] = self.stream_type(found, _id=0)
        return self._defaults[found]

    def current(self, device: Any = None) -> Any:
        found = self.machine.resolve_or_current(device)
        return self._thread.streams.get(found) or self.default(found)

    def external(self, data_ptr: int, device: Any = None) -> Any:
        """A stream that another library has made."""
        return self.stream_type(device, _id=data_ptr)

    def set_current(self, stream: Any) -> None:
        if stream is not None:
            self._thread.streams[stream.device] = stream
            self.machine.thread.current = stream.device.index

    def enter(self, stream: Any) -> tuple[int, Any]:
        """Make a stream current, and its device. Returns what `leave` needs."""
        before = self.machine.thread.current, self.current(stream.device)
        self.set_current(stream)
        return before

    def leave(self, before: tuple[int, Any]) -> None:
        index, stream = before
        self.set_current(stream)
        self.machine.thread.current = index


def _stream_type(streams: Streams) -> type:
    class Stream:
        def __init__(
            self, device: Any = None, priority: int = 0, *, _id: int | None = None, **kwargs: Any
        ) -> None:
            self.device = streams.machine.resolve_or_current(device)
            self.device_index = self.device.index
            self.device_type = 1
            self.priority = priority
            self.stream_id = next(streams.ids) if _id is None else _id
            self.cuda_stream = self.sycl_queue = self.native_handle = self.stream_id
            self._before: list[Any] = []

        def synchronize(self) -> None:
            streams.synchronize()

        def wait_stream(self, stream: Any) -> None:
            pass

        def wait_event(self, event: Any) -> None:
            pass

        def record_event(self, event: Any = None) -> Any:
            event = streams.event_type() if event is None else event
            event.record(self)
            return event

        def query(self) -> bool:
            ARRIVALS.end()  # who is told that all is done needn't wait
            return True

        def is_capturing(self) -> bool:
            return False

        def __enter__(self) -> Any:
            self._before.append(streams.enter(self))
            return self

        def __exit__(self, *details: object) -> None:
            streams.leave(self._before.pop())

        def __eq__(self, other: object) -> bool:
            same = isinstance(other, Stream) and other.stream_id == self.stream_id
            return same and other.device == self.device  # type: ignore[attr-defined]

        def __hash__(self) -> int:
            return hash((self.device, self.stream_id))

    return Stream


def _event_type(machine: Machine, synchronize: Callable[[], None]) -> type:
    class Event:
        def __init__(
            self,
            device: Any = None,
            enable_timing: bool = False,
            blocking: bool = False,
            interprocess: bool = False,
            **kwargs: Any,
        ) -> None:
            if isinstance(device, bool):  # `torch.cuda.Event(True)`
                device, enable_timing = None, device
            self.enable_timing = enable_timing
            self.device = machine.resolve_or_current(device)
            self.event_id = 0
            self._time: float | None = None

        def record(self, stream: Any = None) -> None:
            self._time = time.perf_counter()

        def wait(self, stream: Any = None) -> None:
            pass

        def query(self) -> bool:
            ARRIVALS.end()  # who is told that all is done needn't wait
            return True

        def synchronize(self) -> None:
            synchronize()

        def elapsed_time(self, end_event: Any) -> float:
            """Milliseconds from this event to another.

            Raises:
                ValueError: unless both were made with `enable_timing=True` and recorded.
            """
            if not (self.enable_timing and end_event.enable_timing):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if self._time is None or end_event._time is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return float((end_event._time - self._time) * 1000)

    return Event
