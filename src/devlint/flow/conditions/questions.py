"""Questions of a program that are none, or that say something else than it takes them to say."""

from __future__ import annotations

from devlint.flow.domain.lattice import Known, may_be_accelerator
from devlint.flow.domain.paths import Path
from devlint.flow.domain.values import NAMED, TENSORS, Kind, Value
from devlint.flow.facts import BuiltQuestion, TypeQuestion, UncalledQuestion
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import dotted_name
from devlint.torchapi.spellings import is_type_of_cuda, place_of_type

_BUILT = "torch.backends.cuda.is_built"
_QUESTIONS = ("is_available", "is_built", "is_initialized", "is_bf16_supported")


def test(frame: Frame, node: ir.Expr) -> Value:
    """The value of the test of a branch."""
    before, frame.testing = frame.testing, True
    value = frame.evaluate(node)
    frame.testing = before
    if value.kind in TENSORS:  # the host looks at it
        frame.state.wait()
    note_uncalled(frame, node, value)
    return value


def note_uncalled(frame: Frame, node: ir.Expr, value: Value) -> None:
    """Note a test that is a function (`if torch.cuda.is_available:`), which is true whatever it
    would have answered."""
    if value.kind is not Kind.LIBRARY or not frame.tells or isinstance(node, ir.Boolean):
        return  # of `a and b`, its terms have been looked at
    name = str(value.data)
    if name.startswith("torch.") and name.rpartition(".")[2] in _QUESTIONS:
        frame.record(UncalledQuestion(node, frame.context()))


def note_built(frame: Frame, test: ir.Expr, *chosen: Value | None) -> None:
    """Note a test that asks whether PyTorch was built for CUDA, which says nothing of the machine,
    and chooses that where it holds."""
    if frame.tells and isinstance(test, ir.Call) and dotted(frame, test.func) == _BUILT:
        if any(each is not None and _is_cuda(each) for each in chosen):
            whole = dotted_name(test.func) == _BUILT
            frame.record(BuiltQuestion(test, frame.context(), whole))


def _is_cuda(value: Value) -> bool:
    names = value.kind in NAMED
    return names and isinstance(value.device, Known) and value.device.type == "cuda"


def note_typed(frame: Frame, node: ir.Call, args: Arguments) -> None:
    """Note `isinstance(x, torch.LongTensor)` of what may well be on an accelerator: only tensors of
    the CPU are of that type."""
    given = args.positional()
    if not frame.tells or len(given) != 2:
        return
    (subject, value), (asked, _) = given
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
    return any(
        isinstance(node, ir.Attribute) and is_type_of_cuda(dotted_name(node))
        for node in nodes_of(frame.body)
    )
