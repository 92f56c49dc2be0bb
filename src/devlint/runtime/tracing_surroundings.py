"""What torch has to be told while tracings are on: their modes go where a program's calls go.

The changes are made once for all tracings, and taken back when the last of them ends.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
import torch.overrides
from torch import Tensor

from devlint.runtime.guard.compiler import unseen_by_compiler
from devlint.runtime.patches import Patches
from devlint.runtime.tracing_mode import TracingMode
from devlint.runtime.virtual.api.warned import WARNINGS
from devlint.runtime.virtual.arrivals import ARRIVALS
from devlint.runtime.virtual.mode_stack import FAST_PATHS, modes_on, set_modes, take_off
from devlint.runtime.virtual.running import RUNNING, running_world
from devlint.runtime.virtual.tags import CPU, note_making, users_instruction
from devlint.runtime.waits import is_accelerator

_DYNAMO = "torch._dynamo.eval_frame"


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.seeing: dict[TracingMode, int] = {}
        """The modes that see this thread's calls, and how often each was pushed."""
        self.aside: list[tuple[int, Any]] = []
        """The modes that were taken from the stack for a while, and where they were in it."""
        self.aside_for: FrameType | None = None
        """The call of compiled code that they were taken off for."""


_thread = _PerThread()


def push(mode: TracingMode) -> None:
    """Let a mode see the calls of this thread. It sees each call once, however often pushed."""
    _drop_ended()
    if not mode.is_on:
        return
    times = _thread.seeing.get(mode, 0)
    _thread.seeing[mode] = times + 1
    if not times:
        torch._C._push_on_torch_function_stack(mode)


def remove(mode: TracingMode) -> None:
    """Take back one push of a mode; one that this thread hasn't pushed may be given too."""
    times = _thread.seeing.pop(mode, 0)
    if times > 1:
        _thread.seeing[mode] = times - 1
    elif times:
        take_off(lambda each: each is mode)
    _drop_ended()


def _drop_ended() -> None:
    """Take off the modes whose tracings have ended in other threads."""
    ended = [mode for mode in _thread.seeing if not mode.is_on]
    for mode in ended:
        del _thread.seeing[mode]
    if ended:
        take_off(lambda each: each in ended)


