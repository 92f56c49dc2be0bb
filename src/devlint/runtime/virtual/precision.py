"""Types of numbers that an accelerator computes in and the CPU doesn't, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from devlint.runtime.virtual.tags import tensors_in

is_autocast_enabled = torch.is_autocast_enabled
get_autocast_dtype = torch.get_autocast_dtype
"""The real ones, also while they are replaced."""

Autocast = tuple[bool, torch.dtype]
"""Whether a kind of device casts, and to which type."""

WITHOUT: Autocast = (False, torch.bfloat16)
"""To compute in the types that are given."""


def autocast_of(kind: str) -> Autocast:
    """What torch has noted for a kind of device."""
    return is_autocast_enabled(kind), get_autocast_dtype(kind)


def set_host_autocast(state: Autocast) -> None:
    """Let the real CPU cast like that."""
    enabled, dtype = state
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


@contextmanager
def host_casting(state: Autocast) -> Iterator[None]:
    """Let the real CPU cast like that for a while."""
    before = autocast_of("cpu")
    set_host_autocast(state)
    try:
        yield
    finally:
        set_host_autocast(before)


def in_single_precision(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> Any:
    """An operator that an accelerator has for a dtype and the CPU has not.

    Raises:
        Exception: `error`, where no argument is of such a dtype.
    """
    narrow = next((t.dtype for t in tensors_in([*args, *kwargs.values()]) if _is_narrow(t)), None)
    if narrow is None:
        raise error

    def widen(tensor: Tensor) -> Tensor:
        return tensor.float() if tensor.dtype is narrow else tensor

    args, kwargs = tree_map_only(Tensor, widen, (args, dict(kwargs)))
    result = func(*args, **kwargs)
    if isinstance(result, Tensor) and result.dtype is torch.float32:
        return result.to(narrow)
    return result


def _is_narrow(tensor: Tensor) -> bool:
    return tensor.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128)
