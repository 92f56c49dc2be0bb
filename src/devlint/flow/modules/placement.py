"""Moves a module and what it holds: submodules, parameters and buffers go along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import combinations, count

from devlint.flow.domain.derivation import Sort, Step, shown, unseen
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import (
    CPU,
    CUDA,
    UNKNOWN,
    Device,
    Guarded,
    Known,
    Symbol,
    choose,
    names_accelerator,
    only_host,
)
from devlint.flow.domain.paths import Path, given_tensor, identity, place_of_path
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import REGISTERED, Trait
from devlint.flow.domain.value_joins import both
from devlint.flow.domain.values import MADE, Kind, Origin, Value
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def place_module(
    frame: Frame,
    value: Value,
    device: Device,
    trace: Step | None = None,
    placed: set[object] | None = None,
) -> None:
    """Put a module, or the modules of a container, on a device. `placed` are those that have been
    met, of what is a part."""
    is_part, placed = placed is not None, set() if placed is None else placed
    found = frame.object(value)
    if found is None or found.stateless or value.data in placed:
        return
    placed.add(value.data)
    if isinstance(value.data, frozenset):
        for ref in value.data:
            place_module(frame, value.but(data=ref), device, trace, placed if is_part else None)
    if value.kind is Kind.MODULE:
        if found.device == device and is_part:
            return
        entries = {
            name: _taken(held, device, trace) if is_registered(held) else held
            for name, held in found.entries.items()
        }
        moved = replace(found, device=device, entries=entries, guarded=False, trace=trace)
        frame.update(value, moved)
        place_kept(frame, found, device)
        for number in count() if device != UNKNOWN else ():
            ref = (CHILD, number, value.data)
            if ref not in frame.state.heap:
                break
            place_module(frame, value.but(data=ref), device, trace, placed)
        if outermost(value.data) is not value.data and not is_part:
            # Any part of a whole: which ones are moved isn't known.
            place_module(frame, value.but(data=outermost(value.data)), UNKNOWN, placed=set())
    for each in found.inside:
        if each.kind is Kind.MODULE or (value.kind is not Kind.MODULE and each.kind.is_container):
            place_module(frame, each, device, trace, placed)


def outermost(ref: object) -> object:
    """The module that holds what was taken out of a list of modules, or out of what was."""
    while isinstance(ref, tuple) and len(ref) == 3 and ref[0] is CHILD:
        ref = ref[2]
    return ref


def add_part(frame: Frame, module: Value, part: Value) -> None:
    """Put a module anywhere into another one: nobody knows under which name."""
    for ref in module.data if isinstance(module.data, frozenset) else (module.data,):
        whole = outermost(ref)
        found = frame.state.heap.get(whole)
        if found is not None:
            frame.state.heap[whole] = found.with_entry(ANYWHERE, part)


ANYWHERE = ""
"""The name of a part of a module whose name isn't known."""

CHILD = "child"
"""What stands before the reference of a module in the reference of a part of it."""


def held_by(frame: Frame, module: Value, node: ir.Node) -> Step:
    """What a module holds is where the module is."""
    found = frame.object(module)
    return Step(Sort.HELD, node, None if found is None else unseen(found.trace))


def parameter_at(frame: Frame, module: Value, node: ir.Node) -> Value:
    """A parameter of a module: it is where the module is."""
    told = held_by(frame, module, node)
    return Value(Kind.TENSOR, frame.place(module), origin=Origin.FOLLOWS, grad=True, trace=told)


def by_use(frame: Frame, node: ir.Expr, path: Path) -> Value:
    """What a method shows to be a tensor: a part of a module that was moved is where that is."""
    whole = whole_of(frame, node)
    if whole is not None and whole.trait is not Trait.SELF:
        return parameter_at(frame, whole, node)
    return given_tensor(path, Sort.TENSOR_BY_USE, node)


