"""What makes the host wait for an accelerator, or copies behind the program's back.

Copies that a program asks for are noted where moves are (`tracing_mode`); here is what asks for a
value, and what can't go on without one: how many elements are chosen, how large the result is. What
PyTorch's documentation says of a function is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from devlint.runtime.transfers import TransferLog
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.tags import CPU, argument, tensors_in

VALUES = (
    Tensor.item, Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.__complex__,
    Tensor.__index__, Tensor.__contains__, Tensor.__format__, Tensor.is_nonzero, torch.is_nonzero,
    torch.equal, Tensor.equal, torch.allclose, Tensor.allclose,
)  # fmt: skip
"""Their result is a number of Python's."""

SIZES = (
    torch.nonzero, Tensor.nonzero, torch.argwhere, Tensor.argwhere, torch.masked_select,
    Tensor.masked_select, torch.unique, Tensor.unique, torch.unique_consecutive,
    Tensor.unique_consecutive, torch.bincount, Tensor.bincount, Tensor.to_sparse, Tensor.coalesce,
)  # fmt: skip
"""How large their result is depends on values."""

CHECKS = (
    torch.linalg.cholesky, torch.linalg.eig, torch.linalg.eigh, torch.linalg.eigvals,
    torch.linalg.eigvalsh, torch.linalg.inv, torch.linalg.ldl_factor, torch.linalg.lu_factor,
    torch.linalg.matrix_rank, torch.linalg.pinv, torch.linalg.solve, torch.linalg.svdvals,
    torch.inverse, Tensor.inverse, F.gaussian_nll_loss,
)  # fmt: skip
"""They look at values to see whether there is a result."""


def _all(args: Any, kwargs: Any) -> Iterable[Any]:
    return (*args, *kwargs.values())


def _repeats(args: Any, kwargs: Any) -> Iterable[Any]:
    given = kwargs.get("output_size") is not None
    return () if given else (kwargs.get("repeats", args[:2][-1] if args else None),)


SOMETIMES: Mapping[Any, Callable[[Any, Any], Iterable[Any]]] = {
    # `torch.where(condition)` has to count.
    torch.where: lambda args, kwargs: _all(args, kwargs) if len(args) + len(kwargs) == 1 else (),
    # Repeats that are a tensor have to be added up, unless the sum is given.
    torch.repeat_interleave: _repeats,
    Tensor.repeat_interleave: _repeats,
    # Deviations that are a tensor are looked at: none may be negative.
    torch.normal: lambda args, kwargs: (argument(args, kwargs, 1, "std"),),
    # Without a number of classes the largest value has to be found.
    F.one_hot: lambda args, kwargs: (
        _all(args, kwargs) if argument(args, kwargs, 1, "num_classes", -1) == -1 else ()
    ),
}
"""They look at some of their arguments: at which, as they are called."""

_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)
_MASKS = (torch.bool, torch.uint8)


def is_accelerator(device: torch.device) -> bool:
    """Whether a device has memory of its own."""
    return device.type not in ("cpu", "meta")


class Waits:
    """Handlers that note, and do what would be done without them.

    Args:
        log: where they note it.
        place: tells where a tensor is.
        go_on: calls a function.
    """

    def __init__(
        self, log: TransferLog, place: Callable[[Tensor], torch.device], go_on: Handler
    ) -> None:
        self._log = log
        self._place = place
        self._go_on = go_on

    def handlers(self) -> Mapping[Any, Handler]:
        """What is handled, by function."""
        from_host = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)
        return {
            **dict.fromkeys((*VALUES, *SIZES, *CHECKS, *SOMETIMES), self.wait),
            **dict.fromkeys(from_host, self.from_host),
            Tensor.tolist: self.tolist,
            Tensor.__getitem__: self.select,
            Tensor.__setitem__: self.assign,
        }

    def _is_away(self, value: Any) -> bool:
        return isinstance(value, Tensor) and is_accelerator(self._place(value))

    # --- functions

    def wait(self, func: Any, args: Any, kwargs: Any) -> Any:
        looked_at = SOMETIMES.get(func, _all)(args, kwargs)
        away = next((tensor for tensor in tensors_in(looked_at) if self._is_away(tensor)), None)
        if away is not None:
            self._log.waited(func.__name__.strip("_"), away)
        return self._go_on(func, args, kwargs)

    def tolist(self, func: Any, args: Any, kwargs: Any) -> Any:
        self._log.copied(self._place(args[0]), CPU, args[0], True)
        return self._go_on(func, args, kwargs)

    def from_host(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What makes a tensor from a program's data copies it as any other."""
        result = self._go_on(func, args, kwargs)
        data = args[1:2] if func is Tensor.new_tensor else args[:1]
        if self._is_away(result) and not any(isinstance(each, Tensor) for each in data):
            self._log.copied(CPU, self._place(result), result, True)
        return result

    # --- items

    def select(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, index = args
        result = self._go_on(func, args, kwargs)
        self._note_index(tensor, index)
        return result

    def assign(self, func: Any, args: Any, kwargs: Any) -> Any:
        tensor, index, value = args
        result = self._go_on(func, args, kwargs)
        is_number = not isinstance(value, Tensor) or (value.dim() == 0 and not self._is_away(value))
        self._note_index(tensor, index, is_number)
        if isinstance(value, Tensor) and value.dim() > 0:
            self._log.copied(self._place(value), self._place(tensor), value, True)
        return result

    def _note_index(self, tensor: Tensor, index: Any, is_number: bool = False) -> None:
        here = self._place(tensor)
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, slice):
                if any(self._is_away(end) for end in (part.start, part.stop, part.step)):
                    self._log.waited("index", tensor)
            elif isinstance(part, Tensor):
                self._note_tensor(part, here, is_number)

    def _note_tensor(self, index: Tensor, here: torch.device, is_number: bool) -> None:
        if index.dim() == 0 and index.dtype in _INTEGERS:
            if self._is_away(index):
                self._log.waited("index", index)  # it is made a number of Python's
        elif index.dtype in _MASKS:
            if is_accelerator(here) and not is_number:  # a number is filled in under the mask
                self._log.waited("index with a mask", index)
        elif is_accelerator(here) and not self._is_away(index):
            self._log.copied(CPU, here, index, True)
