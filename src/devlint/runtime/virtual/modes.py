"""What sees a program's tensors: a function mode always, a dispatch mode where devices differ.

The function mode sees each call as the user wrote it. Where all tensors of a call are on one
device there is nothing to check: the call runs as it is, and what is new in its result is put on
that device. That costs a microsecond or two. Where they differ, the call runs under the dispatch
mode, which sees every operator that it comes down to and asks the rules of `checks`.

The autograd engine runs neither: what is legal going forward is legal going backward, and
gradients are placed where a program can see them (`autograd`).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from devlint.runtime.operands import NO_STORAGE
from devlint.runtime.virtual.checks import Call, Signature
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.machine import Machine
from devlint.runtime.virtual.mode_stack import Onlooker, modes_on, set_modes, take_off
from devlint.runtime.virtual.precision import host_casting, in_single_precision
from devlint.runtime.virtual.signatures import signature_of
from devlint.runtime.virtual.tags import (
    CPU,
    NEUTRAL,
    PLAIN,
    TENSORLESS,
    is_tagged,
    place,
    put,
    settle,
    storage_of,
    tensors_in,
)

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""Does the work of one function: (function, args, kwargs) -> result. The mode is off in it."""

MIXED = torch.device("meta", 126)
"""Said of tensors that are on more than one device."""


def survey(values: Any, where: torch.device | None = None) -> torch.device | None:
    """The one device of all tensors among some values, `MIXED`, or nothing if there is none."""
    for value in values:
        kind = type(value)
        if kind in PLAIN:
            try:
                found = storage_of(value)._devlint_device
            except NO_STORAGE:
                found = place(value)
        elif kind in TENSORLESS:
            continue
        elif kind is tuple or kind is list:
            found = survey(value, where)
            if found is None:
                continue
            if found is MIXED:
                return MIXED
        elif isinstance(value, Tensor):
            found = place(value)
        elif isinstance(value, (tuple, list)):
            found = survey(value, where)
            if found is None:
                continue
        elif isinstance(value, dict):
            found = survey(value.values(), where)
            if found is None:
                continue
        else:
            continue
        if where is None:
            where = found
        elif found is not where:
            return MIXED
    return where


_OF_CONSTANTS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.equal.default: operator.eq,
    torch.ops.aten._local_scalar_dense.default: lambda number: number,
}
"""What TorchScript folds constants by: tensors that were made of numbers come as numbers again."""


