"""How much memory of an accelerator is in use: that of the tensors which Python knows."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.virtual.api.surface import answering
from devlint.runtime.virtual.tags import place, storage_of
from devlint.runtime.virtual.world import World

TOTAL = 16 << 30
"""Bytes of memory that each accelerator says it has. Nothing fails for want of memory."""

_BLOCK = 512
"""The caching allocator gives memory in pieces of so many bytes."""


_LARGE = 1 << 20
"""It gives pieces of so many bytes and more from a pool of their own."""

_SIZES = ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes")
_COUNTS = ("allocation", "active", "segment")
_ALWAYS_ZERO = ("inactive_split", "inactive_split_bytes")


class Memory:
    """Answers questions about memory by looking for tensors: nobody pays who doesn't ask.

    What only C++ holds, such as tensors saved for the backward, isn't counted.
    """

    def __init__(self, world: World) -> None:
        self._machine = world.machine
        self._limit = world.limit
        self._peaks: dict[torch.device, int] = {}
        self._fraction = 1.0

    def functions(self) -> dict[str, Any]:
        """By name, as in `torch.cuda`."""
        return {
            **dict.fromkeys(
                ("memory_allocated", "memory_reserved", "memory_cached", "device_memory_used"),
                self.used,
            ),
            **dict.fromkeys(
                ("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), self.peak
            ),
            **dict.fromkeys(
                ("reset_peak_memory_stats", "reset_max_memory_allocated",
                 "reset_max_memory_cached"), self.forget_peak,
            ),
            **dict.fromkeys(
                ("empty_cache", "empty_host_cache", "reset_accumulated_memory_stats",
                 "reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats",
                 "caching_allocator_enable"), answering(None),
            ),
            **dict.fromkeys(("mem_get_info", "get_memory_info"), self.free_and_total),
            "memory_stats": self.statistics,
            "memory_stats_as_nested_dict": self.nested,
            "host_memory_stats_as_nested_dict": _of_the_host,
            "caching_allocator_disabled": contextlib.nullcontext,
            "get_allocator_backend": answering("native"),
            "set_per_process_memory_fraction": self.set_fraction,
            "get_per_process_memory_fraction": lambda device=None: self._fraction,
            "memory_snapshot": answering([]),
            "memory._snapshot": self.snapshot,
            "memory._record_memory_history": self.record,
        }  # fmt: skip

    def used(self, device: Any = None) -> int:
        """Bytes in use on a device."""
        return sum(self._blocks(self._machine.resolve_or_current(device)))

    def peak(self, device: Any = None) -> int:
        """The most bytes that were in use whenever somebody asked."""
        self.used(device)
        return self._peaks[self._machine.resolve_or_current(device)]

    def forget_peak(self, device: Any = None) -> None:
        self._peaks.pop(self._machine.resolve_or_current(device), None)

    def free_and_total(self, device: Any = None) -> tuple[int, int]:
        """Bytes that are left on a device, and all that it has."""
        return TOTAL - self.used(device), TOTAL

    def set_fraction(self, fraction: float, device: Any = None) -> None:
        """Keep how much of a device a process may use: nothing is ever out of memory."""
        self._fraction = fraction

    def nested(self, device: Any = None) -> dict[str, Any]:
        """What the allocator of a device counts: by statistic, pool and metric."""
        wanted = self._machine.resolve_or_current(device)
        blocks = self._blocks(wanted)
        pools = {
            "all": blocks,
            "small_pool": [size for size in blocks if size < _LARGE],
            "large_pool": [size for size in blocks if size >= _LARGE],
        }
        found: dict[str, Any] = {
            name: {pool: _counted(measure(held)) for pool, held in pools.items()}
            for names, measure in ((_SIZES, sum), (_COUNTS, len), (_ALWAYS_ZERO, lambda held: 0))
            for name in names
        }
        for name in ("allocated_bytes", "reserved_bytes"):
            found[name]["all"]["peak"] = self._peaks[wanted]
        found |= {name: _counted(0) for name in ("oversize_allocations", "oversize_segments")}
        counters = ("num_alloc_retries", "num_ooms", "num_sync_all_streams")
        return found | dict.fromkeys(counters, 0) | {"max_split_size": -1}

    def statistics(self, device: Any = None) -> dict[str, int]:
        """The same, by one key each: "allocated_bytes.all.current"."""
        return dict(sorted(_flat(self.nested(device))))

    def record(self, *args: Any, **kwargs: Any) -> None:
        self._limit("memory history: it stays empty")

    def snapshot(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As of a device on which nothing was recorded."""
        return {"segments": [], "device_traces": [[] for _ in self._machine.devices]}

    def _blocks(self, wanted: torch.device) -> list[int]:
        """The sizes of the pieces in use on a device, in bytes."""
        found: dict[int, int] = {}
        with torch._C.DisableTorchFunction():
            for candidate in gc.get_objects():
                if not issubclass(type(candidate), Tensor):
                    continue
                try:
                    if place(candidate) == wanted:
                        storage = storage_of(candidate)
                        found[storage.data_ptr()] = -(-storage.nbytes() // _BLOCK) * _BLOCK
                except (NotImplementedError, RuntimeError):  # some have no storage, or no device
                    continue
        self._peaks[wanted] = max(sum(found.values()), self._peaks.get(wanted, 0))
        return list(found.values())


def _counted(now: int) -> dict[str, int]:
    return {"current": now, "peak": now, "allocated": now, "freed": 0}


def _of_the_host() -> dict[str, Any]:
    """Of pinned memory, which is memory like any other."""
    names = ("allocations", "allocated_bytes", "active_requests", "active_bytes")
    return {name: _counted(0) for name in names} | {"num_host_alloc": 0, "num_host_free": 0}


def _flat(nested: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    for name, value in nested.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
