"""What a tracing sees: each call of the program that makes or moves a tensor.

What is seen is noted on the storage of a tensor (`virtual/tags`), so that views share it, it goes
when the data goes, and no tensor lives longer for it. To note a line costs less than a
microsecond: only the code and the offset of an instruction are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.early_reads import Readers, Tell
from devlint.runtime.explaining.stack import users_frame
from devlint.runtime.operands import NO_STORAGE, Site, is_tensor
from devlint.runtime.reader import place
from devlint.runtime.transfers import TransferLog, is_pinned
from devlint.runtime.virtual.arrivals import ARRIVALS, asking
from devlint.runtime.virtual.mode_stack import Onlooker
from devlint.runtime.virtual.modes import Handler
from devlint.runtime.virtual.running import running_world
from devlint.runtime.virtual.tags import (
    CPU,
    PLAIN,
    TENSORLESS,
    carrier_of,
    note_making,
    note_move,
    storage_of,
    users_instruction,
)
from devlint.runtime.waits import Waits, is_accelerator

_MOVES = ("to", "cuda", "cpu", "xpu", "ipu", "hpu", "mtia", "type", "type_as")
_FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)


def _data_place(tensor: Tensor) -> torch.device:
    """Where the data of a tensor is; fake tensors have none."""
    is_fake = type(tensor) not in PLAIN and hasattr(tensor, "fake_mode")
    return CPU if is_fake else place(tensor)


class TracingMode(Onlooker):
    """Notes where tensors are made and moved, what is copied and what is waited for.

    Args:
        log: where transfers are noted.
        tell: is told of copies to the host that are read before they have arrived.
    """

    def __init__(self, log: TransferLog, tell: Tell) -> None:
        super().__init__()
        self.log = log
        self.readers = Readers(tell)
        self._handlers = self._all_handlers()
        self.is_on = True
        """Threads may keep a mode after the tracing has ended: then it does nothing."""

    def _all_handlers(self) -> Mapping[Any, Handler]:
        found = dict(Waits(self.log, _data_place, self.run).handlers())
        for function in _FROM_DATA:
            found[function] = self._from_data(found[function])
        for name in _MOVES:
            if hasattr(Tensor, name):
                found[getattr(Tensor, name)] = self.move
        found[Tensor.copy_] = self.copy
        found[Tensor.numpy] = self.numpy
        found[Tensor.__repr__] = self.print
        return found

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.is_on:
            return func(*args, **kwargs) if kwargs else func(*args)
        if not ARRIVALS.under_way:
            return self._seen(func, args, kwargs)
        early = ARRIVALS.among((args, kwargs))
        result = self._seen(func, args, kwargs)
        if early:
            self.readers.called(func, early, result)
        return result

    def _seen(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        handler = self._handlers.get(func)
        if handler is not None:
            return handler(func, args, kwargs or {})
        if kwargs:
            result = func(*args, **kwargs)
            if kwargs.get("out") is not None:
                return result
        else:
            result = func(*args)
        kind = type(result)
        if kind in PLAIN:
            self._note(result, func, args)
        elif kind is tuple or kind is list or isinstance(result, (tuple, list)):
            for each in result:
                if isinstance(each, Tensor):
                    self._note(each, func, args)
        elif isinstance(result, Tensor):
            self._note_unusual(result, args)
        return result

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function that moves nothing, and note what it makes."""
        result = func(*args, **kwargs)
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, Tensor):
                self._note(each, func, args)
        return result

    def _note(self, made: Tensor, func: Any, args: tuple[Any, ...]) -> None:
        """Note where a result was made, unless it shares the memory of an older tensor."""
        if type(made) not in PLAIN:
            self._note_unusual(made, args)
            return
        try:
            storage = storage_of(made)
        except NO_STORAGE:
            self._note_unusual(made, args)
            return
        held = storage.__dict__
        if "_devlint_made" in held or made._is_view():
            return
        if getattr(func, "__name__", "") == "__get__" or _shares(storage, args):
            return
        held["_devlint_made"] = users_instruction(sys._getframe(2))

    def _note_unusual(self, made: Tensor, args: tuple[Any, ...]) -> None:
        """As `_note`, of subclasses, sparse tensors and wrappers of functorch."""
        if any(each is made for each in args):
            return
        with torch._C.DisableTorchFunction():
            carrier = _carrier(made)
            tensors = (each for each in args if is_tensor(each))
            if carrier is not None and all(_carrier(each) is not carrier for each in tensors):
                note_making(made, users_instruction(sys._getframe(2)))

    # --- moves

    def move(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`.to` and its like, which may give back the tensor itself."""
        tensor = args[0]
        source, data = place(tensor), _data_place(tensor)
        result = func(*args, **kwargs)
        if result is tensor or not isinstance(result, Tensor):
            return result
        if place(result) == source:
            self._note(result, func, args)
            return result
        with torch._C.DisableTorchFunction():
            note_move(result, tensor, users_instruction(sys._getframe(1)))
        waits = _waits(args, kwargs)
        self.log.copied(data, _data_place(result), tensor, waits)
        if not waits:
            self._begin(result, source)
        return result

    def _begin(self, copy: Tensor, source: torch.device) -> None:
        """A copy that nothing waits for has been asked for."""
        frame = users_frame(sys._getframe(1))
        if frame is not None and is_accelerator(source) and place(copy).type == "cpu":
            has_come = asking(source) if running_world() is None else None
            ARRIVALS.begin(copy, source, Site.of(frame.f_code, frame.f_lineno), has_come)

    def _from_data(self, otherwise: Handler) -> Handler:
        """`torch.tensor(x, device=...)` is a move where `x` is a tensor."""

        def make(func: Any, args: Any, kwargs: Any) -> Any:
            handle = self.move if args and isinstance(args[0], Tensor) else otherwise
            return handle(func, args, kwargs)

        return make

    def copy(self, func: Any, args: Any, kwargs: Any) -> Any:
        """`copy_` moves data and makes no tensor."""
        source = kwargs.get("src", kwargs.get("other", args[1] if len(args) > 1 else None))
        target = args[0] if args else kwargs.get("self")
        result = func(*args, **kwargs)
        if isinstance(source, Tensor) and isinstance(target, Tensor):
            there, here = _data_place(source), _data_place(target)
            waits = _waits(args[2:], kwargs)
            self.log.copied(there, here, source, waits)
            # CUDA itself waits for a copy into memory that isn't pinned.
            if not waits and is_pinned(target) and target.is_contiguous():
                self._begin(target, place(source))
        return result

    # --- the host

    def numpy(self, func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        self.log.copied(_data_place(args[0]), CPU, args[0], True)
        return result

    def print(self, func: Any, args: Any, kwargs: Any) -> Any:
        if is_accelerator(_data_place(args[0])):
            self.log.waited("print", args[0])
        return func(*args, **kwargs)


def _waits(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a move returns only when it is complete.

    The first of its arguments that is a bool says otherwise, whichever of its forms is called.
    """
    said = next((value for value in args if value is True or value is False), False)
    return not kwargs.get("non_blocking", said)


def _carrier(tensor: Tensor) -> Any:
    try:
        return carrier_of(tensor)
    except Exception:  # whatever a subclass says of its parts, the program goes on
        return None


def _shares(storage: Any, args: tuple[Any, ...]) -> bool:
    """Whether a storage is that of an argument: not all that share memory are views."""
    tensors = (each for each in args if type(each) not in TENSORLESS and is_tensor(each))
    return any(_carrier(each) is storage for each in tensors)