class Surroundings:
    """Changes of torch that hold while there is a tracing."""

    def __init__(self) -> None:
        self._modes: list[TracingMode] = []
        self._patches = Patches()
        self._lock = threading.Lock()

    def enter(self, mode: TracingMode) -> None:
        """Begin to care for a mode."""
        with self._lock:
            if not self._modes:
                self._patch()
            self._modes.append(mode)
            RUNNING.logs.append(mode.log)

    def leave(self, mode: TracingMode) -> None:
        """Care for a mode no longer."""
        with self._lock:
            self._modes.remove(mode)
            RUNNING.logs = [each.log for each in self._modes]
            if not self._modes:
                self._patches.close()

    def after_fork(self) -> None:
        """A child isn't traced: nobody reads what it notes, and its parent's locks may be held."""
        self._lock = threading.Lock()
        for mode in self._modes:
            mode.is_on = False

    def _patch(self) -> None:
        self._patch_threads()
        self._patch_engine()
        self._patches.enter_context(FAST_PATHS)
        self._patches.enter_context(WARNINGS)
        self._patch_compilers()
        self._patch_unseen_makers()
        self._patch_synchronize()
        self._patch_storages()

    # --- where calls come from

    def _patch_threads(self) -> None:
        """Threads that start are traced from their first call on."""

        @self._patches.wrap(threading.Thread, "_bootstrap_inner")
        def seen(bootstrap: Callable[..., None], thread: threading.Thread) -> None:
            for mode in list(self._modes):
                push(mode)
            bootstrap(thread)

    def _patch_engine(self) -> None:
        """Code that the autograd engine calls back is traced if what has called the engine is.

        `backward()` is itself seen by the modes, and what it does then is not, as with any call.
        """

        @self._patches.wrap(torch.autograd.graph, "_engine_run_backward", torch.autograd)
        def run(engine: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            stack = modes_on()
            missing = [mode for mode in _thread.seeing if mode.is_on and mode not in stack]
            if not missing or _thread.aside:
                return engine(*args, **kwargs)
            set_modes([*stack, *missing])
            try:
                return engine(*args, **kwargs)
            finally:
                take_off(lambda mode: mode in missing)

    # --- what would go another way under a mode

    def _patch_compilers(self) -> None:
        """Code that torch.compile traces, or has compiled, meets no mode of ours."""
        if _DYNAMO in sys.modules:
            self._patch_dynamo()
            return
        compile_ = torch.compile

        def load_and_compile(*args: Any, **kwargs: Any) -> Any:
            importlib.import_module(_DYNAMO)
            with self._lock:
                if torch.compile is load_and_compile and self._modes:
                    self._patches.set(torch, "compile", compile_)
                    self._patch_dynamo()
            return compile_(*args, **kwargs)

        self._patches.set(torch, "compile", load_and_compile)

    def _patch_dynamo(self) -> None:
        dynamo = sys.modules[_DYNAMO]
        names = ("_maybe_set_eval_frame", "set_eval_frame")  # the latter in older releases
        name = next((each for each in names if hasattr(dynamo, each)), None)
        if name is None:
            return
        set_frame = getattr(dynamo, name)

        def step_aside(callback: Any) -> Any:
            """A call of compiled code begins by giving a callback, and ends by taking it back."""
            call = sys._getframe(1)
            if callback is not None and call.f_code.co_name != "__enter__":
                before = set_frame(None)
                _step_aside(call)
                set_frame(callback)
            else:
                before = set_frame(callback)
                _step_back(call)
            return before

        unseen_by_compiler(step_aside.__code__)  # the compiler may be on when this is called
        self._patches.set(dynamo, name, step_aside)

    # --- what no mode sees

    def _patch_unseen_makers(self) -> None:
        """Tensors that are made of an array, read from a file, or sent by another process."""
        for owner, name in (
            (torch, "from_numpy"), (torch, "frombuffer"), (torch._utils, "_rebuild_tensor"),
        ):  # fmt: skip
            self._patches.wrap(owner, name)(_note_making)

    def _patch_synchronize(self) -> None:
        """Waiting for an accelerator as such is no function of tensors."""
        kinds: list[Any] = [getattr(torch, name, None) for name in ("cuda", "xpu", "mps")]
        owners = [*kinds, getattr(torch, "accelerator", None)]
        owners += [getattr(kind, name, None) for kind in kinds for name in ("Stream", "Event")]
        for owner in owners:
            if hasattr(owner, "synchronize"):
                self._patches.wrap(owner, "synchronize")(_note_wait)
            if hasattr(owner, "query"):
                self._patches.wrap(owner, "query")(_note_success)

    def _patch_storages(self) -> None:
        """Saving a tensor copies its storage to the host."""

        @self._patches.wrap(torch.storage._StorageBase, "cpu")
        def to_host(cpu: Callable[[Any], Any], storage: Any) -> Any:
            result = cpu(storage)
            if running_world() is None and is_accelerator(storage.device):
                for log in RUNNING.logs:
                    log.copied(storage.device, CPU, storage, True)
            return result


def _note_wait(synchronize: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    result = synchronize(*args, **kwargs)
    if running_world() is None:  # an emulation's notes it itself
        for log in RUNNING.logs:
            log.waited("synchronize")
    return result


def _note_success(query: Callable[..., bool], *args: Any, **kwargs: Any) -> bool:
    """Who asks until the answer is yes has waited."""
    is_done = query(*args, **kwargs)
    if is_done:
        ARRIVALS.end()
    return is_done


def _step_aside(call: FrameType) -> None:
    """Take our modes from the stack for as long as a frame runs, which may wait."""
    ARRIVALS.end()
    stack = modes_on()
    ours = [(index, mode) for index, mode in enumerate(stack) if isinstance(mode, TracingMode)]
    if ours and not _thread.aside:
        _thread.aside, _thread.aside_for = ours, call
        set_modes([mode for mode in stack if not isinstance(mode, TracingMode)])


def _step_back(call: FrameType) -> None:
    """Put them where they were, if this is the frame that they stepped aside for."""
    if _thread.aside_for is not call:
        return
    stack = modes_on()
    for index, mode in _thread.aside:
        if mode.is_on and mode in _thread.seeing:  # else it has been taken off meanwhile
            stack.insert(index, mode)
    set_modes(stack)
    _thread.aside, _thread.aside_for = [], None


def _note_making(make: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    made = make(*args, **kwargs)
    if not torch.compiler.is_compiling() and any(mode.is_on for mode in _thread.seeing):
        with torch._C.DisableTorchFunction():
            note_making(made, users_instruction(sys._getframe(1)))
    return made


SURROUNDINGS = Surroundings()
"""There is one torch in a process, and so one of these."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SURROUNDINGS.after_fork)
