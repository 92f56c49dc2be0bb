"""Moves: `.to`, `.cuda`, `.cpu`, `.type`, `copy_`, pinning, and what tells where a tensor is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.operands import NO_STORAGE
from devlint.runtime.virtual import texts
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import (
    CPU,
    NEUTRAL,
    PLAIN,
    argument,
    attribute,
    put,
    real_device,
    settle,
    shown_place,
    storage_of,
)
from devlint.runtime.virtual.world import World

_OUT_OF_META = (
    "Cannot copy out of meta tensor; no data!"
    " Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to()"
    " when moving module from meta to a different device."
)


_PLACELESS = (
    Tensor.size, Tensor.stride, Tensor.dim, Tensor.numel, Tensor.element_size,
    Tensor.storage_offset,
    Tensor.is_contiguous, Tensor.data_ptr, Tensor.is_floating_point, Tensor.is_complex,
    torch.is_floating_point, torch.is_complex, torch.numel, Tensor.__len__, Tensor.item,
    Tensor.tolist, Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.__index__,
    Tensor.requires_grad_, Tensor.untyped_storage, Tensor.__hash__,
    torch._C._set_grad_enabled,
    attribute("data").__set__,  # takes the storage of another tensor, and its device with it
)  # fmt: skip
"""Functions that give back a number, a shape or the tensor itself, wherever it is."""
_COMPUTED = frozenset({"T", "mT", "H", "mH", "real", "imag"})
"""Attributes that are computed: of a sparse tensor they share no memory with it."""


class Moves:
    """Handlers of what moves tensors and of what says where they are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._machine = world.machine

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        kind = self._machine.kind.type
        found: dict[Any, Handler] = {
            real_device: self.device,
            attribute("is_cpu").__get__: self.is_cpu,
            attribute(f"is_{kind}").__get__: self.is_kind,
            Tensor.get_device: self.get_device,
            torch.get_device: self.get_device,
            Tensor.to: self.to,
            Tensor.cpu: self.cpu,
            Tensor.type: self.type,
            Tensor.type_as: self.type_as,
            Tensor.pin_memory: self.pin_memory,
            Tensor.is_pinned: self.is_pinned,
            Tensor.share_memory_: self.share_memory,
            Tensor.is_shared: self.is_shared,
            Tensor.copy_: self.copy,
            torch._C._nn._parse_to: self.parse_to,
        }
        if hasattr(Tensor, kind):
            found[getattr(Tensor, kind)] = self.accelerate
        if not self._machine.kind.float64:
            found[Tensor.double] = self.double
        return found

    def placeless(self) -> set[Any]:
        """What needs no handling: attributes, and functions that only look at a tensor."""
        attributes = {
            part.__get__
            for name, part in vars(torch._C.TensorBase).items()
            if hasattr(part, "__set__") and name not in _COMPUTED
        }
        return {*_PLACELESS, *attributes}

    # --- where a tensor is

    def device(self, func: Any, args: Any, kwargs: Any) -> torch.device:
        tensor = args[0]
        if type(tensor) in PLAIN:
            try:
                found: torch.device = storage_of(tensor)._devlint_device
            except NO_STORAGE:
                return shown_place(tensor)
            if found is not CPU and found is not NEUTRAL:
                return found
        return shown_place(tensor)

    def is_cpu(self, func: Any, args: Any, kwargs: Any) -> bool:
        return shown_place(args[0]).type == "cpu"

    def is_kind(self, func: Any, args: Any, kwargs: Any) -> bool:
        return self._machine.owns(shown_place(args[0]))

    def get_device(self, func: Any, args: Any, kwargs: Any) -> int:
        found = shown_place(args[0] if args else kwargs["input"])
        return -1 if found.type == "cpu" else found.index or 0

    # --- moves

    def to(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        tensor, *rest = args
        kwargs = dict(kwargs)
        if "other" in kwargs:
            rest.insert(0, kwargs.pop("other"))
        if rest and isinstance(rest[0], Tensor):
            rest[:1] = shown_place(rest[0]), rest[0].dtype
        copy = kwargs.pop("copy", False)
        if len(rest) >= 4 and isinstance(rest[3], bool):
            copy = rest.pop(3)
        elif len(rest) == 3 and isinstance(rest[0], torch.dtype) and isinstance(rest[2], bool):
            copy = rest.pop(2)
        device, dtype, non_blocking, memory = self.parse(rest, kwargs)
        return self.move(tensor, device, dtype, copy=copy, wait=not non_blocking, memory=memory)

    def parse(self, args: Any, kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """The arguments of `.to()`; numbers are devices of the emulated kind."""
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (self._machine.at(args[0]), *args[1:])
        elif args and isinstance(args[0], Tensor):
            args = (shown_place(args[0]), args[0].dtype, *args[1:])
        device = kwargs.get("device")
        if isinstance(device, int) and not isinstance(device, bool):
            kwargs = {**kwargs, "device": self._machine.at(device)}
        return torch._C._nn._parse_to(*args, **kwargs)

    def parse_to(self, func: Any, args: Any, kwargs: Any) -> Any:
        return self.parse(args, kwargs)

    def accelerate(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        """`.cuda()`, `.cuda(1)`, `.cuda(device="cuda:1")`."""
        device = argument(args, kwargs, 1, "device")
        kind = self._machine.kind.type
        target = self._machine.resolve(kind if device is None else device)
        if target is not None and not self._machine.owns(target):
            raise RuntimeError(f"Invalid device, must be {kind} device")
        wait, memory = not argument(args, kwargs, 2, "non_blocking"), kwargs.get("memory_format")
        return self.move(args[0], target, None, wait=wait, memory=memory)

    def cpu(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        if len(args) > 1:
            func(*args, **kwargs)  # raises
        return self.move(args[0], CPU, None, memory=kwargs.get("memory_format"))

    def double(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        return self.move(args[0], None, torch.float64, memory=kwargs.get("memory_format"))

    def type_as(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        other = argument(args, kwargs, 1, "other")
        return self.move(args[0], shown_place(other), other.dtype)

    def type(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor = args[0]
        wanted = argument(args, kwargs, 1, "dtype")
        if wanted is None:
            return texts.type_string(tensor, shown_place(tensor))
        if isinstance(wanted, torch.dtype):
            return self.move(tensor, None, wanted)
        name = wanted if isinstance(wanted, str) else _type_name(wanted)
        *module, last = name.removeprefix("torch.").split(".")
        if last not in texts.LEGACY_TYPES or module not in ([], [self._machine.kind.type]):
            return func(*args, **kwargs)
        return self.move(
            tensor, self._machine.resolve(module[0]) if module else CPU, texts.LEGACY_TYPES[last]
        )

    def move(
        self,
        tensor: Tensor,
        device: Any,
        dtype: torch.dtype | None,
        *,
        copy: bool = False,
        wait: bool = True,
        memory: torch.memory_format | None = None,
    ) -> Tensor:
        """The tensor on a device (where it is, for None) in a dtype.

        Raises:
            RuntimeError: if the machine has no such device.
            TypeError: if tensors of this dtype can't live there.
        """
        target = self._machine.resolve(device)
        source = shown_place(tensor)
        dtype = tensor.dtype if dtype is None else dtype
        here = source if target is None else target
        if dtype is torch.float64 and self._machine.owns(here):
            self.refuse_float64()
        if target is not None and target.type not in ("cpu", self._machine.kind.type):
            return tensor.to(target, dtype)
        options: dict[str, Any] = {} if memory is None else {"memory_format": memory}
        if here == source:
            result = tensor.to(dtype, copy=copy, **options)
            if self._machine.owns(source) and result is not tensor:
                settle(result, source)
            return result
        if real_device(tensor).type == "meta":
            raise NotImplementedError(_OUT_OF_META)
        if tensor.layout is torch.strided:
            options = {"memory_format": torch.preserve_format, **options}
        result = tensor.to(dtype, copy=True, **options)
        put(result, here)
        if not wait and here is CPU and self._machine.kind.type == "cuda":
            if result.layout is torch.strided:
                storage_of(result)._devlint_pinned = True  # CUDA fills it while the host goes on
        self._world.made(result)
        self._world.copied(source, here)
        return result

    def refuse_float64(self) -> None:
        """Raises:
        TypeError: where the kind of accelerator knows no double precision.
        """
        if not self._machine.kind.float64:
            raise TypeError(texts.no_float64(self._machine.kind.title))

    def copy(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`copy_` crosses devices."""
        tensor = argument(args, kwargs, 0, "self")
        source = argument(args, kwargs, 1, "src", kwargs.get("other"))
        if not isinstance(source, Tensor):
            return self._world.functions.run(func, args, kwargs)
        there, here = shown_place(source), shown_place(tensor)
        result = func(*args, **kwargs)
        self._world.copied(there, here)
        return result

    # --- memory that is pinned or shared

    def pin_memory(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        tensor: Tensor = args[0]
        found = shown_place(tensor)
        if found is not CPU:
            named = texts.type_string(tensor, found)
            text = f"cannot pin '{named}' only dense CPU tensors can be pinned"
            raise device_error(RuntimeError, text, [Operand("self", tensor, found)], "pin_memory")
        if getattr(storage_of(tensor), "_devlint_pinned", False):
            return tensor
        pinned = tensor.clone()
        storage_of(pinned)._devlint_pinned = True  # type: ignore[attr-defined]
        return pinned

    def is_pinned(self, func: Any, args: Any, kwargs: Any) -> bool:
        return bool(getattr(storage_of(args[0]), "_devlint_pinned", False))

    def share_memory(self, func: Any, args: Any, kwargs: Any) -> Tensor:
        tensor: Tensor = args[0]
        if self._machine.owns(shown_place(tensor)):
            return tensor  # memory of accelerators is shared as it is
        return func(*args, **kwargs)  # type: ignore[no-any-return]

    def is_shared(self, func: Any, args: Any, kwargs: Any) -> bool:
        return self._machine.owns(shown_place(args[0])) or bool(func(*args, **kwargs))


def _type_name(wanted: Any) -> str:
    named = getattr(wanted, "_devlint_name", None)
    return str(named) if named else f"{wanted.__module__}.{wanted.__name__}"
