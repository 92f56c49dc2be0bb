"""A stand-in for NCCL and its like: collectives that take accelerator tensors only, over gloo."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.tags import settle, tensors_in
from devlint.runtime.virtual.world import World

_NATIVE = {"cuda": "nccl", "xpu": "xccl"}
"""The backend that takes tensors of a kind, and no others."""

_OF_OBJECTS = (
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list",
    "send_object_list", "recv_object_list",
)  # fmt: skip
"""They make tensors of objects, and move them to a device that the backend takes."""

_COLLECTIVES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single",
    "broadcast", "gather", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
    "recv", "isend", "irecv", "all_reduce_coalesced", "all_gather_coalesced",
)  # fmt: skip


def patch(world: World, patches: Patches) -> None:
    """Patch `torch.distributed`, where this torch has it."""
    native = _NATIVE.get(world.machine.kind.type)
    if native is not None and dist.is_available():
        _Collectives(world, native).patch(patches)


@dataclass(frozen=True, slots=True)
class _Backend:
    """The backend that a program has asked for, where gloo stands in for it."""

    said: str
    """As `get_backend` gives it back: "nccl", "cpu:gloo,cuda:nccl"."""
    takes: frozenset[str]
    """The types of devices whose tensors it takes."""


class _Collectives:
    def __init__(self, world: World, native: str) -> None:
        self._world = world
        self._machine = world.machine
        self._native = native
        self._groups: dict[str, _Backend] = {}
        """By the names of the groups that would have the native backend."""

    def patch(self, patches: Patches) -> None:
        wrappers: list[tuple[Callable[..., Any], tuple[str, ...]]] = [
            (lambda real: True, (f"is_{self._native}_available",)),
            (self._over_gloo, ("init_process_group", "new_group")),
            (self._destroy, ("destroy_process_group",)),
            (self._get_backend, ("get_backend",)),
            (self._barrier, ("barrier",)),
            (self._move, _OF_OBJECTS),
            (self._check, _COLLECTIVES),
        ]
        for wrapper, names in wrappers:
            for name in names:
                modules = [m for m in (dist.distributed_c10d, dist) if hasattr(m, name)]
                if modules:  # the same in both: torch compares them
                    patches.wrap(modules[0], name, *modules[1:])(wrapper)

    def _backend_of(self, group: Any) -> _Backend | None:
        """What gloo stands in for in a group, if it does."""
        group = dist.distributed_c10d._get_default_group() if group is None else group
        return self._groups.get(getattr(group, "group_name", ""))

    def _asked_for(self, backend: Any) -> _Backend | None:
        """The backend of a group to be made: a name, or names by types of devices."""
        if backend is None:
            return self._backend_of(None) if dist.is_initialized() else None
        said = str(backend).lower()
        pairs = [pair.partition(":") for pair in said.split(",")]
        if said == "gloo" or not {name or pair for pair, _, name in pairs} <= {
            "gloo",
            self._native,
        }:
            return None
        of_kind = self._machine.kind.type
        return _Backend(said, frozenset(device if name else of_kind for device, _, name in pairs))

    # --- what stands in the places of torch's functions, which are the first argument

    def _over_gloo(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(make).bind(*args, **kwargs)
        backend = given.arguments.get("backend")
        asked = self._asked_for(backend)
        if asked is not None or backend is None:
            given.arguments["backend"] = "gloo"
        given.arguments.pop("device_id", None)
        given.arguments.pop("pg_options", None)
        result = make(*given.args, **given.kwargs)
        group = dist.distributed_c10d._get_default_group() if result is None else result
        if asked is not None and isinstance(group, dist.ProcessGroup):
            self._groups[group.group_name] = asked
        return result

    def _destroy(self, destroy: Callable[..., Any], group: Any = None) -> Any:
        """A later group may have the name of one that is gone."""
        name = getattr(group, "group_name", "")
        is_default = group is None or group == dist.group.WORLD
        result = destroy(group)
        if is_default:  # the others go with it
            self._groups.clear()
        else:
            self._groups.pop(name, None)
        return result

    def _get_backend(self, get: Callable[..., Any], group: Any = None) -> Any:
        found = get(group)
        stood_for = self._backend_of(group)
        return found if stood_for is None else dist.Backend(stood_for.said)

    def _barrier(self, barrier: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """It says on which device it waits, and gloo's knows none."""
        given = inspect.signature(barrier).bind(*args, **kwargs).arguments
        given.pop("device_ids", None)
        return barrier(**given)

    def _move(self, collective: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._machine.thread.moving_operands():
            return collective(*args, **kwargs)

    def _check(self, collective: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(collective).bind_partial(*args, **kwargs).arguments
        with torch._C.DisableTorchFunction():
            operands = [Operand.of("tensor", tensor) for tensor in tensors_in(given.values())]
            backend = self._backend_of(given.get("group"))
            if backend is not None and not self._machine.thread.lenient:
                for operand in operands:
                    if operand.device.type not in backend.takes:
                        text = f"No backend type associated with device type {operand.device.type}"
                        raise device_error(RuntimeError, text, [operand], collective.__name__)
            result = collective(*args, **kwargs)
            if operands and self._machine.owns(operands[0].device):
                settle([operand.tensor for operand in operands], operands[0].device)
        return result
