"""What the guard has to know of torch.compile, without loading it."""

from __future__ import annotations

from types import CodeType
from typing import Any

import torch
from torch._C._dynamo import eval_frame as _frames

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
