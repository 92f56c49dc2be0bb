"""`f(*xs)` and `f(**options)`: the arguments one by one, where all that is unpacked is in sight.

Where nobody knows how many there are, they stay together, if it is `*rest` that takes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.model import ir

_Given = tuple[ir.Argument, Value]


def spread(frame: Frame, argument: ir.Argument, value: Value) -> Iterator[_Given]:
    """What an argument of a call gives: itself, or what its star unpacks. Where not all of that is
    known, the star stays: it may give more."""
    found = frame.object(value) if argument.star else None
    mapped = value.kind is Kind.DICT
    if found is None or found.items is None or mapped is not (argument.star == "**"):
        yield argument, value
    elif mapped:
        for name, each in found.entries.items():
            yield _part(argument, each, name)
    elif value.kind is Kind.TUPLE or is_own(frame, argument.value):
        for each in found.items:
            yield _part(argument, each)
    else:
        yield argument, value


def _part(argument: ir.Argument, value: Value, name: str | None = None) -> _Given:
    return ir.Argument(ir.Unpacked(argument), name), value


def is_own(frame: Frame, node: ir.Expr) -> bool:
    """Whether only the running function can have changed what an expression gives: a list of the
    file or of an object is there to be filled."""
    if isinstance(node, ir.Name):
        return node.id in frame.state.env
    return not isinstance(node, (ir.Attribute, ir.Subscript))


def rest(
    frame: Frame, function: ir.Function | ir.Lambda, args: Arguments, has_receiver: bool
) -> str:
    """The name of the parameter `*rest` that takes all which the one star of a call unpacks, and
    nothing else; "" where it isn't known to."""
    starred = [(each, value) for each, value in args.all if each.star]
    before = [each for each, _ in args.all if each.keyword is None and not each.star]
    takes = [parameter.kind for parameter in function.params]
    at = len(before) + has_receiver
    if len(starred) != 1 or at >= len(takes) or takes[at] != "*":
        return ""
    argument, value = starred[0]
    several = argument.star == "*" and value.kind in (Kind.LIST, Kind.TUPLE)
    return function.params[at].name if several and is_own(frame, argument.value) else ""
