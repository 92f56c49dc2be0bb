"""What the guard has to know of whatever compiles or records the program, without loading it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, ParamSpec, TypeVar

import torch
from torch import nn
from torch._C._dynamo import eval_frame as _frames

Given = ParamSpec("Given")
Result = TypeVar("Result")

is_compiling = torch.compiler.is_dynamo_compiling
"""True in what torch.compile makes of a call, and False when Python runs it."""

_names: Any = _frames

set_compiler = _names.set_eval_frame
"""Say who sees the frames that this thread begins, if anybody; returns who has seen them so far."""


def unseen_by_compiler(code: CodeType) -> None:
    """Have a function run as it is wherever it is called, but not what it calls."""
    if hasattr(_names, "skip_code"):  # of older versions of torch
        _names.skip_code(code)
        return
    action = _names._FrameAction
    strategy = _names._FrameExecStrategy(action.SKIP, action.DEFAULT)
    _names.set_code_exec_strategy(code, strategy)


def without_compiler(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Have a function run as it is wherever it is called, with all that it calls."""

    def run(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        compiler = set_compiler(None)
        try:
            return function(*args, **kwargs)
        finally:
            set_compiler(compiler)

    unseen_by_compiler(run.__code__)
    return functools.wraps(function)(run)


def is_traced() -> bool:
    """Whether something records the program, or runs it on what aren't real tensors."""
    if torch._C._is_tracing() or torch.compiler.is_compiling():
        return True
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    if getattr(sys.modules.get("torch.fx._symbolic_trace"), "_is_fx_tracing_flag", False):
        return True
    modes: list[object] = [*torch.overrides._get_current_function_mode_stack()]
    if torch._C._len_torch_dispatch_stack():
        modes += torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    return not all(type(mode).__module__.startswith("devlint.") for mode in modes)


def _is_compiler_in_use() -> bool:
    """Whether anything has been given to `torch.compile`, as far as the compiler tells."""
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    if compiler is None:
        return False
    return any(map(callable, getattr(compiler, "cached_backends", {0: callable}).values()))


def may_watch(root: nn.Module) -> bool:
    """Whether a function mode changes nothing of what a model computes.

    Code that is compiled would be compiled again.
    """
    return not _is_compiler_in_use() and not any(
        isinstance(module, torch.jit.ScriptModule) or hasattr(module, "_orig_mod")
        for module in root.modules()
    )
