"""DEV105: a tensor type that names its device, `torch.cuda.FloatTensor` or `torch.LongTensor`."""

from collections.abc import Iterator

from devlint.flow.facts import (
    CPU,
    ApiCall,
    ApiRead,
    Guard,
    Kind,
    Move,
    Operand,
    Role,
    TypeQuestion,
    dtype_of_type,
    is_type_of_cuda,
    may_be_accelerator,
    place_of_type,
)
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace, replace_tail
from devlint.model.trees import written
from devlint.rules import rule

_HELP = "give the dtype and the device separately: `torch.tensor(..., dtype=..., device=device)`"


@rule("cuda-tensor-type", on=ApiRead)
def type_read(read: ApiRead) -> Iterator[Report]:
    if read.context.guard is Guard.NONE and is_type_of_cuda(read.name):
        yield Report(at=read.node, message=f"`{read.name}` exists only on CUDA", help=_HELP)


@rule("cuda-tensor-type", on=ApiCall)
def type_called(call: ApiCall) -> Iterator[Report]:
    if call.context.guard is not Guard.NONE:
        return
    if is_type_of_cuda(call.name):
        yield Report(at=call.node, message=f"`{call.name}` exists only on CUDA", help=_HELP)
    elif call.name == "torch.set_default_tensor_type":
        given = call.positional[0] if call.positional else call.keyword("t")
        # A type that is no string is reported where it is read.
        if given is not None and given.kind is Kind.STRING and is_type_of_cuda(_spelled(given)):
            yield Report(
                at=given.node,
                message=f"`{_spelled(given)}` exists only on CUDA",
                help="use `torch.set_default_device(device)` and `torch.set_default_dtype(dtype)`",
            )


@rule("cuda-tensor-type", on=Move)
def type_method(move: Move) -> Iterator[Report]:
    if move.method != "type" or not move.arguments:
        return
    (argument, given), *_ = move.arguments
    like = _asked_for_type(argument.value)
    if like is not None:
        if move.context.guard is not Guard.NONE or move.context.role is Role.DATA:
            return
        if given.device == CPU:
            return
        yield Report(
            at=argument.value,
            message=f"`{ir.render(argument.value)}` loses the index of the device, and on MPS it "
            "gives a name that `.type()` refuses",
            fix=_as_the_other(move, like),
            help=f"take both from the tensor: `.to({ir.render(like)})`",
        )
        return
    name = _spelled(given)
    if is_type_of_cuda(name):
        if given.kind is Kind.STRING and move.context.guard is Guard.NONE:
            yield Report(at=given.node, message=f"`{name}` exists only on CUDA", help=_HELP)
        return
    if place_of_type(name) != "cpu" or move.context.role is Role.DATA:
        return
    dtype = dtype_of_type(name)
    if may_be_accelerator(move.receiver.device):
        yield Report(
            at=move.node,
            message=f"`{name}` moves `{move.receiver}` from {move.receiver.device} to the CPU",
            because=move.receiver.trace,
            fix=_by_dtype(argument.value, dtype),
            help=f"`torch.{dtype}` changes the type and keeps the device",
        )


@rule("cuda-tensor-type", on=TypeQuestion)
def type_asked_for(question: TypeQuestion) -> Iterator[Report]:
    if question.context.role in (Role.DATA, Role.TEST):
        return
    first, *others = question.names
    subject = question.subject
    asked = f"torch.is_tensor({subject}) and {subject}.dtype == torch.{dtype_of_type(first)}"
    alone = not isinstance(question.node.args[1].value, ir.Display)
    fix = None
    if alone and isinstance(subject.node, ir.Name):
        fix = Change("Check the dtype", (replace(question.node, f"({asked})"),), Safety.UNSAFE)
    yield Report(
        at=question.node,
        message=f"`{first}` is a CPU type: a tensor on an accelerator is never one",
        because=subject.trace,
        fix=fix,
        help=f"check the dtype{', and so for the others' if others else ''}: `{asked}`",
    )


def _asked_for_type(node: ir.Expr) -> ir.Expr | None:
    """`y` of `x.type(y.type())`."""
    match node:
        case ir.Call(func=ir.Attribute(attr="type", value=like), args=()):
            return like
    return None


def _as_the_other(move: Move, like: ir.Expr) -> Change | None:
    """`x.type(y.type())` -> `x.to(y)`."""
    if len(move.arguments) != 1 or move.arguments[0][0].keyword is not None:
        return None
    text = written(like)
    if not text:
        return None
    rewrite = replace_tail(move.receiver.node, move.node, f".to({text})")
    return Change(f"Use `.to({ir.render(like)})`", (rewrite,), Safety.UNSAFE)


def _spelled(operand: Operand) -> str:
    """A type's dotted name, whether it stands there as a string or as the type itself."""
    named = operand.kind in (Kind.STRING, Kind.LIBRARY)
    return operand.value.data if named and isinstance(operand.value.data, str) else ""


def _by_dtype(given: ir.Expr, dtype: str) -> Change | None:
    if not isinstance(given, ir.Attribute):
        return None
    tail = replace_tail(given.value, given, f".{dtype}")
    return Change(f"Use `{ir.render(given.value)}.{dtype}`", (tail,), Safety.UNSAFE)
