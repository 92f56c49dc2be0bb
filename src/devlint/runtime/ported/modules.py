"""Modules that tests construct, or get from the project and call, are moved to the device."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

from devlint.runtime.explaining.stack import as_module, values_of
from devlint.runtime.patches import Patches
from devlint.runtime.ported.code import Code
from devlint.runtime.ported.holdings import arguments, leaves, near_site
from devlint.runtime.ported.notes import Notes
from devlint.runtime.virtual.tags import CPU, put, shown_place, tensors_in
from devlint.runtime.virtual.world import World


class Modules:
    """Sees modules when they are made and when they are called."""

    def __init__(self, world: World, code: Code, notes: Notes) -> None:
        self._world = world
        self._code = code
        self._notes = notes

    def install(self, patches: Patches) -> None:
        """See the constructor and the calls of all modules."""
        patches.wrap(nn.Module, "__init__")(self._made)
        patches.wrap(nn.Module, "__call__")(self._called)

    def move(self, module: nn.Module, is_new: bool = False) -> bool:
        """Move a module as `.to(device)` does. Returns whether anything has moved.

        Where all is there, there is nothing to do, unless a new module has a `.to()` of its own.
        """
        parts = [*module.parameters(), *module.buffers()]
        is_there = bool(parts) and all(shown_place(part) is not CPU for part in parts)
        if is_there and not (is_new and type(module).to is not nn.Module.to):
            return False
        try:
            with self._world.modes():
                module.to(self._world.machine.current)
        except Exception as error:  # whatever `.to()` of a test's module does, the test goes on
            self._notes.add(sys._getframe(1), f"has a module whose `.to()` raises {error!r}")
            return False
        return True

    def _made(
        self, init: Callable[..., None], module: nn.Module, *args: Any, **kwargs: Any
    ) -> None:
        constructor = _outermost_constructor(sys._getframe(2), module)
        if constructor is not None and self._code.asking(constructor.f_back)[0] == "test":
            at_end = functools.partial(self._built, self._sent_to_host(constructor))
            constructor.f_trace = _AtEnd(constructor.f_trace, weakref.ref(module), at_end)
        init(module, *args, **kwargs)

    def _sent_to_host(self, constructor: FrameType) -> list[Tensor]:
        """Put the tensors on the CPU that a module of the project is made with: whoever moves it
        makes it there. With a module among them that is on the device, it is made on the device."""
        given = arguments(constructor)[1:]
        if self._code.side_of(constructor.f_code.co_filename) == "test":
            return []
        if any(as_module(value) is not None for value in leaves(given)):
            return []
        device = self._world.machine.current
        with torch._C.DisableTorchFunction():
            found = [each for each in tensors_in(given) if shown_place(each) is device]
            for tensor in found:
                put(tensor, CPU)
        return found

    def _built(self, given: list[Tensor], module: nn.Module) -> None:
        """The constructor of a module has ended."""
        self.move(module, is_new=True)
        for tensor in given:
            put(tensor, self._world.machine.current)

    def _called(
        self, call: Callable[..., Any], module: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        side, frame = self._code.asking(sys._getframe(1))
        if side == "test" and frame is not None and not _is_method_of_module(frame):
            self.move(module)
            given = list(tensors_in((*args, *kwargs.values())))
            for tensor in given:
                self.bring(tensor)
            self._notes.handed = next(filter(None, map(near_site, given)), None)
        return call(module, *args, **kwargs)

    def bring(self, tensor: Tensor) -> bool:
        """Put a tensor that a test holds on the device, unless the project should have. Returns
        whether it has moved."""
        if tensor.is_meta or shown_place(tensor) is not CPU or near_site(tensor):
            return False
        put(tensor, self._world.machine.current)
        if tensor.is_leaf and tensor.grad is not None:
            put(tensor.grad, self._world.machine.current)
        return True


class _AtEnd:
    """Moves a module when the constructor ends whose frame has it as its trace function: nothing
    but the frame keeps it alive. What traces the function already goes on."""

    def __init__(
        self, trace: Any, module: weakref.ref[nn.Module], move: Callable[[nn.Module], object]
    ) -> None:
        self._trace = trace
        self._module = module
        self._move = move

    def __call__(self, frame: FrameType, event: str, arg: object) -> _AtEnd:
        if self._trace is not None:
            self._trace = self._trace(frame, event, arg)
        return self

    def __del__(self) -> None:
        module = self._module()
        if module is not None and "_parameters" in vars(module):
            self._move(module)


def _is_method_of_module(frame: FrameType) -> bool:
    """Whether a module is at work: what it calls has been moved with it, or stays with it where
    whoever has called it wants it."""
    code = frame.f_code
    module = as_module(next(iter(arguments(frame)), None))
    found = inspect.getattr_static(type(module), code.co_name, None)
    return module is not None and getattr(found, "__code__", None) is code


def _outermost_constructor(frame: FrameType, module: nn.Module) -> FrameType | None:
    """The frame of the constructor, of a class or of those derived from it, that was called first;
    None where the base's is called by itself."""
    found = None
    while frame.f_code.co_name == "__init__" and frame.f_code.co_argcount:
        this = values_of(frame).get(frame.f_code.co_varnames[0])
        if this is not module or frame.f_back is None:
            break
        found, frame = frame, frame.f_back
    return found
