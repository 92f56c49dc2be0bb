"""Questions for a tensor's type that only tensors of the CPU answer with yes."""

from __future__ import annotations

from devlint.flow.domain.lattice import may_be_accelerator
from devlint.flow.domain.paths import Path
from devlint.flow.domain.values import TENSORS, Kind, Value
from devlint.flow.facts import TypeQuestion
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import dotted_name
from devlint.torchapi.spellings import is_type_of_cuda, place_of_type


def note(frame: Frame, node: ir.Call, args: Arguments) -> None:
    """Note `isinstance(x, torch.LongTensor)` of what may well be on an accelerator."""
    if not frame.tells or args.count != 2:
        return
    (subject, value), (asked, _) = args.positional()
    types = asked.items if isinstance(asked, ir.Display) else (asked,)
    names = [dotted(frame, each) for each in types]
    of_the_cpu = tuple(name for name in names if place_of_type(name) == "cpu")
    if not of_the_cpu or "torch.Tensor" in names or not _may_be_elsewhere(frame, value):
        return
    if not _asks_for_cuda(frame):
        operand = frame.operand(subject, value)
        frame.record(TypeQuestion(node, frame.context(), operand, of_the_cpu))


def _may_be_elsewhere(frame: Frame, value: Value) -> bool:
    if value.kind is Kind.UNKNOWN:
        return isinstance(value.data, Path) and value.data.given
    return value.kind in TENSORS and may_be_accelerator(frame.place(value))


def _asks_for_cuda(frame: Frame) -> bool:
    """Whether the function asks for CUDA's types too (`torch.cuda.LongTensor`)."""
    body = frame.function.body if isinstance(frame.function, ir.Function) else ()
    return any(
        isinstance(node, ir.Attribute) and is_type_of_cuda(dotted_name(node))
        for node in nodes_of(body)
    )
