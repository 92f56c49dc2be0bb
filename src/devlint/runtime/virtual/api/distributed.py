"""A stand-in for NCCL and its like: collectives that take accelerator tensors only, over gloo."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.patches import Patches
from devlint.runtime.virtual.tags import place, settle, tensors_in
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
        inner = dist.distributed_c10d

        def both(name: str, value: Any) -> None:
            patches.set(inner, name, value)
            if hasattr(dist, name):
                patches.set(dist, name, value)

        both(f"is_{self._native}_available", lambda: True)
        both("init_process_group", self._over_gloo(inner.init_process_group))
        both("new_group", self._over_gloo(inner.new_group))
        both("destroy_process_group", self._forgetting(inner.destroy_process_group))
        both("get_backend", self._backend(inner.get_backend))
        both("barrier", self._anywhere(inner.barrier))
        for name in _OF_OBJECTS:
            if hasattr(inner, name):
                both(name, self._moving(getattr(inner, name)))
        for name in _COLLECTIVES:
            if hasattr(inner, name):
                both(name, self._checked(getattr(inner, name)))

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

    def _over_gloo(self, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def make(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            backend = given.arguments.get("backend")
            asked = self._asked_for(backend)
            if asked is not None or backend is None:
                given.arguments["backend"] = "gloo"
            given.arguments.pop("device_id", None)
            given.arguments.pop("pg_options", None)
            result = function(*given.args, **given.kwargs)
            group = dist.distributed_c10d._get_default_group() if result is None else result
            if asked is not None and isinstance(group, dist.ProcessGroup):
                self._groups[group.group_name] = asked
            return result

        return make

    def _forgetting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A later group may have the name of one that is gone."""

        @functools.wraps(function)
        def destroy(group: Any = None) -> Any:
            name = getattr(group, "group_name", "")
            is_default = group is None or group == dist.group.WORLD
            result = function(group)
            if is_default:  # the others go with it
                self._groups.clear()
            else:
                self._groups.pop(name, None)
            return result

        return destroy

    def _backend(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def get_backend(group: Any = None) -> Any:
            found = function(group)
            stood_for = self._backend_of(group)
            return found if stood_for is None else dist.Backend(stood_for.said)

        return get_backend

    def _anywhere(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A barrier says on which device it waits, and gloo's knows none."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def barrier(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            given.pop("device_ids", None)
            return function(**given)

        return barrier

    def _moving(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def collective(*args: Any, **kwargs: Any) -> Any:
            self._machine.thread.lenient += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._machine.thread.lenient -= 1

        return collective

    def _checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def collective(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
            with torch._C.DisableTorchFunction():
                tensors = list(tensors_in(given.values()))
                backend = self._backend_of(given.get("group"))
                if backend is not None and not self._machine.thread.lenient:
                    _check(tensors, backend, function.__name__)
                result = function(*args, **kwargs)
                where = next((place(tensor) for tensor in tensors), None)
                if where is not None and self._machine.owns(where):
                    settle(tensors, where)
            return result

        return collective


def _check(tensors: list[torch.Tensor], backend: _Backend, name: str) -> None:
    for tensor in tensors:
        found = place(tensor)
        if found.type not in backend.takes:
            raise device_error(
                RuntimeError,
                f"No backend type associated with device type {found.type}",
                [Operand("tensor", tensor, found)],
                name,
            )
