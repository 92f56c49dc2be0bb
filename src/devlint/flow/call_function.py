"""The way from a call to a function of the file."""

from __future__ import annotations

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.callers import remember_call
from devlint.flow.frame import Closure, Frame
from devlint.flow.hosted import note_brought
from devlint.flow.lattice import UNKNOWN, asks_type, conditions
from devlint.flow.placement import give_away
from devlint.flow.undirected import note_call
from devlint.flow.values import NOTHING, Origin, Trace, Value


def call_function(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, receiver: Value | None = None
) -> Value:
    """Run a function of the file here, with these arguments."""
    remember_call(frame, closure, args, receiver is not None)
    note_brought(frame, closure, args, receiver is not None)
    if any(argument.star for argument, _ in args.all):
        give_away(frame, (value for _, value in args.all))
        return NOTHING
    positional = [value for argument, value in args.all if argument.keyword is None]
    keywords = {a.keyword: value for a, value in args.all if a.keyword is not None}
    if receiver is not None:
        positional.insert(0, receiver)
    value = frame.world.invoke(frame, node, closure, positional, keywords)
    if closure.file is not frame.file and not frame.is_guest:
        value = _from_elsewhere(node, value, [*positional, *keywords.values()])
    if frame.tells:
        note_call(frame, node, closure, args, len(positional), value)
    return value


def _from_elsewhere(node: ir.Call, value: Value, given: list[Value]) -> Value:
    """A tensor that a function of another file returns: this call made it, for this file. Where it
    is may hang on what the function was given, of which only its own names can be asked."""
    if any(map(asks_type, conditions(value.device))):
        return value.but(device=UNKNOWN)
    if value.trace is None or value.origin not in (Origin.DEFAULT, Origin.HOST_DATA):
        return value
    oldest = _oldest(value.trace)
    if any(each.trace is not None and _oldest(each.trace) is oldest for each in given):
        return value
    told = Trace(node, "made by this call")
    for step, message in value.trace.steps():
        told = Trace(step, message, told)
    return value.but(trace=told)


def _oldest(told: Trace) -> ir.Node:
    while told.before is not None:
        told = told.before
    return told.node
