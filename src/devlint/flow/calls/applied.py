"""Functions that call what they are given: `map` now, `functools.partial` later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from devlint import ir
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.operations.unpacking import element_of

Call = Callable[[Frame, ir.Call, ir.Expr, Value, Arguments], Value]


@dataclass(frozen=True, slots=True)
class Partial:
    """What `functools.partial` gives: a function, and the arguments that it has got so far."""

    node: ir.Expr
    function: Value
    args: Arguments


def partial(frame: Frame, args: Arguments) -> Value:
    """`partial(torch.zeros, device=device)`"""
    given = args.positional()
    if args.unpacked or not given or given[0][1].kind not in (Kind.LIBRARY, Kind.FUNCTION):
        return NOTHING
    node, function = given[0]
    return Value(Kind.UNKNOWN, data=Partial(node, function, Arguments(args.all[1:])))


def complete(frame: Frame, node: ir.Call, partial: Partial, args: Arguments, call: Call) -> Value:
    """Call its function with all arguments: later keywords replace earlier ones."""
    named = args.keywords()
    kept = tuple(pair for pair in partial.args.all if pair[0].keyword not in named)
    both = replace(args, all=(*kept, *args.all))
    return _call(frame, node, (partial.node, partial.function), both, call)


def _call(frame: Frame, node: ir.Call, function: Given, args: Arguments, call: Call) -> Value:
    """Nothing is told of a library's function that is called so: rules would look for its name and
    its arguments in `node`."""
    before = frame.expecting
    frame.expecting = before or not isinstance(function[1].data, Closure)
    value = call(frame, node, *function, args)
    frame.expecting = before
    return value


def mapped(frame: Frame, node: ir.Call, args: Arguments, call: Call) -> Value:
    """`map(f, xs)` yields what `f` gives of each element, one by one where they are known."""
    given = args.positional()
    if args.unpacked or len(given) < 2:
        return NOTHING
    function, *sources = given
    known = frame.object(sources[0][1])
    if len(sources) == 1 and known is not None and known.items is not None:
        rows = [[item] for item in known.items]
    else:
        rows = [[element_of(frame, value, source) for source, value in sources]]
    results = []
    for row in rows:
        pairs = zip(sources, row, strict=True)
        passed = tuple((ir.Argument(source), each) for (source, _), each in pairs)
        results.append(_call(frame, node, function, Arguments(passed), call))
    if not results or any(result is NOTHING for result in results):
        return NOTHING
    one_by_one = known is not None and known.items is not None and len(sources) == 1
    found = Object(items=tuple(results)) if one_by_one else Object(element=results[0])
    return Value(Kind.TUPLE, data=frame.allocate(node, found), note="lazy")