def whole_of(frame: Frame, node: ir.Expr) -> Value | None:
    """The module of which something is a part, or a part of a part: where somebody moved it."""
    while isinstance(node, (ir.Attribute, ir.Subscript)):
        node = node.value
        whole = frame.ask(node)
        if whole.kind in (Kind.MODULE, Kind.PLACED):
            unmoved = (UNKNOWN, place_of_path(Path(identity(node), given=True)))
            return whole if whole.trait is Trait.SELF or frame.place(whole) not in unmoved else None
    return None


def _taken(held: Value, device: Device, move: Step | None) -> Value:
    """What a module takes along."""
    last = held.trace or move
    told = last and Step(Sort.REGISTERED, last.node, held.trace)
    return held.but(device=device, origin=Origin.FOLLOWS, trace=told)


def place_kept(frame: Frame, module: Object, device: Device) -> None:
    """A parameter stays the same object where its module is moved, and a buffer doesn't: a plain
    object or a list of the module that keeps a parameter, too, finds it on the new device. Of one
    that the module doesn't hold under a name of its own, nobody knows."""
    own = [held for held in module.entries.values() if held.trait is Trait.PARAMETER]
    waiting, seen = [*module.entries.values()], set[object]()
    while waiting:
        keeper = waiting.pop()
        listed = keeper.kind.is_container
        found = frame.object(keeper) if listed or keeper.kind is Kind.INSTANCE else None
        if found is None or keeper.data in seen:
            continue
        seen.add(keeper.data)
        waiting.extend(found.inside)  # a list of objects that keep some, say
        if any(held.trait is Trait.PARAMETER for held in found.inside):
            along = partial(_along, own=own, device=device, listed=listed)
            frame.update(keeper, found.mapped(along))


def _along(held: Value, own: list[Value], device: Device, listed: bool) -> Value:
    """What something keeps, once the module's parameters are moved: one that is made for a list
    stays behind."""
    if held.trait is not Trait.PARAMETER:
        return held
    made_there, made = listed and held.origin in MADE, shown(held.trace)
    if made_there and not any(held == each and made is shown(each.trace) for each in own):
        return held
    return _taken(held, device if held in own else UNKNOWN, None)


def is_spread(frame: Frame, module: Object) -> bool:
    """Whether a constructor has put its parts on several accelerators, where they are to stay."""
    parts = [frame.place(held) for held in module.entries.values() if held.kind is Kind.MODULE]
    named = [place for place in parts if is_accelerator(place)]
    return any(difference(named[0], place) is not None for place in named[1:])


def is_parted(frame: Frame, module: Value) -> bool:
    """Whether a part of a module is elsewhere, where somebody has moved it by itself, or two of
    them are in two places; of one of several modules, whether any of these is so."""
    waiting, seen = [module], set[object]()
    while waiting:
        whole = waiting.pop()
        if isinstance(whole.data, frozenset):
            waiting.extend(each for each in frame.each(whole) if each is not whole)
            continue
        found = frame.object(whole)
        if found is None or whole.data in seen:
            continue
        seen.add(whole.data)
        parts = [held for held in found.entries.values() if held.kind is Kind.MODULE]
        places = {frame.place(each) for each in (whole, *parts)}
        if any(difference(a, b) is not None for a, b in combinations(places, 2)):
            return True
        waiting.extend(parts)
    return False


def is_accelerator(device: Device) -> bool:
    """Whether a place is an accelerator that is named, whatever holds."""
    return isinstance(device, Known) and names_accelerator(device)


def held_place(frame: Frame, value: Value) -> Device:
    """Where a module is; of one that is still being made, where what it holds so far is."""
    place = frame.place(value)
    found = frame.object(value)
    if place != UNKNOWN or found is None or value.kind is not Kind.MODULE:
        return place
    inside = [
        frame.place(held)
        for held in found.entries.values()
        if held.kind is Kind.MODULE or is_registered(held)
    ]
    known = {device for device in inside if device != UNKNOWN}
    return known.pop() if len(known) == 1 else UNKNOWN


