"""The guard: a device error that tells what to do, raised before kernels run where it can be."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, TypeVar, cast

from torch import Tensor, nn

from devlint.runtime.collected import Collection, Mismatch
from devlint.runtime.ending import rank_line, write
from devlint.runtime.explain import Explanation, explain
from devlint.runtime.explaining.caught import explain_error, tell
from devlint.runtime.explaining.stack import live, modules_at_work
from devlint.runtime.guard import structure
from devlint.runtime.guard.agreement import disagreement
from devlint.runtime.guard.errors import DeviceMismatchError, EarlyReadWarning
from devlint.runtime.guard.tracebacks import tidy
from devlint.runtime.guard.watch import WATCH, CallContext
from devlint.runtime.reader import READER
from devlint.runtime.transfers import TransferLog

Function = TypeVar("Function", bound=Callable[..., Any])

MODES = ("off", "explain", "strict", "trace", "collect")
_STRICT = ("strict", "trace", "collect")
"""Those that check, or have checked, what modules do."""
WHENS = ("always", "first-batches")


class Guard:
    """A guard, which is on between entering and leaving. It can be entered again, also inside.

    Attributes:
        mode: "off", "explain", "strict", "trace" or "collect".
        transfers: the copies between devices, in the mode "trace"; otherwise nothing.
        collected: the mistakes that the program has gone on after, in the mode "collect".
    """

    def __init__(
        self,
        models: tuple[Any, ...] = (),
        mode: str = "strict",
        when: str = "always",
        batches: int = 3,
        transfers: TransferLog | None = None,
        collected: Collection | None = None,
    ) -> None:
        check_mode(mode)
        if when not in WHENS:
            raise ValueError(f"when={when!r}: choose one of {', '.join(map(repr, WHENS))}")
        if batches < 1:
            raise ValueError(f"batches={batches}: at least one has to be checked")
        for model in models:
            if not isinstance(model, nn.Module):
                kind = type(model).__name__
                raise TypeError(f"a guard is for modules, not for a value of type {kind}")
        self.mode = mode
        self.transfers = transfers
        if mode == "trace" and transfers is None:
            self.transfers = TransferLog()
        self.collected: Collection = Collection() if collected is None else collected
        self._prints = collected is None
        """Whether it prints what it has collected: otherwise somebody else does."""
        self._models = [weakref.ref(model) for model in models]
        self._first = batches if when == "first-batches" else 0
        self._calls: dict[int, int] = {}
        """How often each outermost module was called, by `id`: modules needn't be hashable."""
        self._lock = threading.RLock()
        self._entered: list[ExitStack] = []
        """What the last one to leave undoes, and nothing for each of the others."""
        self._last_explained: Explanation | None = None
        self._warned: set[str] = set()

    # --- on and off

    def __enter__(self) -> Guard:
        with self._lock:
            stack = ExitStack()
            if not self._entered:
                self._turn_on(stack)
            self._entered.append(stack)
        return self

    def _turn_on(self, stack: ExitStack) -> None:
        if self.mode in ("trace", "collect"):
            from devlint.runtime.tracing import Tracing

            collects = self.mode == "collect"
            if collects and self._prints:
                self.collected = Collection()
            collection = self.collected if collects else None
            stack.enter_context(Tracing(self.transfers, collection, self._read_early))
        if self.mode in _STRICT:
            self._calls.clear()
            WATCH.add(self)
            stack.callback(WATCH.remove, self)

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        with self._lock:
            if not self._entered:
                return
            self._entered.pop().close()
            is_over = not self._entered
        raised = error
        if isinstance(error, Exception) and self.mode != "off":
            raised = self.explained_error(error)
            tidy(raised)
        if is_over and self._prints:
            self.print_collected()
        if raised is not error and raised is not None:
            raise raised from None

    def remove(self) -> None:
        """Turn the guard off, however often it was entered. It may be off already."""
        while self._entered:
            self.__exit__()

    @property
    def is_on(self) -> bool:
        """Whether it has been entered and not been left."""
        return bool(self._entered)

    def __call__(self, function: Function) -> Function:
        """Guard a function, also an asynchronous one."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return cast(Function, awaited)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(Function, called)

    # --- what it says

    def explained_error(self, error: Exception) -> Exception:
        """What is to be raised in the place of an error: itself with a note, or a clearer one."""
        if self.mode in _STRICT and type(error) is RuntimeError:
            found = explain_error(error, live(), READER)
            if found is not None and found.error is error and found.explanation.is_mismatch:
                self._raised(found.explanation)
                clearer = DeviceMismatchError.of(found.explanation, str(error))
                return clearer.with_traceback(error.__traceback__)
        self._raised(tell(error, live(), READER))
        return error

    def _raised(self, explanation: Explanation | None) -> None:
        """Note a mistake that an error is about. It may be told repeatedly."""
        if explanation is None or not explanation.devices or explanation is self._last_explained:
            return
        self._last_explained = explanation
        if self.mode == "collect":
            self.collected.add(Mismatch.of(explanation, "raised"))

    def _read_early(self, explanation: Explanation) -> None:
        """Tell of a copy to the host that was read too early, now and once, or at the end."""
        self._last_explained = explanation
        if self.mode == "collect":
            self.collected.add(Mismatch.of(explanation, "noted"))
        else:
            text = explanation.as_text()
            if text not in self._warned:
                self._warned.add(text)
                warnings.warn_explicit(text, EarlyReadWarning, *explanation.place)

    def covers(self, module: nn.Module | None = None) -> bool:
        """Whether it is for a module, or for one of those at work."""
        if not self._models:
            return True
        at_work = [frame.module for frame in modules_at_work(live())]
        for reference in self._models:
            model = reference()
            if model is None:
                continue
            if any(model is each for each in at_work):
                return True
            if module is not None and any(module is each for each in model.modules()):
                return True
        return False

    # --- what it does with the calls of modules

    @property
    def counts_calls(self) -> bool:
        """Whether it is to be told of calls that have ended."""
        return bool(self._first)

    def disagrees(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A layer is called, and what it has and gets may not be on one device."""
        if self.mode == "collect":
            return  # the operators of the layer say so, where what they are given can be moved
        found = disagreement(module, args, kwargs)
        if found is not None and self.covers(module):
            raise mismatch((found.name, found.tensor), (found.own_name, found.own))

    def called_first(self, module: nn.Module) -> CallContext | None:
        """A module that isn't torch's own is called for the first time."""
        return structure.judge(module, self._found) if self.covers(module) else None

    def _found(self, explanation: Explanation) -> None:
        """Tell of what would stay behind, now or at the end."""
        if self.mode != "collect":
            raise DeviceMismatchError.of(explanation)
        self.collected.add(Mismatch.of(explanation, "noted"))

    def failed(self, error: Exception) -> Exception:
        """A module's call has raised; returns what is to be raised instead."""
        if hasattr(error, "devlint_told") or not self.covers():
            return error
        raised = self.explained_error(error)
        with suppress(AttributeError, TypeError):  # an error that takes no attributes
            raised.devlint_told = True  # type: ignore[attr-defined]
        return raised

    def returned(self, module: nn.Module) -> None:
        """A call that didn't come from another module has ended."""
        if not self._first or not self.covers(module):
            return
        self._calls[id(module)] = self._calls.get(id(module), 0) + 1
        if min(self._calls.values()) >= self._first:
            WATCH.remove(self)

    # --- what it tells at the end

    def print_collected(self) -> None:
        """Print the mistakes that the program has gone on after."""
        write(sys.stderr, rank_line() + self.collected.text() if self.collected else "")

    @property
    def found_nothing(self) -> bool:
        """Whether a guard that checks has met no mistake."""
        return self.mode in _STRICT and self._last_explained is None and not self.collected

    @property
    def modules_checked(self) -> int:
        """How many modules were looked at when they were called."""
        return WATCH.count_checked()


_SAME_DEVICE = "Expected all tensors to be on the same device"


def mismatch(stray: tuple[str, Tensor], own: tuple[str, Tensor]) -> DeviceMismatchError:
    """The error for a layer whose tensors are on two devices, as the calling line sees it."""
    operands = [READER.facts(*stray), READER.facts(*own)]
    explanation = explain(live(), _SAME_DEVICE, operands, READER)
    if explanation is None:
        first, second = operands
        return DeviceMismatchError(f"{first.name} is {first}; {second.name} is {second}")
    return DeviceMismatchError.of(explanation, instead=f"{_SAME_DEVICE} (seen before it ran)")


def check_mode(mode: str) -> None:
    """Raise `ValueError` for what isn't a mode."""
    if mode not in MODES:
        choices = f"{', '.join(MODES[:-1])} or {MODES[-1]}"
        raise ValueError(f"{mode!r} isn't a mode of the guard: choose {choices}")
