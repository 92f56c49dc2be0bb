"""Copies to the host that arrive when a program waits, and no sooner: the worst that may happen.

An emulated accelerator has done all work when a call returns. So that a program which reads too
early goes wrong, `x.to("cpu", non_blocking=True)` gives zeros here, as fresh memory mostly holds,
and its values come with whatever makes the host wait next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch

from devlint.runtime.virtual.moves import Moves
from devlint.runtime.virtual.tags import shown_place


class LateCopies:
    """To be given to an emulation as its log of transfers, which tells it of all waits."""

    def __init__(self) -> None:
        self._pending: list[tuple[torch.Tensor, torch.Tensor]] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let copies be late."""
        move = Moves.move

        def late_move(moves: Moves, tensor: torch.Tensor, device: Any, *rest: Any, **options: Any):
            result = move(moves, tensor, device, *rest, **options)
            there, here = shown_place(tensor), shown_place(result)
            if not options.get("wait", True) and there.type != "cpu" and here.type == "cpu":
                with torch._C.DisableTorchFunction():
                    self._pending.append((result.data, result.detach().clone()))
                    result.data.zero_()
            return result

        with patch.object(Moves, "move", late_move):
            yield

    def copied(self, source: torch.device, target: torch.device, tensor: Any, wait: bool) -> None:
        """The program has copied: on its way to the accelerator, behind all earlier copies."""
        if source != target and (wait or target.type != "cpu"):
            self.waited("copy", tensor)

    def waited(self, what: str, tensor: Any = None) -> None:
        """The host has waited."""
        with torch._C.DisableTorchFunction():
            for late, values in self._pending:
                late.copy_(values)
        self._pending.clear()
