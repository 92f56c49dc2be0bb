"""Storages that are said to be on an accelerator, and files that say so."""

from __future__ import annotations

from typing import Any

import torch

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.running import RUNNING
from devlint.runtime.virtual.tags import CPU, NEUTRAL, STORAGE_DEFAULTS, shown_place
from devlint.runtime.virtual.world import World

_FIRST = 5
"""Before torch's own entries: an entry with a lower number is asked earlier."""


def patch(world: World, patches: Patches) -> None:
    """Patch `torch.UntypedStorage` and the registry of `torch.save` and `torch.load`."""
    patches.replace(torch.UntypedStorage, STORAGE_DEFAULTS)
    machine = world.machine
    kind = machine.kind.type
    base: Any = torch._C.StorageBase
    real_device = base.device.__get__

    def device(storage: Any) -> torch.device:
        tag: torch.device = storage._devlint_device
        found: torch.device = real_device(storage) if tag is CPU or tag is NEUTRAL else tag
        return found

    def make(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        target = machine.resolve(device)
        if target is None or not machine.owns(target):
            return base.__new__(cls, *args, **kwargs, device=device)
        made = base.__new__(cls, *args, **kwargs)
        made._devlint_device = target
        return made

    def copied(storage: Any, target: torch.device) -> Any:
        copy = make(torch.UntypedStorage, storage.nbytes(), device=target)
        copy.copy_(storage)
        world.copied(storage.device, target)
        for log in RUNNING.logs:
            log.copied(storage.device, target, storage, True)
        return copy

    def to(storage: Any, *, device: Any, non_blocking: bool = False) -> Any:
        target = machine.resolve(device)
        return storage if target is None or target == storage.device else copied(storage, target)

    def accelerate(storage: Any, device: Any = None, non_blocking: bool = False) -> Any:
        return to(storage, device=kind if device is None else device)

    patches.replace(
        torch.UntypedStorage,
        {
            "__new__": make,
            "device": property(device),
            "is_cuda": property(lambda storage: storage.device.type == "cuda"),
            kind: accelerate,
            "cpu": lambda storage: to(storage, device=CPU),
            "to": to,
            "clone": lambda storage: copied(storage, storage._devlint_device),
        },
    )

    @patches.wrap(torch.Tensor, "set_")
    def set_(real: Any, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        """No mode sees this one. It takes a storage or a tensor of its own device."""
        source = args[0] if args else kwargs.get("source")
        seen = world.functions.is_on  # else torch itself fills an empty tensor that it has made
        with torch._C.DisableTorchFunction():
            if seen and source is not None:
                here = shown_place(tensor)
                there = shown_place(source) if isinstance(source, torch.Tensor) else source.device
                if here != there:
                    text = (
                        f'Attempted to set the storage of a tensor on device "{here}" to a storage '
                        f'on different device "{there}".  This is no longer allowed; the devices '
                        "must match."
                    )
                    operand = Operand("self", tensor, here)
                    raise device_error(RuntimeError, text, [operand], "set_")
            return real(tensor, *args, **kwargs)

    def tag(storage: Any) -> str | None:
        found = getattr(storage, "_devlint_device", CPU)
        return str(found) if machine.owns(found) else None

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith(kind):
            return None
        index: int | None = torch.device(location).index
        index = machine.thread.current if index is None else index
        if index >= machine.count:
            title = machine.kind.title
            raise RuntimeError(
                f"Attempting to deserialize object on {title} device {index} but "
                f"torch.{kind}.device_count() is {machine.count}. Please use torch.load with "
                "map_location to map your storages to an existing device."
            )
        storage._devlint_device = machine.at(index)
        return storage

    entry = (_FIRST, tag, restore)
    registry = torch.serialization._package_registry
    registry.insert(0, entry)
    patches.callback(registry.remove, entry)
