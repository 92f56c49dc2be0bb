"""A `forward` judged by one call of its module: what that gives, and where the module is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import UNKNOWN, Guarded, Symbol
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.rewritten import as_kept
from devlint.flow.operations import meet
from devlint.model import ir

Part = tuple[Value, ClassInfo, Arguments]


def is_told(frame: Frame, module: Value, inputs: Sequence[Given], args: Arguments) -> bool:
    """Whether a call tells where something is of which a `forward` by itself knows only that it is
    somewhere; unless something that the module needs is elsewhere, which the call itself tells,
    but for what has no dimension and may be anywhere."""
    place = frame.place(module)
    needed = (frame.place(value) for _, value in inputs if not meet.is_free(frame, value))
    if module.trait is Trait.SELF or any(difference(place, each) is not None for each in needed):
        return False
    if _holds_objects(frame, module, _DEEPEST):
        return True
    given = (each for _, value in args.all for each in contents(frame, value))
    places = [place, *map(frame.place, given)]
    return any(each != UNKNOWN and not isinstance(each, Symbol) for each in places)


def _holds_objects(frame: Frame, module: Value, depth: int) -> bool:
    """Whether a module or a part of it was given an object, of which its class knows nothing."""
    found = frame.object(module)
    held = () if found is None else found.inside
    return any(
        each.kind in (Kind.INSTANCE, Kind.GENERATOR)
        or (each.kind is Kind.MODULE and depth > 0 and _holds_objects(frame, each, depth - 1))
        for each in held
    )


_DEEPEST = 3


def parts(frame: Frame, node: ir.Call, module: Value, args: Arguments) -> Iterator[Part]:
    """The modules of classes that are seen in what is called, and what a call gives to each: the
    module itself, or those of a chain. What the first of a chain gives the others is where the
    chain is."""
    found = frame.object(module)
    if found is None:
        return
    if isinstance(found.source, ClassInfo):
        yield module, found.source, args
    elif found.source == "torch.nn.Sequential":
        between = Value(Kind.BATCH, frame.place(module), origin=Origin.FOLLOWS, trace=found.trace)
        for each in found.items or ():
            part = frame.object(each)
            if part is not None and isinstance(part.source, ClassInfo):
                yield each, part.source, args
            args = Arguments(((ir.Argument(node), between),))


def given_by(node: ir.Call, result: Value) -> Value:
    """What a module gives whose parts are in several places: what its `forward` returns, unless
    that hangs on what only the module knows."""
    place = UNKNOWN if isinstance(result.device, Guarded) else result.device
    told = Step(Sort.OUTPUT, node, result.trace)
    return Value(
        result.kind, place, origin=Origin.FOLLOWS, grad=True, scalar=result.scalar, trace=told
    )


@contextmanager
def told_by_call(frame: Frame, module: Value, info: ClassInfo) -> Iterator[None]:
    """While a `forward` runs with what one call gives, for what that tells of its lines."""
    with told_aside(frame):
        if info.file is frame.world.home:
            _keep(frame, module, info)
        yield


@contextmanager
def told_aside(frame: Frame) -> Iterator[None]:
    """While a function runs for what one call tells of its lines. Nothing changes by that, and what
    it tells on its own comes first."""
    world = frame.world
    before = world.facts, frame.state
    world.facts, frame.state = world.told_by_calls, frame.fork()
    try:
        yield
    finally:
        world.facts, frame.state = before


def _keep(frame: Frame, module: Value, info: ClassInfo) -> None:
    """What a module keeps besides its parameters is seen as in the class's own methods, where the
    file tells of it; of a class of another file, the call does."""
    found = frame.object(module)
    if found is not None and not isinstance(module.data, frozenset):
        entries = {name: _kept(frame, info, name, v) for name, v in found.entries.items()}
        if any(entries[name] is not value for name, value in found.entries.items()):
            frame.update(module, replace(found, entries=entries))


def _kept(frame: Frame, info: ClassInfo, name: str, value: Value) -> Value:
    """A parameter that was moved is none any more: a rule of its own tells that. Of what the class
    was given, and hasn't made, only the call tells that it stays behind."""
    if value.kind is Kind.TENSOR and value.origin is Origin.MOVED and value.grad:
        return value.but(device=UNKNOWN)
    stores = frame.world.classes.stores.get((info, name), ())
    given = stores and not any(operand.origin in MADE for _, operand in stores)
    return value if given else as_kept(info, name, value)
