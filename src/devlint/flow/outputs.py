"""What models, losses and tokenizers give that nobody here made: parameters, attributes that others
set."""

from __future__ import annotations

import re

from devlint import ir
from devlint.flow import meet
from devlint.flow.arguments import Arguments
from devlint.flow.devices import last_name
from devlint.flow.frame import Frame
from devlint.flow.lattice import UNKNOWN, may_be_accelerator
from devlint.flow.model_overlays import encoding
from devlint.flow.module_calls import call_module
from devlint.flow.values import NOTHING, TENSORS, Kind, Origin, Trace, Value

_MODEL = re.compile(
    r"(^|_)(model|net|network|net[DG]|encoder|decoder|backbone|classifier|discriminator|generator"
    r"|student|teacher)$"
)
_TOKENIZER = re.compile(r"(^|_)tokenizer(_?\d)?$")
_LOSS = re.compile(r"(^|_)(criterion|loss_?(fn|func|function|fct))$")


def called(frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments) -> Value:
    """The result of something that isn't known, called with what this code has moved.

    A model that is called with a moved tensor is where that was moved, or the call fails; and so is
    what it gives. A loss of two tensors takes both in one place. A tokenizer that is asked for
    tensors makes them on the host.
    """
    name = last_name(func)
    if args.keyword("return_tensors") is not None and _TOKENIZER.search(name):
        return encoding(frame, node, args)
    given = [(argument.value, value) for argument, value in args.all]
    tensors = [pair for pair in given if pair[1].kind in TENSORS]
    if not tensors or args.unpacked:
        return NOTHING
    if len(given) == len(tensors) == 2 and _LOSS.search(name):
        return meet.meet(frame, node, ir.render(func), tensors)
    if _MODEL.search(name):
        return _output(frame, node, func, args, tensors[0])
    return NOTHING


def _output(
    frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments, first: tuple[ir.Expr, Value]
) -> Value:
    expression, value = first
    place = frame.place(value)
    if value.origin is not Origin.MOVED or place == UNKNOWN or not may_be_accelerator(place):
        return NOTHING
    told = f"called with `{ir.render(expression)}` here, which is on {place}"
    model = Value(
        Kind.UNKNOWN, place, note="if-module",
        trace=Trace(node, told, value.trace),
    )  # fmt: skip
    found = call_module(frame, node, func, model, args)
    if isinstance(func, ir.Name):
        before = frame.look_up(func.id) or NOTHING
        frame.state.env[func.id] = model.but(data=before.data)  # it takes what is there
    return found.but(note="guarded") if value.note == "guarded" else found
