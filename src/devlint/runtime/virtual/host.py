"""What the host does with a tensor: `.numpy()`, `.item()`, printing, dlpack, plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import CPU, argument, attribute, put, shown_place
from devlint.runtime.virtual.world import World

_DLPACK_TYPES = {"cuda": 2, "xpu": 14, "mps": 8}
"""The numbers that the DLPack standard gives to kinds of devices (kDLCUDA, kDLOneAPI, kDLMetal)."""


class Host:
    """Handlers of what reads a tensor on the host."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        return {
            Tensor.numpy: self.numpy,
            Tensor.__array__: self.array,
            Tensor.apply_: self.on_cpu_only,
            Tensor.map_: self.on_cpu_only,
            Tensor.__repr__: self.repr,
            Tensor.__format__: self.format,
            Tensor.__dlpack_device__: self.dlpack_device,
            Tensor.__dlpack__: self.dlpack,
            Tensor.__deepcopy__: self.deepcopy,
            attribute("__cuda_array_interface__").__get__: self.array_interface,
        }

    def numpy(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor: Tensor = args[0]
        if not argument(args, kwargs, 1, "force", False):
            return self.array(func, args, kwargs)
        if not self._is_away(tensor):
            return func(*args, **kwargs)
        self._world.copied(shown_place(tensor), CPU)
        return tensor.detach().clone().resolve_conj().resolve_neg().numpy()

    def array(self, func: Any, args: Any, kwargs: Any) -> Any:
        found = shown_place(args[0])
        self._refuse(TypeError, texts.to_numpy(found), args[0], "numpy")
        return func(*args, **kwargs)

    def on_cpu_only(self, func: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        self._refuse(TypeError, f"{name} is only implemented on CPU tensors", args[0], name)
        return self._world.functions.run(func, args, kwargs)

    def _refuse(self, kind: type[Exception], text: str, tensor: Tensor, operation: str) -> None:
        """Raise an error if a tensor is on an accelerator."""
        if self._is_away(tensor):
            operand = Operand("self", tensor, shown_place(tensor))
            raise device_error(kind, text, [operand], operation)

    def _is_away(self, tensor: Tensor) -> bool:
        """Whether a tensor is on an accelerator."""
        return self._machine.owns(shown_place(tensor))

    def repr(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Printing says the device that the tensor is said to be on."""
        if not self._is_away(args[0]):
            return func(*args, **kwargs)
        with self._world.modes():
            return torch._tensor_str._str(args[0], **kwargs)

    def format(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, specification = args
        if tensor.dim() == 0 or not self._is_away(tensor):
            return func(*args, **kwargs)
        with self._world.modes():
            return object.__format__(tensor, specification)

    def dlpack_device(self, func: Any, args: Any, kwargs: Any) -> Any:
        found = shown_place(args[0])
        if self._machine.owns(found):
            return _DLPACK_TYPES[found.type], found.index
        return func(*args, **kwargs)

    def dlpack(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Another library asks for the memory; none here can read an accelerator's.

        torch's own `from_dlpack` doesn't come this way.
        """
        self._refuse(RuntimeError, "Unsupported device in DLTensor.", args[0], "__dlpack__")
        return func(*args, **kwargs)

    def array_interface(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Another library is told an address in the device's memory."""
        if self._machine.kind.type == "cuda" and self._is_away(args[0]):
            self._world.refuse("torch.Tensor.__cuda_array_interface__")
        return func(*args, **kwargs)

    def deepcopy(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if isinstance(result, Tensor):
            put(result, shown_place(args[0]))
        return result
