"""What of torch an emulation changes, and has to take back."""

from __future__ import annotations

import copy
import multiprocessing
import threading
import warnings
from typing import Any

import torch
import torch.cuda.comm
import torch.multiprocessing

_SPECIAL = ("__call__", "__enter__", "__exit__", "__init__", "__new__")


def surface() -> dict[str, Any]:
    """Every attribute of torch that an emulation could change, as it is now."""
    owners: list[Any] = [
        torch, torch.cuda, torch.xpu, torch.mps, torch.cuda.memory, torch.cuda.random,
        torch.version,
        torch.backends.cuda, torch.backends.cudnn, torch.backends.mps, torch.autograd,
        torch.autograd.graph, torch.nn.parallel.comm, torch.multiprocessing.reductions,
        torch.distributed, torch.distributed.distributed_c10d, torch.utils.dlpack, torch._C,
        torch.UntypedStorage, torch.Tensor, torch.autograd.Function, threading.Thread,
        torch.optim.Optimizer, torch.amp.autocast_mode.autocast, multiprocessing.spawn,
        torch.utils._device.DeviceContext, torch._C.ScriptFunction, torch._C.ScriptMethod,
        warnings, torch.cuda.comm, torch.cuda.nccl, torch.cuda.nvtx, torch.mps.profiler,
        torch.autograd.profiler.profile, torch.autograd.profiler.emit_nvtx,
    ]  # fmt: skip
    if hasattr(torch, "accelerator"):
        owners.append(torch.accelerator)
    found = {
        f"{owner.__name__}.{name}": value
        for owner in owners
        for name, value in vars(owner).items()
        if not name.startswith("__")
        or name in ("__call__", "__enter__", "__exit__", "__init__", "__new__")
    }
    found["registry"] = list(torch.serialization._package_registry)
    found["reducers"] = dict(multiprocessing.reduction.ForkingPickler._extra_reducers)
    found["copyreg"] = dict(copy.dispatch_table)
    found["modes"] = torch._C._len_torch_function_stack()
    found["jit"] = torch.jit._state._enabled.enabled
    return found


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = before.keys() | after.keys()
    return sorted(n for n in names if before.get(n, "none") is not after.get(n, "none")
                  and before.get(n, "none") != after.get(n, "none"))  # fmt: skip
