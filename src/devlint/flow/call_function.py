"""The way from a call to a function of the file."""

from __future__ import annotations

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.frame import Closure, Frame
from devlint.flow.placement import give_away
from devlint.flow.values import NOTHING, Value


def call_function(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, receiver: Value | None = None
) -> Value:
    """Run a function of the file here, with these arguments."""
    if any(argument.star for argument, _ in args.all):
        give_away(frame, (value for _, value in args.all))
        return NOTHING
    positional = [value for argument, value in args.all if argument.keyword is None]
    keywords = {a.keyword: value for a, value in args.all if a.keyword is not None}
    if receiver is not None:
        positional.insert(0, receiver)
    return frame.world.invoke(frame, node, closure, positional, keywords)