def give_away(frame: Frame, values: Iterable[Value]) -> None:
    """Something that isn't seen is given these: it may move a module that nobody has moved yet,
    and change what a container holds."""
    for value in values:
        found = frame.object(value)
        if found is None:
            continue
        if value.kind is Kind.MODULE:
            if shown(found.trace) is None or only_host(found.device):
                place_module(frame, value, UNKNOWN)
            else:
                _forget_parts(frame, found)
        elif value.kind.is_container:
            if value.kind is not Kind.TUPLE:
                frame.update(value, Object(source=found.source))
            give_away(frame, found.inside)
        elif value.kind is Kind.INSTANCE and value.trait is not Trait.SELF:
            away = {
                name: held
                for name, held in found.entries.items()
                if held.kind is not Kind.TENSOR or frame.place(held) != CPU
            }
            frame.update(value, replace(found, entries=away))
        elif value.kind is Kind.OPTIMIZER:
            forget_optimizer(frame, value)


def forget_optimizer(frame: Frame, value: Value) -> None:
    """Somebody may move its state by hand: nothing more is said of it."""
    found = frame.object(value)
    if found is not None:
        drop_left(frame, value)
        frame.update(value, Object(source=found.source))


def drop_left(frame: Frame, value: Value) -> None:
    """What was to be told of an optimizer doesn't hold any more."""
    for ref in both(value.data):
        frame.world.left.pop(ref, None)


def _forget_parts(frame: Frame, found: Object) -> None:
    """What was put into a module after its move may be moved now."""
    for held in found.entries.values():
        if held.kind is Kind.MODULE and frame.place(held) == CPU:
            place_module(frame, held, UNKNOWN)


def is_registered(value: Value) -> bool:
    """Whether a tensor is a parameter or a buffer of the module that holds it."""
    return value.kind is Kind.TENSOR and value.trait in REGISTERED


_WHERE_CUDA_LEADS = Symbol("self.cuda()", "the device that `cuda()` moves it to", described=True)


def as_users_choose(after: Object, before: Object | None) -> Object:
    """What a `cuda()` of a class leaves. Whoever uses an object calls it or not, as a flag says
    that may be asked elsewhere as well: so what it moves isn't on CUDA whatever the flag says."""
    known = {} if before is None else before.entries
    entries = {
        name: value if known.get(name) == value else value.but(device=_led_by_cuda(value.device))
        for name, value in after.entries.items()
    }
    moved = before is None or before.device != after.device
    device = _led_by_cuda(after.device) if moved else after.device
    told = after.trace
    if told is not None and device != after.device:
        told = Step(Sort.MOVE_USERS, told.node, told)
    return replace(after, device=device, entries=entries, trace=told)


def _led_by_cuda(device: Device) -> Device:
    if isinstance(device, Guarded):
        return choose(device.key, _led_by_cuda(device.yes), _led_by_cuda(device.no))
    return _WHERE_CUDA_LEADS if device == CUDA else device


def place_of_parameters(frame: Frame, module: ir.Expr, method: str = "parameters") -> Device:
    """Where the parameters of a module are that isn't known, as `method` gives them."""
    owner = identity(module)
    place = place_of_path(Path(owner, given=True))
    if _is_of_new_module(frame, module):
        return UNKNOWN
    if isinstance(place, Symbol):  # a module has no `device` that could be asked
        return Symbol(place.key, f"next({owner}.{method}()).device")
    return place


def _is_of_new_module(frame: Frame, node: ir.Expr) -> bool:
    """Whether it is a part of a module that is just made: nobody has placed that yet."""
    match node:
        case ir.Attribute(value=ir.Name(id=name)):
            owner = frame.look_up(name)
            if owner is None or owner.kind is not Kind.MODULE or owner.trait is not Trait.SELF:
                return False
            return frame.place(owner) in (CPU, UNKNOWN)
    return False
