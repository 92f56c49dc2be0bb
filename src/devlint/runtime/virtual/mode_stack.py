"""The stack of function modes that sees a thread's calls: each thread has one, and its own only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.overrides
from torch.overrides import TorchFunctionMode

from devlint.runtime.patches import Patches, Shared

modes_on: Callable[[], list[Any]] = torch.overrides._get_current_function_mode_stack  # type: ignore[attr-defined]
"""The modes of this thread, the last pushed last."""


class Onlooker(TorchFunctionMode):
    """A mode that overrides nothing: what a program computes is what it would compute without."""


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


def _keep_fast_paths(patches: Patches) -> None:
    """Modules of torch.nn take a fast path where `has_torch_function` says that nothing overrides
    torch's functions, as onlookers don't.
    """

    @patches.wrap(torch.overrides, "has_torch_function")
    def asked(has_torch_function: Callable[[Any], bool], relevant_args: Any) -> bool:
        modes = modes_on()
        if not all(isinstance(mode, Onlooker) for mode in modes):
            return has_torch_function(relevant_args)
        set_modes(())
        try:
            return has_torch_function(relevant_args)
        finally:
            set_modes(modes)


FAST_PATHS = Shared(_keep_fast_paths)
"""Held by whoever pushes an onlooker."""
