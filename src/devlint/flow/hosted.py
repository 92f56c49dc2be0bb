"""Plain functions that are meant for tensors of the host.

An argument of a function may be anywhere, unless something tells otherwise: the function itself
reads it as only a tensor of the host can be read, or a call in the file brings to the host what
it gives. Then nothing is said of where that argument meets others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.facts import Fact, Indexing, Join, Operand
from devlint.flow.frame import Closure, Frame, World
from devlint.flow.lattice import CPU, Symbol, is_place_of_argument, may_be_accelerator
from devlint.flow.values import Origin, Value


def note_brought(frame: Frame, closure: Closure, args: Arguments, has_receiver: bool) -> None:
    """Remember which arguments of a function this call brings to the host (`scores.cpu()`)."""
    function = closure.node
    if closure.file is not frame.world.home or not isinstance(function, ir.Function):
        return
    names = [each.name for each in function.params if each.kind == "positional"][has_receiver:]
    position = 0
    for argument, value in args.all:
        name = argument.keyword
        if name is None:
            name = names[position] if position < len(names) else ""
            position += 1
        place = frame.place(value)
        if may_be_accelerator(place):
            frame.world.brought[closure.qualname, name] = False
        elif place == CPU and _is_copy(value):
            frame.world.brought.setdefault((closure.qualname, name), True)


def _is_copy(value: Value) -> bool:
    steps = () if value.trace is None else value.trace.steps()
    return value.origin is Origin.MOVED and len(steps) > 0


def without_hosted(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those about arguments that are on the host."""
    for fact in facts:
        if not any(_is_hosted(world, fact, each) for each in _meeting(fact)):
            yield fact


def _meeting(fact: Fact) -> tuple[Operand, ...]:
    if isinstance(fact, Join):
        return fact.placed
    return (fact.base, fact.index) if isinstance(fact, Indexing) else ()


def _is_hosted(world: World, fact: Fact, operand: Operand) -> bool:
    if operand.origin not in _GIVEN or not isinstance(operand.device, Symbol):
        return False
    function, key = fact.context.function, operand.device.key
    name = key.partition(".")[0].partition("[")[0]
    if is_place_of_argument(operand.device) and (function, key) in world.read_on_host:
        return True
    return operand.origin is Origin.INPUT and world.brought.get((function, name), False)


_GIVEN = (Origin.INPUT, Origin.FOLLOWS)
