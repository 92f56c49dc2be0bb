"""What lets a run go on: a call whose operands are on two devices is made again with them moved.

A call of torch that fails because of devices is repeated with copies of its operands where the
explanation says that they belong. What the call has written into a copy is written back, so that
in-place operations and `out=` do what they are for. A call that fails all the same, or that runs
code of the program, raises what it has raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from devlint.runtime.collected import Collection, Mismatch
from devlint.runtime.early_reads import Tell
from devlint.runtime.explaining.caught import explain_error
from devlint.runtime.explaining.stack import live
from devlint.runtime.reader import READER, place
from devlint.runtime.tracing_mode import TracingMode
from devlint.runtime.transfers import TransferLog

_RUN_THE_PROGRAM = frozenset({Tensor.backward, torch.autograd.backward, torch.autograd.grad})
"""Functions that call code of the program, whose own calls are seen, and that leave traces where
they fail halfway."""


class CollectingMode(TracingMode):
    """A tracing that notes device mistakes and goes on.

    Args:
        log: where transfers are noted, but for those that are made to go on.
        tell: is told of copies to the host that are read before they have arrived.
        collection: where the mistakes are noted.
    """

    def __init__(self, log: TransferLog, tell: Tell, collection: Collection) -> None:
        super().__init__(log, tell)
        self._collection = collection

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return super().__torch_function__(func, types, args, kwargs)
        except Exception as error:
            if not self.is_on or func in _RUN_THE_PROGRAM:
                raise
            done = self._again(error, func, types, args, kwargs)
            if done is None:
                raise
            return done[0]

    def _again(
        self, error: Exception, func: Any, types: Any, args: Any, kwargs: Any
    ) -> tuple[Any] | None:
        """The result of a call that has failed, if it works with operands that are moved."""
        told = explain_error(error, live(), READER)
        if told is None or told.error is not error or len(told.explanation.devices) < 2:
            return None
        stray, home = told.explanation.devices[:2]
        strays = _on(stray, (args, kwargs))
        for tensors in _choices(strays, told.explanation.is_mismatch):
            # Where all are moved, others may still be on a third device.
            is_all = len(tensors) == len(strays)
            call = self.__torch_function__ if is_all else super().__torch_function__
            try:
                with self.log.paused():
                    moved = _Moved(tensors, home)
                    result = call(func, types, moved.given(args), moved.given(kwargs))
                    result = moved.returned(result)
            except Exception:  # it takes others, or it fails whatever is moved
                continue
            self._collection.add(Mismatch.of(told.explanation, "moved"))
            return (result,)
        return None


def _choices(strays: list[Tensor], is_mismatch: bool) -> Iterable[tuple[Tensor, ...]]:
    """Which tensors to move, of those on the wrong device.

    Where two tensors met all are, but perhaps for one that is on the CPU on purpose, as the sizes
    in a packed sequence are. Otherwise one was wanted elsewhere.
    """
    count = len(strays)
    sizes = (count, count - 1) if is_mismatch else (1, count)
    return chain.from_iterable(combinations(strays, size) for size in sizes if size)


def _on(device: str, values: Any) -> list[Tensor]:
    """The tensors among some values that are on a device."""
    found: dict[int, Tensor] = {}
    for leaf in tree_leaves(values):
        if isinstance(leaf, Tensor) and device in (str(place(leaf)), place(leaf).type):
            found[id(leaf)] = leaf
    return list(found.values())


class _Moved:
    """Copies that stand for tensors during one call."""

    def __init__(self, tensors: Sequence[Tensor], home: str) -> None:
        self._tensors = tensors
        self._copies = [_copy(tensor, home) for tensor in tensors]
        self._versions = [copy._version for copy in self._copies]

    def given(self, values: Any) -> Any:
        """Arguments with the copies in them."""
        return _exchanged(values, self._tensors, self._copies)

    def returned(self, result: Any) -> Any:
        """A result without them; what was written is written back."""
        for tensor, copy, version in zip(self._tensors, self._copies, self._versions, strict=True):
            if copy._version != version:
                tensor.copy_(copy)
            elif not copy.requires_grad and not torch.equal(copy, tensor.to(copy.device)):
                tensor.data.copy_(copy)  # running statistics are written without being counted
        return _exchanged(result, self._copies, self._tensors)


def _copy(tensor: Tensor, home: str) -> Tensor:
    """A tensor on another device, which counts how often it is written to."""
    if not torch.is_inference_mode_enabled():
        return tensor.to(home)
    with torch.inference_mode(False), torch.no_grad():
        return tensor.to(home)


def _exchanged(values: Any, old: Sequence[Tensor], new: Sequence[Tensor]) -> Any:
    """Values with tensors put in the places of others."""
    places = {id(tensor): other for tensor, other in zip(old, new, strict=True)}
    return tree_map_only(Tensor, lambda tensor: places.get(id(tensor), tensor), values)
