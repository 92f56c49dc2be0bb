"""Ways out of torch and back in, on which a tensor would lose its place.

Queues of `torch.multiprocessing`, DLPack, TorchScript that was compiled before, and extensions.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing
import torch.utils.dlpack
from torch import Tensor
from torch.multiprocessing import reductions

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.modes import MIXED, survey
from devlint.runtime.virtual.running import running_world
from devlint.runtime.virtual.tags import CPU, put, settle, shown_place, storage_of
from devlint.runtime.virtual.world import World, is_ours


def patch(world: World, patches: Patches) -> None:
    """Patch all of them."""
    _patch_queues(world, patches)
    _patch_dlpack(world, patches)
    _patch_scripts(world, patches)
    _patch_extensions(world, patches)


# --- queues between processes


def _patch_queues(world: World, patches: Patches) -> None:
    """A tensor in a queue is sent as one of the CPU, with a word on where it was."""
    machine = world.machine

    def reduce(tensor: Tensor) -> Any:
        with torch._C.DisableTorchFunction():
            found = shown_place(tensor)
            if not machine.owns(found):
                return reductions.reduce_tensor(tensor)
            rebuild, args = reductions.reduce_tensor(_alias(tensor))
        return _rebuilt, (rebuild, args, str(machine.spec), str(found))

    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    held = dict(reducers)
    for kind in (Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reduce)

    def restore() -> None:
        reducers.clear()
        reducers.update(held)

    patches.callback(restore)


def _alias(tensor: Tensor) -> Tensor:
    """A tensor in the same memory, now shared between processes, that nobody has moved."""
    storage: Any = storage_of(tensor)
    shared = storage.__dict__.get("_devlint_shared")
    if shared is None:
        untyped: Any = torch.UntypedStorage
        if torch.multiprocessing.get_sharing_strategy() == "file_descriptor":
            shared = untyped._new_shared_fd_cpu(*storage._share_fd_cpu_())
        else:
            shared = untyped._new_shared_filename_cpu(*storage._share_filename_cpu_())
        # Its file has to stay open until the other process has it.
        storage._devlint_shared = shared
    data = torch.empty(0, dtype=tensor.dtype)
    data.set_(shared, tensor.storage_offset(), tensor.size(), tensor.stride())
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(data, requires_grad=tensor.requires_grad)
    if tensor.requires_grad and not tensor.is_leaf:
        return tensor  # torch says why it can't be sent
    return data.requires_grad_(tensor.requires_grad)


def _rebuilt(rebuild: Callable[..., Tensor], args: Any, spec: str, device: str) -> Tensor:
    tensor = rebuild(*args)
    world = running_world()
    if world is not None and str(world.machine.spec) == spec:
        with torch._C.DisableTorchFunction():
            found = world.machine.resolve(device)
            if found is not None:
                put(tensor, found)
    return tensor


# --- DLPack


def _patch_dlpack(world: World, patches: Patches) -> None:
    machine = world.machine
    exported: dict[int, torch.device] = {}
    """The devices of tensors in capsules, by the capsules' identities."""
    export, take = torch._C._to_dlpack, torch.utils.dlpack.from_dlpack

    def to_dlpack(tensor: Tensor) -> Any:
        with torch._C.DisableTorchFunction():
            found = shown_place(tensor)
            capsule = export(tensor)
        exported[id(capsule)] = found
        return capsule

    def from_dlpack(ext_tensor: Any, **kwargs: Any) -> Tensor:
        with torch._C.DisableTorchFunction():
            if isinstance(ext_tensor, Tensor):
                found = shown_place(ext_tensor)
                ext_tensor = export(ext_tensor)
            else:
                found = exported.pop(id(ext_tensor), CPU)
            target = machine.resolve(kwargs.pop("device", None))
            result = take(ext_tensor, **kwargs)
            put(result, found)
        return result if target is None else result.to(target)

    for module in (torch.utils.dlpack, torch._C, torch):
        for name, function in (("to_dlpack", to_dlpack), ("from_dlpack", from_dlpack)):
            if hasattr(module, name):
                patches.set(module, name, function)


# --- TorchScript


def _patch_scripts(world: World, patches: Patches) -> None:
    """Compiled code sees no mode: its results are placed where its operands are.

    Operands on several devices are checked operator by operator, as anywhere else.
    """

    def run(call: Callable[..., Any], script: Any, *args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            where = survey((args, kwargs, _state(getattr(script, "owner", None))))
            if where is MIXED:
                return _with_its_error(
                    world, lambda: world.functions.checked(call, (script, *args), kwargs)
                )
            result = call(script, *args, **kwargs)
            if where is not None and where is not CPU:
                world.limit("TorchScript compiled before: a device that it asks for is the CPU")
                settle(result, where)
            return result

    for owner in (torch._C.ScriptFunction, torch._C.ScriptMethod):
        patches.wrap(owner, "__call__")(run)


def _with_its_error(world: World, run: Callable[[], Any]) -> Any:
    """Run a script so that an error of a rule comes out as it was raised."""
    checks = world.checks
    checks.remembers = True
    try:
        return run()
    except RuntimeError:
        if checks.raised is None:
            raise
        raise checks.raised from None
    finally:
        checks.remembers, checks.raised = False, None


def _state(module: Any) -> list[Tensor]:
    """The parameters and buffers of a compiled module and those in it."""
    if module is None:
        return []
    found: Any = torch._C
    own = [*found.ParameterDict(module).items(), *found.BufferDict(module).items()]
    parts = [_state(part) for _, part in found.ModuleDict(module).items()]
    return [tensor for _, tensor in own] + [tensor for part in parts for tensor in part]


# --- extensions


def _patch_extensions(world: World, patches: Patches) -> None:
    """A module that is linked with torch reads tensors as they are: the program is told so."""

    @patches.wrap(ExtensionFileLoader, "create_module")
    def create_module(create: Callable[..., Any], loader: Any, spec: Any) -> Any:
        if _uses_torch(loader.path):
            world.limit(f"C++ extension {spec.name}: it sees all tensors on the CPU")
        return create(loader, spec)


def _uses_torch(path: str) -> bool:
    if is_ours(path):
        return False
    try:
        return any(name in Path(path).read_bytes() for name in (b"libtorch", b"libc10"))
    except OSError:
        return False
