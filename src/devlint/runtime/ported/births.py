"""What the tests make is born on the device, and what they read on the host may be read there."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
import torch.utils._device
from torch import Tensor, nn

from devlint.runtime.explaining.stack import as_module
from devlint.runtime.operands import Site, is_tensor
from devlint.runtime.patches import Patches
from devlint.runtime.ported.code import Code, Side
from devlint.runtime.ported.holdings import NEAR, arguments, leaves
from devlint.runtime.ported.notes import Notes
from devlint.runtime.ported.wishes import SETTABLE, is_default, is_settable, names_cpu
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import (
    CPU,
    attribute,
    notes_of,
    place,
    put,
    real_device,
    shown_place,
    tensors_in,
)
from devlint.runtime.virtual.texts import LEGACY_TYPES
from devlint.runtime.virtual.world import World

_MADE_OF_HOST = ("from_numpy", "frombuffer", "load")
"""Functions of torch, that no mode sees, which bring tensors from the host."""
_LOOKS = (real_device, attribute("is_cpu").__get__, Tensor.get_device, torch.get_device)
"""What tells where a tensor is."""
_BY_NAME = "names the CPU"


class Births:
    """Handlers around those of the emulation."""

    def __init__(self, world: World, code: Code, notes: Notes) -> None:
        self._world = world
        self._code = code
        self._notes = notes
        self._float64 = world.machine.kind.float64

    def install(self, patches: Patches) -> None:
        """Stand around what there is."""
        handlers = self._world.functions.handlers
        for function in set(torch.utils._device._device_constructors()) - {Tensor}:
            handlers[function] = self._born(handlers[function])
        for function in (Tensor.numpy, Tensor.__array__):
            handlers[function] = self._read(handlers[function])
        handlers[Tensor.to] = self._moved(handlers[Tensor.to])
        for function in _LOOKS:
            handlers[function] = self._looked(handlers[function])
        handlers[Tensor.__repr__] = _as_on_cpu
        for name in _MADE_OF_HOST:
            patches.wrap(torch, name)(self._brought)
        for name in LEGACY_TYPES:
            if hasattr(torch, name):
                patches.wrap(getattr(torch, name), "__new__")(self._brought)
        patches.wrap(Tensor, "__init__")(self._initialised)
        patches.wrap(torch.Generator, "__new__")(self._generator)

    def _initialised(self, init: object, tensor: Tensor, *args: Any, **kwargs: Any) -> None:
        """`torch.Tensor(...)` calls it, which no mode sees; that of objects does nothing."""
        if type(tensor) is Tensor:
            asking = self._code.asking(sys._getframe(1))
            with torch._C.DisableTorchFunction():
                self._bring(asking, tensor, args)

    def _generator(self, make: Callable[..., Any], cls: type, *args: Any, **kwargs: Any) -> Any:
        """A test's generator is wherever numbers are asked of it: in a sampler on the host, and for
        what the project makes on the device."""
        if args or kwargs or self._code.asking(sys._getframe(1))[0] != "test":
            return make(cls, *args, **kwargs)
        made: Any = torch._C.Generator.__new__(cls)  # type: ignore[arg-type]
        made._devlint_device, made._devlint_fits_any = CPU, True
        return made

    def _born(self, handler: Handler) -> Handler:
        def born(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            asked = kwargs.get("device")
            side, frame = self._code.asking(sys._getframe(1))
            if side == "test" and names_cpu(asked):
                if frame is not None and is_default(frame):
                    asked = kwargs["device"] = None
                else:
                    self._notes.add(frame, _BY_NAME)
                    self._notes.on_host = _BY_NAME
            result = handler(func, args, kwargs)
            if asked is None and torch.utils._device.CURRENT_DEVICE is None:
                self._bring((side, frame), result, (*args, *kwargs.values()))
            elif side == "project" and names_cpu(asked):
                self._sent_to_host(result)
            return result

        return born

    def _moved(self, handler: Handler) -> Handler:
        def moved(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            result = handler(func, args, kwargs)
            asked = kwargs.get("device", args[1] if args[1:] else None)
            if names_cpu(asked) and self._code.asking(sys._getframe(1))[0] == "project":
                self._sent_to_host(result)
            return result

        return moved

    def _sent_to_host(self, result: Any) -> None:
        """Note what the project has put on the CPU by the name that a test has left or given."""
        frames = [*self._code.below_test(sys._getframe(1))]
        if frames and is_settable(frames[-1]):
            self._notes.on_host = "leaves a device of the project on the CPU"
            for tensor in tensors_in((result,)):
                notes_of(tensor)[SETTABLE] = True

    def _brought(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = make(*args, **kwargs)
        if kwargs.get("map_location") is None:
            asking = self._code.asking(sys._getframe(1))
            with torch._C.DisableTorchFunction():
                self._bring(asking, result, ())
        return result

    def _bring(
        self, asking: tuple[Side, FrameType | None], result: Any, given: Sequence[Any]
    ) -> None:
        """Put what a test has made on the device; of the project's, note what could be there."""
        side, frame = asking
        if frame is None or side not in ("test", "project"):
            return
        known = {id(tensor) for tensor in tensors_in(given)}
        device = self._world.machine.current
        for tensor in tensors_in((result,)):
            if id(tensor) in known or place(tensor) is not CPU:
                continue
            if side == "project":
                site = self._notes.near(frame, functools.partial(self._near, device))
                if site is not None:
                    notes_of(tensor)[NEAR] = site
            elif tensor.dtype is torch.float64 and not self._float64:
                self._notes.add(frame, "makes tensors of float64")
            elif not (tensor.is_meta or tensor.is_pinned()):
                put(tensor, device)

    def _near(self, device: torch.device) -> Site | None:
        """The line of the innermost of the project's functions, from here to the test, that has
        something at hand that is on the device, so that it could have a tensor made there.

        What the constructor of a module makes, `.to()` is there for.
        """
        for frame in self._code.below_test(sys._getframe(1)):
            values = arguments(frame)
            for value in leaves(values):
                module = as_module(value)
                place_of = shown_place(value) if is_tensor(value) else _place_of(module)
                if place_of.type == device.type:
                    return Site.of(frame.f_code, frame.f_lineno)
            if frame.f_code.co_name == "__init__" and values and as_module(values[0]) is not None:
                return None
        return None

    def _read(self, handler: Handler) -> Handler:
        def read(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            is_for_test = self._code.is_for_test(sys._getframe(1))
            return func(*args, **kwargs) if is_for_test else handler(func, args, kwargs)

        return read

    def _looked(self, handler: Handler) -> Handler:
        def looked(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            side, frame = self._code.asking(sys._getframe(1))
            if side == "test":
                self._notes.add(frame, "looks at a device")
            return handler(func, args, kwargs)

        return looked


def _place_of(module: nn.Module | None) -> torch.device:
    """Where the first tensor is that a module registers; the CPU where it has none, or isn't made
    yet."""
    if module is None or "_parameters" not in vars(module):
        return CPU
    first = next(itertools.chain(module.parameters(), module.buffers()), None)
    return CPU if first is None else shown_place(first)


def _as_on_cpu(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tests compare what is printed with what the CPU's tensors print."""
    return func(*args, **kwargs)
