"""What a call of torch asks of the devices of its tensors, by the table's rows, and who calls."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import resolve_name

from devlint import torchapi
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.virtual.tags import tensors_in
from devlint.torchapi import Effect, Row

DEVICE = "torch.Tensor.device.__get__"
ASKS_FOR_DEVICE = frozenset(
    {DEVICE, "torch.Tensor.get_device", "torch.get_device"}
    | {f"torch.Tensor.{name}.__get__" for name in ("is_cuda", "is_cpu", "is_xpu", "is_mps")}
)
INDEXING = frozenset({"torch.Tensor.__getitem__", "torch.Tensor.__setitem__"})
_MOVING = frozenset({
    Effect.MOVE, Effect.MOVE_IN_PLACE, Effect.READ_ON_HOST, Effect.HOST_ONLY, Effect.CREATE,
})  # fmt: skip


@lru_cache(maxsize=2048)
def named(func: Any) -> tuple[str, Row | None]:
    """The dotted name of a function, and what is known of it."""
    name = "torch.Tensor" if func is Tensor else resolve_name(func) or ""
    return name, torchapi.load().get(name) if name else None


def may_move(row: Row | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the result of a call may be on a device that isn't that of its tensors."""
    if kwargs.get("device") is not None or any(type(arg) is torch.device for arg in args):
        return True
    if row is None or row.effect not in _MOVING:
        return False
    if row.effect is Effect.MOVE:
        changes = (*args[1:], *kwargs.values())
        return not changes or not all(type(arg) in (torch.dtype, bool) for arg in changes)
    return True


def arguments(
    operands: Iterable[tuple[int | str, ...]],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Iterator[Tensor]:
    """The tensors that are given for some parameters of a function."""
    first = 1 if name.startswith("torch.Tensor.") else 0
    for parameter in operands:
        for way in parameter:
            if way == "*":
                yield from tensors_in(args)
            elif way == "self":
                yield from tensors_in(args[:1])
            elif isinstance(way, int):
                yield from tensors_in(args[first + way : first + way + 1] if way >= 0 else ())
            elif way in kwargs:
                yield from tensors_in((kwargs[way],))


# --- the program's frames


def frames(kinds: frozenset[str] = frozenset({"program", "library"})) -> Iterator[FrameType]:
    """The program's frames at a call of torch, up to the call of the module that they are of."""
    found = False
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        owner = owner_of(frame.f_code.co_filename)
        if found and owner == "torch" and frame.f_code.co_name == "_call_impl":
            return
        found = found or owner not in ("torch", "devlint")
        if owner in kinds:
            yield frame


def is_asked_by_torch() -> bool:
    """Whether the function that has called torch is torch's own, and goes its way on any device."""
    stack = traceback.walk_stack(sys._getframe(1))
    owners = (owner_of(frame.f_code.co_filename) for frame, _ in stack)
    return next((owner for owner in owners if owner != "devlint"), None) == "torch"


def any_names(names: frozenset[str], running: Iterable[FrameType]) -> bool:
    """Whether one of some functions that are running uses one of some names."""
    return any(names & set(frame.f_code.co_names) for frame in running)


LOOKS_AT_TYPE = frozenset({"type", "cuda", "index", "is_available"})
CHOOSES = frozenset({"is_available", "is_cuda", "is_cpu", "get_device"})
