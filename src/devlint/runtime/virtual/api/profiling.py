"""Profilers and what they look at: NVTX, CUDA's runtime library, the history of memory.

Nothing runs on a device, so nothing of that is recorded. Profilers time the CPU, marks and ranges
are taken and forgotten, a history of memory is empty.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
import torch.autograd.profiler

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.api.memory import Memory
from devlint.runtime.virtual.api.surface import answering
from devlint.runtime.virtual.world import World


def patch(world: World, patches: Patches) -> None:
    """Patch the profilers of torch."""
    kind = world.machine.kind.type
    profile = torch.autograd.profiler.profile

    @patches.wrap(profile, "__init__")
    def of_the_host(
        begin: Any,
        profiler: Any,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        **options: Any,
    ) -> None:
        if enabled and (use_device == kind or (use_cuda and kind == "cuda")):
            world.limit("torch.profiler: the device's time is not recorded, only the CPU's")
            use_cuda, use_device, options["use_cpu"] = False, None, True
        begin(profiler, enabled, use_cuda=use_cuda, use_device=use_device, **options)

    if kind == "cuda":
        marks = torch.autograd.profiler.emit_nvtx
        patches.set(marks, "__enter__", lambda marking: marking)
        patches.set(marks, "__exit__", lambda marking, *details: False)
        patches.set(torch.cuda.nvtx, "_nvtx", _NVTX)


_NVTX = SimpleNamespace(
    **dict.fromkeys(("rangePushA", "rangePop"), answering(-2)),  # depths aren't tracked
    **dict.fromkeys(("rangeStartA", "deviceRangeStart"), answering(0)),
    **dict.fromkeys(("markA", "rangeEnd", "deviceRangeEnd"), answering(None)),
)
"""The functions of `torch._C._nvtx`, as they answer where no tool listens."""


class cudaError(int):  # noqa: N801 - torch's name
    """A result of CUDA's runtime library."""

    success = 0


def cuda_runtime(memory: Memory) -> Any:
    """What `torch.cuda.cudart()` gives: CUDA's runtime library, of which each call succeeds."""
    calls = ("cudaProfilerStart", "cudaProfilerStop", "cudaHostRegister", "cudaHostUnregister")
    return SimpleNamespace(
        **dict.fromkeys(calls, answering(cudaError.success)),
        cudaMemGetInfo=memory.free_and_total,
        cudaError=cudaError,
        cudaGetErrorString=lambda error: "no error" if error == 0 else f"CUDA error {int(error)}",
    )
