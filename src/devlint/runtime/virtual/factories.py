"""What makes tensors: `torch.zeros(..., device=...)`, `torch.tensor`, generators, `new_...`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.utils._device
from torch import Tensor

from devlint.runtime.patches import Patches
from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.moves import Moves
from devlint.runtime.virtual.tags import CPU, put, settle, shown_place, storage_of, tensors_in
from devlint.runtime.virtual.world import World

_FROM_DATA = {torch.tensor, torch.as_tensor, torch.asarray}
_SPARSE = {
    torch.sparse_coo_tensor, torch.sparse_compressed_tensor, torch.sparse_csr_tensor,
    torch.sparse_csc_tensor, torch.sparse_bsr_tensor, torch.sparse_bsc_tensor,
}  # fmt: skip
_SHARING = frozenset({torch.as_tensor, torch.asarray, *_SPARSE})
"""May share memory with what they are given; a tensor on another device never does."""
_FOLLOWING = frozenset(
    {torch.normal, torch.fill, torch.vander, torch.nested.nested_tensor, *_SPARSE}
)
"""Where no device is given, what they make is where their operands are."""


def _handled(handler: Handler, make: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Have a handler make a tensor for a function that no mode sees."""
    with torch._C.DisableTorchFunction():
        made: Tensor = handler(make, args, kwargs)
    return made


class Factories:
    """Handlers of what takes a device or a generator."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._machine = world.machine
        self._moves = moves
        self._constructors = set(torch.utils._device._device_constructors()) - {Tensor}

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        return {
            **dict.fromkeys(self._constructors, self.make),
            Tensor.new_tensor: self.new,
            Tensor.new: self.new,
            **dict.fromkeys((torch.stack, torch.cat), self.noted),
        }

    def patch(self, patches: Patches) -> None:
        """Note what no mode sees, and what is on the CPU whatever the default device is."""
        for name, handler in (
            ("from_numpy", self._make_here),
            ("frombuffer", self._make_here),
            ("range", self._world.functions.usual),
        ):
            patches.wrap(torch, name)(functools.partial(_handled, handler))

    def make(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run what takes a device or a generator; the real one gets no device but the CPU."""
        data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
        from_tensor = func in _FROM_DATA and isinstance(data, Tensor)
        asked = kwargs.get("device")
        if asked is None and func in self._constructors and not from_tensor:
            asked = torch.utils._device.CURRENT_DEVICE
        target = self._machine.resolve(asked)
        if target is not None and not (target is CPU or self._machine.owns(target)):
            return func(*args, **kwargs)
        if kwargs.get("generator") is not None:
            source = next(tensors_in((*args, *kwargs.values())), None)
            self._check_generator(kwargs["generator"], target, source)
            if hasattr(kwargs["generator"], "_devlint_is_default"):
                functions = self._world.functions
                again = functions.handlers.get(func, functions.usual)
                return again(func, args, {**kwargs, "generator": None})
        if kwargs.get("pin_memory"):
            made = self.make(func, args, {**kwargs, "pin_memory": False})
            if shown_place(made) is not CPU:
                raise RuntimeError("Only dense CPU tensors can be pinned")
            storage_of(made)._devlint_pinned = True
            return made
        if func is torch.tensor and isinstance(data, Tensor):
            there = shown_place(data)
            result = self._make_on(target or there, func, args, {**kwargs, "device": CPU})
            self._world.copied(there, shown_place(result))
            return result
        if from_tensor and isinstance(data, Tensor):
            copy = bool(kwargs.get("copy"))
            return self._moves.move(data, target, kwargs.get("dtype"), copy=copy)
        if target is None:
            if func in self._constructors and func not in _FOLLOWING:
                return self._make_here(func, args, kwargs)
            return self._world.functions.run(func, args, kwargs)
        return self._make_on(target, func, args, {**kwargs, "device": CPU})

    def _make_on(
        self, target: torch.device, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        out = kwargs.get("out")
        if isinstance(out, Tensor) and (found := shown_place(out)).type != target.type:
            text = (
                f"device type {target.type} does not match device type of out parameter "
                f"({found.type})"
            )
            raise device_error(RuntimeError, text, [Operand("out", out, found)], func.__name__)
        # Operands may be anywhere: a shape, a fill value, data to be copied.
        result = func(*args, **kwargs)
        if not isinstance(result, Tensor):
            settle(result, target)
            return result
        if kwargs.get("out") is not None:
            return result
        if target is not CPU and result.dtype is torch.float64:
            self._moves.refuse_float64()
        if func in _SHARING and target is not CPU:
            result = result.clone()
        put(result, target)
        return self._world.made(result)

    def noted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What puts a batch together: an explanation that says where is worth the look."""
        return self._world.made(self._world.functions.run(func, args, kwargs))

    def _make_here(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = func(*args, **kwargs)
        if isinstance(made, Tensor):
            if kwargs.get("out") is None:
                put(made, CPU)  # the engine is not to take it for a gradient that nobody has placed
            self._world.made(made)
        return made

    def new(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`x.new_tensor(data)` and `x.new(...)` are where `x` is."""
        target = self._machine.resolve(kwargs.get("device")) or shown_place(args[0])
        if not (target is CPU or self._machine.owns(target)):
            return func(*args, **kwargs)
        kwargs = {name: value for name, value in kwargs.items() if name != "device"}
        return self._make_on(target, func, args, kwargs)

    def _check_generator(
        self, generator: Any, target: torch.device | None, source: Tensor | None
    ) -> None:
        """Random numbers come from a generator of their own device, or of any.

        Raises:
            RuntimeError: if they don't.
        """
        if hasattr(generator, "_devlint_fits_any"):
            return
        if target is None:
            target = CPU if source is None else shown_place(source)
        found = generator.device
        if found.type != target.type:
            text = texts.generator_device(target.type, found.type)
            raise device_error(RuntimeError, text, [], "generator")
