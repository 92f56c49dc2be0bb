"""Functions that a module calls by itself, with what it is given and what it gives: forward and
backward hooks. They run where the module is called, or what holds it."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import THE_MODULE, UNKNOWN
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import Hook
from devlint.flow.modules.placement import outermost
from devlint.model import ir

REGISTERS = {
    "register_forward_pre_hook": (True,),
    "register_forward_hook": (True, False),
    "register_full_backward_pre_hook": (True,),
    "register_full_backward_hook": (True, True),
    "register_backward_hook": (True, True),
}
"""The methods that register a hook; what it is called with after the module, each in a tuple or as
it is."""


def note(frame: Frame, node: ir.Call, func: ir.Attribute, args: Arguments) -> None:
    """Remember a hook. Only modules have methods that register one: what is known may be a module
    of which it is some part."""
    function, owner = args.find((0, "hook")), _owner(frame, func.value)
    if function is None or owner is None or args.keyword("with_kwargs") is not None:
        return
    hook = Hook(owner, function, REGISTERS[func.attr])
    frame.world.hooks[node, frame.site] = hook


def _owner(frame: Frame, node: ir.Expr) -> Ref | None:
    """The module that an expression names, or what it leads into: `model` of
    `model.layers[-1].attention`."""
    while True:
        value = frame.ask(node)
        if value.kind is Kind.MODULE and value.data is not None:
            return outermost(value.data)
        match node:
            case ir.Attribute(value=inner) | ir.Subscript(value=inner):
                node = inner
            case ir.Call(func=ir.Attribute(value=inner)):
                node = inner
            case _:
                return None


def run(frame: Frame, node: ir.Call, func: ir.Expr, module: Value) -> None:
    """Run the hooks of a module that is called, and of its parts. Where it follows whoever holds
    it, nothing is known of that."""
    place = frame.place(module)
    if not frame.world.hooks or place in (UNKNOWN, THE_MODULE):
        return
    called = set(_modules(frame, module, _DEEPEST))
    told = Step(Sort.OUTPUT, node, frame.operand(func, module).value.trace)
    there = Value(Kind.BATCH, place, origin=Origin.FOLLOWS, grad=True, trace=told)
    for hook in [each for each in frame.world.hooks.values() if each.module in called]:
        given = [_in_tuple(frame, node, there) if each else there for each in hook.in_tuples]
        arguments = ((ir.Argument(func), value) for value in (module, *given))
        frame.world.call(frame, node, *hook.function, Arguments(tuple(arguments)))


_DEEPEST = 4


def _modules(frame: Frame, module: Value, depth: int) -> Iterator[Ref]:
    """A module, and those that it holds."""
    for ref in module.data if isinstance(module.data, frozenset) else (module.data,):
        yield outermost(ref)
        found = frame.state.heap.get(ref)
        for held in found.inside if found is not None and depth else ():
            if held.kind is Kind.MODULE:
                yield from _modules(frame, held, depth - 1)


def _in_tuple(frame: Frame, node: ir.Call, value: Value) -> Value:
    made = Object(element=value)
    return Value(Kind.TUPLE, data=frame.allocate((node, "hook"), made))
