"""What one line of a program has copied, and how often it made the host wait."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from devlint.runtime.explaining.definitions import place_of
from devlint.runtime.operands import NO_STORAGE, Site

_REMEMBERED = 64
"""Tensors of one line that are known again."""


@dataclass(slots=True)
class Line:
    """What one line of the program has done."""

    site: Site
    waits: int = 0
    copies: int = 0
    bytes: int = 0
    again: int = 0
    """Copies of a tensor that this line has copied before, and that hasn't changed since."""
    what: Counter[str] = field(default_factory=Counter)
    """How often each thing was done: `cuda:0 to cpu`, `item`."""
    first: tuple[int, ...] = (0, 0, 0)
    """The waits, copies and bytes until the first step, and until the last one."""
    last: tuple[int, ...] = (0, 0, 0)
    seen: dict[int, tuple[weakref.ref[Any], int]] = field(default_factory=dict)
    """The tensors that were copied last, and their versions."""

    @property
    def amounts(self) -> tuple[int, ...]:
        return self.waits, self.copies, self.bytes

    @property
    def in_steps(self) -> dict[str, int]:
        """What it has done between the first step and the last."""
        between = (last - first for first, last in zip(self.first, self.last, strict=True))
        return dict(zip(("waits", "copies", "bytes"), between, strict=True))

    def is_again(self, tensor: Any) -> bool:
        """Whether the line copies a tensor once more; note that it does."""
        if not isinstance(tensor, torch.Tensor):
            return False
        try:
            with torch._C.DisableTorchFunction():
                version = tensor._version
        except NO_STORAGE:  # of inference tensors nothing tells whether they have changed
            return False
        before, known = self.seen.pop(id(tensor), (None, -1))
        self.seen[id(tensor)] = weakref.ref(tensor), version
        if len(self.seen) > _REMEMBERED:
            del self.seen[next(iter(self.seen))]
        return before is not None and before() is tensor and known == version

    @property
    def place(self) -> str:
        """As in `train.py:88`."""
        return place_of(self.site.file, self.site.line) if self.site.line else self.site.file
