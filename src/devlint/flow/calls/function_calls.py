"""The way from a call to a function of the file: its arguments one by one, where all that is
unpacked is in sight, and calls that don't come back, since Python refuses what doesn't fit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from devlint.flow.calls.brought import note_brought, note_receiver
from devlint.flow.calls.callers import remember_call
from devlint.flow.conditions.settled import settled
from devlint.flow.devices import left_out
from devlint.flow.devices.dropped import note_call, note_missing
from devlint.flow.domain.derivation import Sort, Step, first, led_by
from devlint.flow.domain.keys import LOCAL, asks_type
from devlint.flow.domain.lattice import UNKNOWN, conditions
from devlint.flow.domain.paths import identity, path_value
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, NONE, NOTHING, Kind, Value
from devlint.flow.effects.host import note_handed
from devlint.flow.frames.arguments import Arguments, Taken, by_parameter, fits
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.frames.noted import note_handing
from devlint.flow.modules.placement import give_away
from devlint.flow.operations.yielded import part_of_encoding
from devlint.flow.syntax.walk import filled, is_static
from devlint.model import ir
from devlint.model.trees import called, last_name
from devlint.policy import means
from devlint.torchapi.spellings import ALWAYS_ENCODED


def call_function(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, receiver: Value | None = None
) -> Value:
    """Run a function of the file here, with these arguments."""
    receiver = None if is_static(closure.node) else receiver
    has_receiver = receiver is not None
    taken = by_parameter(closure.node, args, has_receiver)
    remember_call(frame, closure, args, taken)
    note_handing(frame, closure, taken)
    note_brought(frame, node, closure, taken)
    if receiver is not None:
        note_receiver(frame, closure, receiver)
    note_handed(frame, closure, taken)
    if refuses(frame, closure, args, receiver):
        note_missing(frame, node, closure, args, has_receiver)
        return REFUSED
    rest = _rest(frame, closure.node, args, has_receiver) if args.unpacked else ""
    open_ended = args.unpacked and not rest
    each, by_key = NOTHING, dict[str, Value]()
    if open_ended:
        by_name = all(argument.star != "*" for argument, _ in args.all)
        by_key = _by_key(frame, closure.node, args)
        give_away(frame, _received(frame, args))
        each = _of_star(frame, args)
        args = _before_stars(args)
    flags = _flags(closure.node, has_receiver)
    given = [
        (argument, _handed_on(frame, argument, value, (argument.keyword or position) in flags))
        for position, (argument, value) in enumerate(args.all)
    ]
    positional = [value for a, value in given if a.keyword is None and not a.star]
    keywords = {a.keyword or rest: value for a, value in given if a.keyword is not None or a.star}
    if receiver is not None:
        positional.insert(0, receiver)
    if open_ended:  # what has to be given comes from the star, the others are left out, or aren't
        for parameter in closure.node.params[len(positional) :]:
            asked = parameter.kind == "positional" and parameter.default is None
            own = path_value(f"{parameter.name}{LOCAL}{closure.qualname}") if by_name else NOTHING
            unpacked = by_key.get(parameter.name, each if asked else own)
            keywords.setdefault(parameter.name, unpacked)
    value = frame.world.invoke(frame, node, closure, positional, keywords)
    _forget_filled(frame, closure, taken)
    if closure.file is not frame.file and not frame.is_guest:
        value = _from_elsewhere(node, value, [*positional, *keywords.values()])
    if frame.tells and not open_ended:
        note_call(frame, node, closure, args, len(positional), value)
        left_out.note(frame, node, closure, len(positional))
    if value.trait is Trait.EXITS and _is_left_to_subclasses(closure, receiver):
        return NOTHING
    return value


def _forget_filled(frame: Frame, closure: Closure, taken: list[Taken]) -> None:
    """Forget what batches held that a function has put something else into."""
    for name, argument, value in taken:
        if value.kind is Kind.BATCH and isinstance(argument.value, ir.Name):
            if name in closure.file.once(filled, closure.node.body):
                frame.state.env[argument.value.id] = NOTHING


def call_method(
    frame: Frame,
    node: ir.Call,
    info: ClassInfo | None,
    name: str,
    args: Arguments,
    receiver: Value | None = None,
) -> Value:
    """Call a method of a class; NOTHING where none of that name is in sight."""
    method = None if info is None else info.reached(name)
    return NOTHING if method is None else call_function(frame, node, method, args, receiver)


def _of_star(frame: Frame, args: Arguments) -> Value:
    """What the one star of a call unpacks, where that is alike and comes last:
    `draw(*x.chunk(2))`."""
    placed = [(argument.star, value) for argument, value in args.all if argument.keyword is None]
    if [star for star, _ in placed if star] != ["*"] or placed[-1][0] != "*":
        return NOTHING
    found = frame.object(placed[-1][1])
    return NOTHING if found is None or found.items is not None else found.element


def _received(frame: Frame, args: Arguments) -> Iterator[Value]:
    """What a function gets: of a list or a dict that is unpacked what it holds."""
    for argument, value in args.all:
        found = frame.object(value) if argument.star and value.kind.is_container else None
        yield from (value,) if found is None else found.inside


def _by_key(frame: Frame, function: ir.Function, args: Arguments) -> dict[str, Value]:
    """What parameters are given by `**batch`: those that have to be, and what a tokenizer always
    gives."""
    stars = [(argument, value) for argument, value in args.all if argument.star]
    if len(stars) != 1 or stars[0][0].star != "**":
        return {}
    (argument, value), given = stars[0], dict[str, Value]()
    found = frame.object(value) if value.kind is Kind.DICT else None
    for parameter in function.params:
        name = parameter.name
        asked = parameter.kind == "positional" and parameter.default is None
        if value.kind is Kind.ENCODING and (asked or name in ALWAYS_ENCODED):
            given[name] = part_of_encoding(frame, (argument.value, value), name)
        elif value.kind is Kind.BATCH and asked:
            given[name] = value.but(scalar=None)
        elif found is not None and asked:
            given[name] = found.entries.get(name, found.element)
    return given


def _before_stars(args: Arguments) -> Arguments:
    """The arguments of which it is known which parameters take them."""
    named = ((each, value) for each, value in args.all if each.keyword is not None)
    placed = itertools.takewhile(
        lambda each: each[0].keyword is None and not each[0].star, args.all
    )
    return replace(args, all=(*placed, *named))


def _flags(function: ir.Function, bound: bool) -> set[str | int]:
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
    own = frame.function is not None and any(node.id in e for e in frame.scopes)
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
    return value.but(trace=led_by(Step(Sort.MADE_BY_CALL, node), value.trace))


_Passed = tuple[ir.Argument, Value]


def spread(frame: Frame, argument: ir.Argument, value: Value) -> Iterator[_Passed]:
    """What an argument of a call gives: itself, or what its star unpacks. Where not all of that is
    known, the star stays: it may give more."""
    found = frame.object(value) if argument.star else None
    if found is not None and value.kind is Kind.DICT and argument.star == "**":
        for name in found.entries:
            if name not in found.unsure:
                yield _part(argument, found.entries[name], name)
        if found.items is not None:
            return
    elif found is not None and found.items is not None and argument.star == "*":
        own = value.kind is not Kind.DICT and _is_own(frame, argument.value)
        if own or value.kind is Kind.TUPLE:
            yield from (_part(argument, each) for each in found.items)
            return
    elif argument.star == "**" and (row := means("options", last_name(argument.value), "variable")):
        named = path_value(f'{identity(argument.value)}.get("device")', given=True)
        yield _part(argument, named.step(Sort.HYPOTHESIS, argument, row), "device")
    yield argument, value


def _part(argument: ir.Argument, value: Value, name: str | None = None) -> _Passed:
    return ir.Argument(ir.Unpacked(argument), name), value


def _is_own(frame: Frame, node: ir.Expr) -> bool:
    """Whether only the running function can have changed what an expression gives: a list of the
    file or of an object is there to be filled."""
    if isinstance(node, ir.Name):
        return node.id in frame.state.env
    return not isinstance(node, (ir.Attribute, ir.Subscript))


def _rest(frame: Frame, function: ir.Function, args: Arguments, has_receiver: bool) -> str:
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
    return function.params[at].name if several and _is_own(frame, argument.value) else ""


REFUSED = NONE.but(trait=Trait.EXITS)
"""What a refused call gives: it raises a TypeError."""


def refuses(frame: Frame, closure: Closure, args: Arguments, receiver: Value | None) -> bool:
    """Whether Python refuses a call of a function, since the arguments don't fit its parameters.

    Of a method, only where the object is made in sight, so that its class is the one that is
    meant, and where nothing else may come between the call and the method.
    """
    receiver = None if is_static(closure.node) else receiver
    if receiver is not None and not _is_exactly(frame.class_of(receiver), receiver):
        return False
    names = (name_in(closure.file, called(each)) for each in closure.node.decorators)
    if not all(name.startswith(_KEEP_PARAMETERS) for name in names):
        return False
    return not fits(closure.node.params[receiver is not None :], args)


_KEEP_PARAMETERS = ("torch.", "builtins.staticmethod", "builtins.classmethod")
"""Decorators that give what takes the parameters of what they are given."""


def _is_exactly(info: ClassInfo | None, receiver: Value) -> bool:
    """Whether an object is of a class and of none of its subclasses, and the class is what its
    definition says: no metaclass, no decorator, one line of bases."""
    made = isinstance(receiver.data, tuple) and isinstance(receiver.data[0], ir.Call)
    if info is None or not made or info.is_open or info.method("__new__"):
        return False
    return all(
        len(each.node.bases) < 2
        and not each.node.decorators
        and not any(base.keyword or base.star for base in each.node.bases)
        for each in info.lineage()
    )


def _is_left_to_subclasses(closure: Closure, receiver: Value | None) -> bool:
    """Whether a method of `self` ends in `raise NotImplementedError`: what a subclass has in its
    place comes back."""
    if receiver is None or receiver.trait is not Trait.SELF:
        return False
    last = closure.node.body[-1]
    if not isinstance(last, ir.Raise) or last.value is None:
        return False
    return name_in(closure.file, called(last.value)) == "builtins.NotImplementedError"
