"""Functions with a backward pass of their own, `torch.autograd.Function`: `apply` runs `forward`,
and the gradient that `backward` gets is where the output is."""

from __future__ import annotations

from devlint.flow.calls.function_calls import call_method
from devlint.flow.calls.judged import told_aside
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import Bound, ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.torchapi.spellings import CONTEXT, FUNCTION

_SAVED = "saved_tensors"


def is_about_gradients(bound: Bound) -> bool:
    """Whether a method is one of such a function, or of what its passes hand on."""
    return bound.name.rpartition(".")[0] in (FUNCTION, CONTEXT)


def called(frame: Frame, node: ir.Call, bound: Bound, args: Arguments) -> Value:
    """`Own.apply(x)`, or `ctx.save_for_backward(x)` while it runs."""
    info = bound.receiver.data
    if isinstance(info, ClassInfo):
        return _applied(frame, node, info, args)
    found = frame.object(bound.receiver)
    if bound.name.endswith(".save_for_backward") and found is not None and not args.unpacked:
        kept = tuple(value for _, value in args.positional())
        held = Value(Kind.TUPLE, data=frame.allocate(node, Object(items=kept)))
        frame.update(bound.receiver, found.with_entry(_SAVED, held))
    return NONE


def _applied(frame: Frame, node: ir.Call, info: ClassInfo, args: Arguments) -> Value:
    if args.unpacked:
        return NOTHING
    made = frame.allocate((node, "context"), Object(source=CONTEXT))
    context = Value(Kind.INSTANCE, data=made)
    if info.method("setup_context") is None:
        args = Arguments((*_positional(node, (context,)).all, *args.all))
        result = call_method(frame, node, info, "forward", args)
    else:
        result = call_method(frame, node, info, "forward", args)
        inputs = Object(items=tuple(value for _, value in args.positional()))
        given = (context, Value(Kind.TUPLE, data=frame.allocate(node, inputs)), result)
        call_method(frame, node, info, "setup_context", _positional(node, given))
    found = frame.object(result)
    outputs = (result,) if found is None or found.items is None else found.items
    gradients = [_gradient(frame, node, output) for output in outputs]
    if any(each is not NOTHING for each in gradients):
        with told_aside(frame):
            call_method(frame, node, info, "backward", _positional(node, (context, *gradients)))
    return result


def _positional(node: ir.Call, values: tuple[Value, ...]) -> Arguments:
    return Arguments(tuple((ir.Argument(node), value) for value in values))


def _gradient(frame: Frame, node: ir.Call, output: Value) -> Value:
    """What comes back for an output: it is where that is, and of its shape."""
    place = frame.place(output)
    if output.kind not in TENSORS or place == UNKNOWN:
        return NOTHING
    told = Step(Sort.OUTPUT, node, output.trace)
    return Value(Kind.TENSOR, place, origin=Origin.FOLLOWS, scalar=output.scalar, trace=told)