class DispatchMode(TorchDispatchMode):
    """Checks each operator that one call comes down to, and places what it makes."""

    def __init__(self, machine: Machine, unknown: Callable[[str], None]) -> None:
        super().__init__()
        self._machine = machine
        self._unknown = unknown
        self._signatures: dict[Any, Signature] = {}
        self.has_refused = False
        self.remembers = False
        self.raised: Exception | None = None
        """The last error of a rule, for TorchScript, which passes on no more than its type."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # the wrapper that hides the mode from torch.compile costs more than the mode

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        fold = _OF_CONSTANTS.get(func)
        if fold is not None and not any(isinstance(each, Tensor) for each in args):
            return fold(*args)
        signature = self._signatures.get(func)
        if signature is None:
            signature = self._signatures[func] = signature_of(func)
            if signature.row is None and func.namespace != "aten":
                self._unknown(func.name())
        with torch._C.DisableTorchFunction():
            if not signature.tensors:
                where: Any = NEUTRAL
            else:
                where = self._place_of_result(Call(signature, args, kwargs, self._machine))
            if where is None:
                with self:  # the others that it is made of are checked, each by itself
                    return func._op_dk(signature.shared, *args, **kwargs)
            try:
                result = func(*args, **kwargs)
            except (NotImplementedError, RuntimeError) as error:
                if "not implemented for" not in str(error):
                    raise
                result = in_single_precision(func, args, kwargs, error)
            if isinstance(where, list):
                _settle_each(result, where)
            else:
                settle(result, where)
        return result

    def _place_of_result(self, call: Call) -> Any:
        try:
            return call.signature.rule(call)
        except Exception as error:
            self.has_refused = True
            if self.remembers:
                self.raised = error
            raise


def _settle_each(results: Any, places: list[torch.device]) -> None:
    if isinstance(results, (list, tuple)):
        for result, where in zip(results, places, strict=False):
            if where is not CPU:
                settle(result, where)


def check_written(func: Any, given: list[Any], written: list[tuple[Tensor, torch.device]]) -> None:
    """What is written to has to be where it was computed.

    Raises:
        RuntimeError: if it isn't, and no operator has said so.
    """
    tensors = sorted(tensors_in(given), key=lambda tensor: tensor.dim() == 0)  # scalars last
    expected = next(map(place, tensors), None)
    for out, found in written:
        if expected is not None and found is not expected:
            put(out, found)
            text = f"Expected out tensor to have device {expected}, but got {found} instead"
            raise device_error(RuntimeError, text, [Operand("out", out, found)], func.__name__)


_NOTHING: dict[str, Any] = {}


class FunctionMode(Onlooker):
    """Sees what the program calls."""

    def __init__(self, machine: Machine, checks: DispatchMode) -> None:
        super().__init__()
        self._machine = machine
        self._thread = machine.thread
        self._checks = checks
        self.handlers: dict[Any, Handler] = {}
        self.placeless: set[Any] = set()
        """Functions to which it makes no difference where tensors are."""
        self.again: Callable[[Exception, tuple[Any, ...], dict[str, Any]], bool] | None = None
        """Asked, with the error of a call and its arguments, whether it is to be made again."""
        self.is_over = False
        """Threads may keep the mode after the emulation has ended: then it does nothing."""

    def __enter__(self) -> FunctionMode:
        """See this thread's calls, after the onlookers, which see what is raised here."""
        modes = [m for m in modes_on() if not (isinstance(m, FunctionMode) and m.is_over)]
        looking = (i for i, mode in enumerate(modes) if _looks_on(mode))
        place = next(looking, len(modes))
        set_modes([*modes[:place], self, *modes[place:]])
        self._thread.seen += 1
        return self

    def __exit__(self, *details: object) -> None:
        self._thread.seen -= 1
        take_off(lambda mode: mode is self)  # others may have been pushed on it, and be still on

    def end(self) -> None:
        """See no calls any more, in no thread: no thread reaches the stack of another."""
        self.is_over = True
        take_off(lambda mode: mode is self)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.is_over:
            return func(*args, **kwargs) if kwargs else func(*args)
        for kind in types:
            if not issubclass(kind, Tensor):  # its own code makes and moves tensors
                with self:
                    result = kind.__torch_function__(func, types, args, kwargs or {})
                if result is not NotImplemented:
                    return result
        if func in self.placeless:
            return func(*args, **kwargs) if kwargs else func(*args)
        handler = self.handlers.get(func)
        if handler is None:
            return self.usual(func, args, kwargs) if kwargs else self.run(func, args, _NOTHING)
        return self._persistent(handler, func, args, kwargs or {})

    def _persistent(
        self, handler: Handler, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function, again as long as something is done about its errors."""
        if self.again is None:
            return handler(func, args, kwargs)
        while True:
            try:
                return handler(func, args, kwargs)
            except Exception as error:
                if not self.again(error, args, kwargs):
                    raise

    def wrap_handlers(
        self, names: Iterable[str], spaces: Iterable[Any], wrap: Callable[[Handler], Handler]
    ) -> None:
        """Put handlers around what is done for functions, wherever they are under their names."""
        for name, space in itertools.product(names, spaces):
            function = getattr(space, name, None)
            if callable(function):
                self.handlers[function] = wrap(self.handlers.get(function, self.usual))

    def usual(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function that has no handler; any may take a device, a generator, or pin."""
        placed = kwargs.get("device") is not None or kwargs.get("generator") is not None
        if placed or kwargs.get("pin_memory"):
            return self.handlers[torch.empty](func, args, kwargs)
        return self.run(func, args, kwargs)

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function as it is, with checks if its tensors are on more than one device."""
        where = survey(args)
        if kwargs and where is not MIXED:
            where = survey(kwargs.values(), where)
        if where is MIXED:
            return self._persistent(self.checked, func, args, kwargs)
        if self._thread.unusual:
            return self._unusually(func, args, kwargs, where)
        if where is None or where is CPU:
            return func(*args, **kwargs)
        try:
            result = func(*args, **kwargs)
        except (NotImplementedError, RuntimeError) as error:
            if "not implemented for" not in str(error):
                raise
            return self.checked(func, args, kwargs)
        if type(result) in PLAIN:
            try:
                storage = storage_of(result)
            except NO_STORAGE:
                settle(result, where)
                return result
            if storage._devlint_device is CPU:
                storage._devlint_device = where
        elif result is not None:
            settle(result, where)
        return result

    def _unusually(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], where: torch.device | None
    ) -> Any:
        """Run a function in the autograd engine, under autocast or where all has to be seen."""
        on_accelerator = where is not None and where is not CPU
        casting = self._thread.casting(on_accelerator)
        with nullcontext() if casting is None else host_casting(casting):
            if self._thread.watched:
                return self.checked(func, args, kwargs)
            result = func(*args, **kwargs)
        if where is not None and where is not CPU:
            settle(result, where)
        elif self._thread.engine and any(map(is_tagged, tensors_in((*args, *kwargs.values())))):
            for tensor in tensors_in((result,)):
                put(tensor, CPU)  # not to be taken for a gradient that nobody has placed
        return result

    def checked(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function operator by operator, with its rules."""
        written = [(out, place(out)) for out in tensors_in((kwargs.get("out"),))]
        with self._checks:
            result = func(*args, **kwargs)
        resolve_neutral(result, args, kwargs, self._machine)
        if written:
            given = [args, *(value for name, value in kwargs.items() if name != "out")]
            check_written(func, given, written)
        return result

    @property
    def is_on(self) -> bool:
        """Whether this thread's calls come here."""
        return any(mode is self for mode in modes_on())


def _looks_on(mode: object) -> bool:
    return isinstance(mode, Onlooker) and not isinstance(mode, FunctionMode)


def resolve_neutral(
    result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], machine: Machine
) -> None:
    """What C++ has made for no device in particular goes where the call's tensors are."""
    for tensor in tensors_in((result,)):
        if place(tensor) is NEUTRAL:
            places = (place(other) for other in tensors_in((*args, *kwargs.values())))
            settle(tensor, next((device for device in places if machine.owns(device)), CPU))
