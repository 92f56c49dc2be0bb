"""Devices that a caller may name: a parameter or an attribute that names the CPU.

A test for the CPU leaves such a default as it is; whoever wants an accelerator names it there.
"""

from __future__ import annotations

import functools
import gc
import inspect
from types import CodeType, FrameType, FunctionType

import torch

from devlint.runtime.explaining.stack import values_of
from devlint.runtime.operands import is_tensor
from devlint.runtime.ported.holdings import arguments, attributes


def names_cpu(value: object) -> bool:
    """Whether a value is the name of the CPU."""
    if type(value) is torch.device:
        return value.type == "cpu"
    return type(value) is str and value.partition(":")[0] == "cpu"


def is_default(frame: FrameType) -> bool:
    """Whether a parameter of a function has the CPU as its default, and has it still."""
    names = values_of(frame)
    return any(names_cpu(names.get(name)) for name in _cpu_defaults(frame.f_code))


def is_settable(called: FrameType) -> bool:
    """Whether who calls a function may name another device than the CPU: by an argument, or by an
    attribute of one. What has a `.to()` is moved by it instead."""
    for value in arguments(called):
        if names_cpu(value):
            return True
        has_move = is_tensor(value) or callable(inspect.getattr_static(value, "to", None))
        if not has_move and any(map(names_cpu, attributes(value))):
            return True
    return False


@functools.lru_cache(maxsize=1024)
def _cpu_defaults(code: CodeType) -> tuple[str, ...]:
    """The parameters whose defaults name the CPU. A frame doesn't know its function."""
    functions = (each for each in gc.get_referrers(code) if type(each) is FunctionType)
    function = next(functions, None)
    if function is None:
        return ()
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    return tuple(each.name for each in parameters if names_cpu(each.default))


SETTABLE = "_devlint_settable"
"""The note on a tensor that is on the CPU because a caller hasn't named another device."""
