"""The one function that stands in `nn.Module._call_impl` while calls are watched.

The hooks that torch offers do less: a global one doesn't see keyword arguments, and makes each
call of each module slower than this does; hooks of single modules are copied and pickled with
them.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from devlint.runtime.guard.agreement import is_layer, seems_to_disagree
from devlint.runtime.guard.compiler import (
    is_compiling,
    set_compiler,
    unseen_by_compiler,
    without_compiler,
)
from devlint.runtime.guard.errors import DeviceMismatchError
from devlint.runtime.guard.tracebacks import hide
from devlint.runtime.virtual.api.warned import WARNINGS

if TYPE_CHECKING:
    from devlint.runtime.guard.guard import Guard

CallContext = AbstractContextManager[Any]
Plan = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], "CallContext | bool | None"]
"""What is done before a call of a module of one class, unseen by the compiler: may give what the
call is to run in, or say whether a layer's tensors seem to be on several devices."""


@dataclass
class _State:
    """What one replacement knows. Who keeps the function when it is taken off keeps an idle one."""

    plans: dict[type, Plan | None] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    counts: bool = False
    """Whether any of the guards wants to know of calls that have ended."""
    checked: set[int] = field(default_factory=set)
    """The modules that have been looked at, by `id`."""


class _PerThread(threading.local):
    depth = 0
    """How many modules are at work."""


class Watch:
    """Watches the calls of modules for whoever asks for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._seen: dict[int, weakref.ref[nn.Module]] = {}
        self._state = _State()
        self._original: Any = None
        self._installed: Any = None

    def add(self, guard: Guard) -> None:
        """Watch for a guard, too."""
        with self._lock:
            self._seen.clear()  # what isn't new any more is new to this one
            self._change((*self._state.guards, guard))

    def remove(self, guard: Guard) -> None:
        """Watch no more for a guard; where none is left, torch is as it was."""
        with self._lock:
            self._change(tuple(w for w in self._state.guards if w is not guard))

    def count_checked(self) -> int:
        """How many modules have been looked at since calls are watched."""
        return len(self._state.checked)

    def _change(self, guards: tuple[Guard, ...]) -> None:
        """Others may have put something around the function that stands there, so it stays."""
        self._state.guards = guards
        self._state.counts = any(guard.counts_calls for guard in guards)
        if guards and self._installed is None:
            self._put_on()
        elif not guards and self._installed is not None:
            self._take_off()

    def _put_on(self) -> None:
        self._original = nn.Module._call_impl
        self._installed = self._checked(self._original, self._state)
        unseen_by_compiler(self._installed.__code__)
        WARNINGS.__enter__()
        _exchange(self._original, self._installed)

    def _take_off(self) -> None:
        self._state.plans.clear()
        self._state = _State()
        self._seen.clear()
        _exchange(self._installed, self._original)
        WARNINGS.__exit__()
        self._installed = None

    def _checked(self, original: Any, state: _State) -> Any:
        """What stands in `nn.Module._call_impl`."""
        plan_of, note, thread = state.plans.get, state.checked.add, _PerThread()

        @without_compiler
        def new_plan(kind: type) -> Plan | None:
            if not state.guards:
                _exchange(_call_impl, original)  # somebody has put back what was taken off
                return None
            plan = state.plans[kind] = self._plan(kind, state)
            return plan

        def new_class(module: nn.Module, args: Any, kwargs: Any) -> CallContext | bool | None:
            plan = new_plan(type(module))
            return None if plan is None else plan(module, args, kwargs)

        unseen_by_compiler(new_class.__code__)

        # The compiler is to see the program's frames only: it neither compiles this function nor
        # anything that the guard does, while it still sees what is called by `original`.
        def _call_impl(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(self, *args, **kwargs)
            context, counts = None, state.counts
            if counts:
                thread.depth += 1
            try:
                plan = plan_of(type(self), new_class)
                if plan is not None:
                    answer = plan(self, args, kwargs)
                    if isinstance(answer, bool):
                        note(id(self))
                        if answer:
                            _disagrees(state, self, args, kwargs)
                    else:
                        context = answer
                if context is None:
                    result = original(self, *args, **kwargs)
                else:
                    with context:
                        result = original(self, *args, **kwargs)
            except Exception as error:
                raised = _failed(error, state)
                if raised is error:
                    del raised  # or the error would keep this frame, and this frame the error
                    raise
                try:
                    raise raised from None
                finally:
                    del raised
            finally:
                if counts:
                    thread.depth -= 1
            if counts and not thread.depth:
                for guard in state.guards:
                    _asked(guard.returned, self)
            return result

        return _call_impl

    def _plan(self, kind: type, state: _State) -> Plan | None:
        """What to do before calls of modules of a class."""
        if is_layer(kind):
            is_container = kind.__module__ == "torch.nn.modules.container"
            return None if is_container else seems_to_disagree  # a container has nothing of its own
        known = self._seen.get

        def look_once(module: nn.Module, args: Any, kwargs: Any) -> CallContext | None:
            seen = known(id(module))
            if seen is not None and seen() is module:
                return None
            compiler = set_compiler(None)
            try:
                context = self._first_call(module, state)
            finally:
                set_compiler(compiler)
            return context if compiler is None else None  # what is compiled runs in nothing new

        unseen_by_compiler(look_once.__code__)
        return look_once

    def _first_call(self, module: nn.Module, state: _State) -> CallContext | None:
        key, seen_modules = id(module), self._seen
        state.checked.add(key)
        seen_modules[key] = weakref.ref(module, lambda _: seen_modules.pop(key, None))
        for guard in state.guards:
            context: CallContext | None = _asked(guard.called_first, module)
            if context is not None:
                return context
        return None


def _asked(question: Callable[..., Any], *details: Any) -> Any:
    """Ask a guard something. Its error is told; that it couldn't tell ends no program."""
    try:
        with torch._C.DisableTorchFunction():  # modes and subclasses of the program aren't asked
            return question(*details)
    except DeviceMismatchError:
        raise
    except Exception:  # whatever the program's objects answer, the program goes on
        return None


@without_compiler
def _disagrees(state: _State, layer: nn.Module, args: Any, kwargs: Any) -> None:
    for guard in state.guards:
        _asked(guard.disagrees, layer, args, kwargs)


@without_compiler
def _failed(error: Exception, state: _State) -> Exception:
    """What is to be raised for an error of a call: itself, if nobody knows better."""
    hide(error)
    for guard in state.guards:
        raised = _asked(guard.failed, error)
        if isinstance(raised, Exception) and raised is not error:
            return raised
    return error


def _exchange(function: Any, other: Any) -> None:
    """Put a function in the place of another, where that stands.

    torch.compile goes straight to `forward` where a call of a module is torch's own. It takes the
    watched one for that, so that what it compiles is the same, inside a guard and outside.
    """
    if nn.Module._call_impl is function:
        nn.Module._call_impl = other  # type: ignore[method-assign]
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        module = sys.modules.get(name)
        if getattr(module, "unpatched_nn_module_call_impl", None) is function:
            module.unpatched_nn_module_call_impl = other  # type: ignore[union-attr]


WATCH = Watch()
"""Torch is one for the whole process, and so is what watches it."""
