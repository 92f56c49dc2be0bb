"""Where tensors are made if nothing is said: default devices, and default types."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.utils._device
from torch import Tensor

from devlint.runtime.patches import Patches
from devlint.runtime.virtual import texts
from devlint.runtime.virtual.tags import put
from devlint.runtime.virtual.world import World

_REAL_TYPES = {name: getattr(torch, name) for name in texts.LEGACY_TYPES if hasattr(torch, name)}
"""`torch.FloatTensor` and its like, also while others stand in their places."""
_HELD = (Tensor, torch.UntypedStorage, torch.TypedStorage)
"""What `torch.Tensor(x)` is only another name of: it stays where it is."""


def patch(world: World, patches: Patches) -> None:
    """Patch what sets a default."""
    machine = world.machine
    is_patched = is_default = False

    @patches.wrap(torch.utils._device.DeviceContext, "__torch_function__")
    def pass_on(
        given: Any, mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """`with torch.device("cuda"):` must not ask C++ for the real one."""
        if machine.owns(mode.device) and not world.functions.is_on:
            return func(*args, **(kwargs or {}))  # the call has been seen, and placed
        return given(mode, func, types, args, kwargs)

    @patches.wrap(torch, "set_default_tensor_type")
    def set_default_tensor_type(set_type: Any, wanted: Any) -> None:
        nonlocal is_patched, is_default
        name = wanted if isinstance(wanted, str) else getattr(wanted, "_devlint_name", "")
        prefix = f"torch.{machine.kind.type}."
        last = name.rpartition(".")[2]
        set_type(_REAL_TYPES.get(last, wanted))
        is_default = name.startswith(prefix)
        if is_default:
            torch.set_default_device(machine.kind.type)
            if not is_patched:  # no mode sees torch.Tensor(...), and this costs every one of them
                is_patched = True
                patches.set(Tensor, "__new__", staticmethod(make))
        elif (held := _default_device()) is not None and machine.owns(held):
            torch.set_default_device(None)

    construct = Tensor.__new__

    @functools.wraps(construct)  # torch._dynamo, imported later, looks at its signature
    def make(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        """`torch.Tensor(...)`, which is of the default type."""
        if not is_default:
            said = {} if device is None else {"device": device}
            return construct(cls, *args, **said, **kwargs)
        target = machine.resolve(machine.kind.type if device is None else device)
        assert target is not None
        if not machine.owns(target):
            raise RuntimeError(texts.legacy_device(machine.kind.type, target.type))
        made = construct(cls, *args, **kwargs)
        if args and isinstance(args[0], _HELD):
            return made
        put(made, target)
        return world.made(made)

    before = _default_device()

    @patches.callback
    def forget() -> None:
        left = _default_device()
        if left is not None and machine.owns(left):
            torch.set_default_device(before)


def _default_device() -> torch.device | None:
    """What `torch.set_default_device` was last given in this thread."""
    held = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if held is None else held.device
