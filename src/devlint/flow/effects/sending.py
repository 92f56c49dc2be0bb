"""Arguments that a function sends to a device: there they weren't before."""

from __future__ import annotations

from devlint.flow.domain.lattice import (
    UNKNOWN,
    Device,
    Symbol,
    is_chosen,
    leaves,
    only_host,
    symbols,
)
from devlint.flow.domain.paths import identity
from devlint.flow.domain.values import TENSORS, Origin, Value
from devlint.flow.frames.arguments import Taken
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.noted import note_argument
from devlint.flow.frames.world import World
from devlint.model import ir


def note_sent(frame: Frame, base: ir.Expr, value: Value, device: Device) -> None:
    """Remember that the running function sends an argument, or a part of it, to a device that was
    chosen, alone or put together with others; and that it sends on what it has computed of one."""
    place = frame.place(value)
    if not isinstance(place, Symbol) or place == device or only_host(device):
        return
    paths = map(identity, _put_together(base))
    if not any(path and place.key.startswith(f"{path}.") for path in paths):
        note_argument(frame, frame.world.callers.sent_on, place)
    elif is_chosen(device):
        _remember(frame, value, place)


_PUTS_TOGETHER = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")


def _put_together(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """`x` and `y` of `torch.cat((x, y))`; else the expression itself."""
    match node:
        case ir.Call(func=ir.Attribute(attr=name), args=(first, *_)) if name in _PUTS_TOGETHER:
            return first.value.items if isinstance(first.value, ir.Display) else (node,)
    return (node,)


def note_handed(frame: Frame, closure: Closure, taken: list[Taken]) -> None:
    """Remember arguments that the running function gives to one that moves them, alone or in a
    list or dict."""
    if frame.is_guest or frame.has_part(closure):
        return
    moved = closure.file.scan(closure.node).moved
    for name, _, value in taken:
        if name in moved:
            found = frame.object(value)
            inside = value if found is None else found.elements()
            _remember(frame, inside, frame.place(inside))


def _remember(frame: Frame, value: Value, place: Device) -> None:
    if value.kind in TENSORS and value.origin is not Origin.FOLLOWS:
        for each in symbols(place):
            note_argument(frame, frame.world.callers.sent, each)


def is_sent(world: World, function: str, device: Device) -> bool:
    """Whether it is, where it is known, the place of an argument that the function sends away."""
    places = [leaf for leaf in leaves(device) if leaf != UNKNOWN]
    return bool(places) and all(
        isinstance(place, Symbol) and (function, place.key) in world.callers.sent
        for place in places
    )
