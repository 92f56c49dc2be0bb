"""A choice of CUDA by whether PyTorch was built for it, which says nothing of the machine."""

from __future__ import annotations

from devlint.flow.domain.lattice import Known
from devlint.flow.domain.values import Kind, Value
from devlint.flow.facts import BuiltQuestion
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.model import ir
from devlint.model.trees import dotted_name

_BUILT = "torch.backends.cuda.is_built"


def note(frame: Frame, test: ir.Expr, *chosen: Value | None) -> None:
    """Note a test that asks whether PyTorch was built for CUDA, and chooses that where it holds."""
    if frame.tells and isinstance(test, ir.Call) and dotted(frame, test.func) == _BUILT:
        if any(each is not None and _is_cuda(each) for each in chosen):
            whole = dotted_name(test.func) == _BUILT
            frame.record(BuiltQuestion(test, frame.context(), whole))


def _is_cuda(value: Value) -> bool:
    names = value.kind in (Kind.STRING, Kind.DEVICE)
    return names and isinstance(value.device, Known) and value.device.type == "cuda"
