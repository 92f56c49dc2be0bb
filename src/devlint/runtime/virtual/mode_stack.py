"""The stack of function modes that sees a thread's calls: each thread has one, and its own only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.overrides

modes_on: Callable[[], list[Any]] = torch.overrides._get_current_function_mode_stack  # type: ignore[attr-defined]
"""The modes of this thread, the last pushed last."""


def set_modes(wanted: Iterable[Any]) -> None:
    """Let these modes see the calls of this thread, and no others."""
    for _ in modes_on():
        torch._C._pop_torch_function_stack()
    for mode in wanted:
        torch._C._push_on_torch_function_stack(mode)


def take_off(is_unwanted: Callable[[Any], bool]) -> None:
    """Take modes from this thread's stack, wherever in it they are."""
    modes = modes_on()
    kept = [mode for mode in modes if not is_unwanted(mode)]
    if len(kept) < len(modes):
        set_modes(kept)
