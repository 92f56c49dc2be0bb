"""How much memory of an accelerator is in use: that of the tensors which Python knows."""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.tags import place, storage_of

TOTAL = 16 << 30
"""Bytes of memory that each accelerator says it has. Nothing fails for want of memory."""

_BLOCK = 512
"""The caching allocator gives memory in pieces of so many bytes."""


class Memory:
    """Answers questions about memory by looking for tensors: nobody pays who doesn't ask.

    What only C++ holds, such as tensors saved for the backward, isn't counted.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._peaks: dict[torch.device, int] = {}

    def functions(self) -> dict[str, Any]:
        """By name, as in `torch.cuda`."""
        return {
            **dict.fromkeys(("memory_allocated", "memory_reserved", "memory_cached"), self.used),
            **dict.fromkeys(
                ("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), self.peak
            ),
            **dict.fromkeys(
                ("reset_peak_memory_stats", "reset_max_memory_allocated",
                 "reset_max_memory_cached"), self.forget_peak,
            ),
            **dict.fromkeys(
                ("empty_cache", "reset_accumulated_memory_stats",
                 "set_per_process_memory_fraction"), lambda *args, **kwargs: None,
            ),
            "memory_stats": self.statistics,
            "memory_summary": lambda device=None, abbreviated=False: str(self.statistics(device)),
            "memory_snapshot": lambda *args, **kwargs: [],
            "mem_get_info": lambda device=None: (TOTAL - self.used(device), TOTAL),
        }  # fmt: skip

    def used(self, device: Any = None) -> int:
        """Bytes in use on a device."""
        wanted = self._machine.resolve(device) or self._machine.current
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
        total = sum(found.values())
        self._peaks[wanted] = max(total, self._peaks.get(wanted, 0))
        return total

    def peak(self, device: Any = None) -> int:
        """The most bytes that were in use whenever somebody asked."""
        self.used(device)
        return self._peaks[self._machine.resolve(device) or self._machine.current]

    def forget_peak(self, device: Any = None) -> None:
        self._peaks.pop(self._machine.resolve(device) or self._machine.current, None)

    def statistics(self, device: Any = None) -> dict[str, int]:
        return {
            "allocated_bytes.all.current": self.used(device),
            "allocated_bytes.all.peak": self.peak(device),
            "reserved_bytes.all.current": self.used(device),
            "reserved_bytes.all.peak": self.peak(device),
        }
