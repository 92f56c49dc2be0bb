"""The way from a call to a function of the file."""

from __future__ import annotations

import itertools
from dataclasses import replace

from devlint.flow.calls import refused, unpacked
from devlint.flow.calls.callers import remember_call
from devlint.flow.calls.host_functions import note_brought
from devlint.flow.conditions.settled import settled
from devlint.flow.devices.dropped import note_call
from devlint.flow.domain.derivation import Sort, Step, first, steps
from devlint.flow.domain.keys import asks_type
from devlint.flow.domain.lattice import UNKNOWN, conditions
from devlint.flow.domain.paths import path_value
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, NOTHING, TENSORS, Kind, Value
from devlint.flow.effects.sending import note_handed
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import give_away
from devlint.model import ir


def call_function(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, receiver: Value | None = None
) -> Value:
    """Run a function of the file here, with these arguments."""
    remember_call(frame, closure, args, receiver is not None)
    note_brought(frame, node, closure, args, receiver is not None)
    note_handed(frame, closure, args, receiver is not None)
    if refused.refuses(frame, closure, args, receiver):
        return refused.REFUSED
    starred = any(argument.star for argument, _ in args.all)
    rest = unpacked.rest(frame, closure.node, args, receiver is not None) if starred else ""
    open_ended = starred and not rest
    if open_ended:
        give_away(frame, (value for _, value in args.all))
        args = _before_stars(args)
        constructs = receiver is not None and _is_constructor(closure)
        if not constructs and not any(value.kind in TENSORS for _, value in args.all):
            return NOTHING
    flags = _flags(closure.node, receiver is not None)
    given = [
        (argument, _handed_on(frame, argument, value, (argument.keyword or position) in flags))
        for position, (argument, value) in enumerate(args.all)
    ]
    positional = [value for a, value in given if a.keyword is None and not a.star]
    keywords = {a.keyword or rest: value for a, value in given if a.keyword is not None or a.star}
    if receiver is not None:
        positional.insert(0, receiver)
    if open_ended:  # nobody knows what the others are
        for parameter in closure.node.params[len(positional) :]:
            keywords.setdefault(parameter.name, NOTHING)
    value = frame.world.invoke(frame, node, closure, positional, keywords)
    if closure.file is not frame.file and not frame.is_guest:
        value = _from_elsewhere(node, value, [*positional, *keywords.values()])
    if frame.tells and not open_ended:
        note_call(frame, node, closure, args, len(positional), value)
    if value.trait is Trait.EXITS and refused.is_left_to_subclasses(closure, receiver):
        return NOTHING
    return value


def _before_stars(args: Arguments) -> Arguments:
    """The arguments of which it is known which parameters take them."""
    named = ((each, value) for each, value in args.all if each.keyword is not None)
    placed = itertools.takewhile(
        lambda each: each[0].keyword is None and not each[0].star, args.all
    )
    return replace(args, all=(*placed, *named))


def _is_constructor(closure: Closure) -> bool:
    return isinstance(closure.node, ir.Function) and closure.node.name == "__init__"


def _flags(function: ir.Function | ir.Lambda, bound: bool) -> set[str | int]:
    """The names and places of the parameters that are `True` or `False` where nothing is given."""
    found: set[str | int] = set()
    for position, parameter in enumerate(function.params[bound:]):
        default = parameter.default
        if isinstance(default, ir.Constant) and isinstance(default.value, bool):
            found |= {parameter.name, position}
    return found


def _handed_on(frame: Frame, argument: ir.Argument, value: Value, is_flag: bool) -> Value:
    """What a call gives: of a flag of the file, which is there to be changed, only its name; for a
    flag, what is settled where the call stands."""
    node = argument.value
    if is_flag and value.kind is Kind.UNKNOWN:
        holds = settled(frame, node)
        return value if holds is None else Value(Kind.BOOL, data=holds)
    if value.kind is not Kind.BOOL or not isinstance(node, ir.Name):
        return value
    own = frame.function is not None and any(node.id in e for e in (frame.state.env, *frame.scopes))
    return value if own or not isinstance(value.data, bool) else path_value(node.id)


def _from_elsewhere(node: ir.Call, value: Value, given: list[Value]) -> Value:
    """A tensor that a function of another file returns: this call made it, for this file. Where it
    is may hang on what the function was given, of which only its own names can be asked."""
    if any(map(asks_type, conditions(value.device))):
        return value.but(device=UNKNOWN)
    oldest = first(value.trace)
    if oldest is None or value.origin not in MADE:
        return value
    if any(first(each.trace) is oldest for each in given):
        return value
    told = Step(Sort.MADE_BY_CALL, node)
    for step in steps(value.trace):
        told = replace(step, before=told)
    return value.but(trace=told)
