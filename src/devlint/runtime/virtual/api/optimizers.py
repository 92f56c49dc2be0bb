"""Optimizers: sorting tensors by device, and the steps of theirs that ask for no device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from devlint.runtime.patches import Patches
from devlint.runtime.virtual.tags import attribute, shown_place
from devlint.runtime.virtual.world import World


def patch(world: World, patches: Patches) -> None:
    """Patch `torch.optim`."""
    patches.wrap(torch.optim.Optimizer, "zero_grad")(_unseen)
    for kind in list(vars(torch.optim).values()):
        if isinstance(kind, type) and "_init_group" in vars(kind):
            patches.wrap(kind, "_init_group")(_collecting(world, kind))
    if hasattr(torch._C, "_group_tensors_by_device_and_dtype"):
        patches.set(torch._C, "_group_tensors_by_device_and_dtype", _grouped)


def _unseen(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function whose calls of torch needn't be seen one by one."""
    with torch._C.DisableTorchFunction():
        return function(*args, **kwargs)


def _collecting(world: World, kind: type) -> Callable[..., Any]:
    """Once its state is there, an optimizer only collects: a dozen reads for each parameter."""
    read = attribute("grad").__get__
    makes_state = kind is not torch.optim.SGD  # SGD makes its buffers in the step itself

    def run(
        collect: Callable[..., Any], optimizer: Any, group: Any, *args: Any, **kwargs: Any
    ) -> Any:
        placed = world.functions.handlers[read]
        with torch._C.DisableTorchFunction():
            ready = True
            for parameter in group["params"]:
                if placed(read, (parameter,), {}) is not None and makes_state:
                    ready = ready and len(optimizer.state.get(parameter, ())) > 0
            if ready:
                return collect(optimizer, group, *args, **kwargs)
        return collect(optimizer, group, *args, **kwargs)

    return run


def _grouped(lists: Any, with_indices: bool = False) -> dict[Any, Any]:
    """What C++ does by the real devices."""
    with torch._C.DisableTorchFunction():
        keys = [(shown_place(first), first.dtype) for first in lists[0]]
    groups: dict[Any, Any] = {}
    for index, key in enumerate(keys):
        columns, indices = groups.setdefault(key, ([[] for _ in lists], []))
        for column, tensors in zip(columns, lists, strict=True):
            if tensors:  # an optimizer without momentum gives an empty list
                column.append(tensors[index])
        indices.append(index)
    return groups
