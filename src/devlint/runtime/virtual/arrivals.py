"""Copies to the host that are still under way.

With `non_blocking=True` a copy from an accelerator is only begun: the numbers are there when the
host has waited for the accelerator. That a copy has begun is noted on the storage of the copy, so
that views share it. Whatever makes the host wait ends all of them, also where it waits for less:
nothing is to be said of what may be right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.operands import Site
from devlint.runtime.virtual.tags import own_storage, tensors_in


@dataclass(frozen=True, slots=True)
class Begun:
    """A copy to the host."""

    site: Site
    """Where it was begun."""
    source: torch.device
    waits: int
    """How often the host had waited by then."""
    has_come: Callable[[], bool] | None
    """Asks a real accelerator whether it has; nothing where none can be asked."""


@dataclass(frozen=True, slots=True)
class Early:
    """A tensor under way that a call is given."""

    tensor: Tensor
    begun: Begun
    version: int


class Arrivals:
    """What is under way to the host. Threads share one: whichever waits, waits for all."""

    def __init__(self) -> None:
        self._waits = 0
        self._last = -1

    @property
    def under_way(self) -> bool:
        """Whether any copy is, as far as is known."""
        return self._last == self._waits

    def begin(self, copy: Tensor, source: torch.device, site: Site, has_come: Any) -> None:
        """A copy has been asked for."""
        storage = own_storage(copy)
        if storage is not None and copy.numel():
            storage._devlint_begun = Begun(site, source, self._waits, has_come)
            self._last = self._waits

    def end(self) -> None:
        """The host has waited for an accelerator."""
        self._waits += 1

    def of(self, tensor: Tensor) -> Begun | None:
        """The copy that a tensor shares its memory with, if that is under way."""
        found: Begun | None = getattr(own_storage(tensor), "_devlint_begun", None)
        return found if found is not None and self.is_under_way(found) else None

    def is_under_way(self, begun: Begun) -> bool:
        """Whether nothing has waited since; a real accelerator may besides say that it is done."""
        is_new = begun.waits == self._waits
        return is_new and (begun.has_come is None or not begun.has_come())

    def among(self, values: tuple[Any, ...]) -> list[Early]:
        """The arguments of a call that are under way."""
        with torch._C.DisableTorchFunction():
            found = ((tensor, self.of(tensor)) for tensor in tensors_in(values))
            return [Early(each, begun, version_of(each)) for each, begun in found if begun]


ARRIVALS = Arrivals()
"""There is one host, and so one of these."""


def asking(device: torch.device) -> Callable[[], bool] | None:
    """How a real accelerator is asked whether its stream has come to what was begun by now."""
    kind: Any = getattr(torch, device.type, None)
    if not hasattr(kind, "current_stream"):
        return None
    stream = kind.current_stream(device)
    if device.type != "cuda":
        return stream.query  # type: ignore[no-any-return]
    # A graph is spoiled by the question while it is captured.
    return lambda: torch.cuda.is_current_stream_capturing() or stream.query()


def version_of(tensor: Tensor) -> int:
    """How often a tensor was changed, where that is counted."""
    return 0 if tensor.is_inference() else tensor._version
