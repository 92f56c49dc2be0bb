"""Moves a module and what it holds: submodules, parameters and buffers go along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from devlint.flow.frame import Frame
from devlint.flow.lattice import CPU, UNKNOWN, Device
from devlint.flow.state import Object
from devlint.flow.values import Kind, Origin, Trace, Value

_DEEPEST = 9


def place_module(
    frame: Frame, value: Value, device: Device, trace: Trace | None = None, depth: int = _DEEPEST
) -> None:
    """Put a module, or the modules of a container, on a device."""
    found = frame.object(value)
    if found is None or depth == 0 or found.stateless:
        return
    if value.kind is Kind.MODULE:
        if found.device == device and depth < _DEEPEST:
            return
        entries = {
            name: held.but(device=device, origin=Origin.FOLLOWS) if is_registered(held) else held
            for name, held in found.entries.items()
        }
        moved = replace(found, device=device, entries=entries, guarded=False, trace=trace)
        frame.update(value, moved)
    for each in (*(found.items or ()), *found.entries.values(), found.element):
        if each.kind is Kind.MODULE or (value.kind is not Kind.MODULE and each.kind.is_container):
            place_module(frame, each, device, trace, depth - 1)


def give_away(frame: Frame, values: Iterable[Value]) -> None:
    """Something that isn't seen is given these: it may move a module that nobody has moved yet,
    and change what a container holds."""
    for value in values:
        found = frame.object(value)
        if found is None:
            continue
        if value.kind is Kind.MODULE:
            if found.trace is None or found.device == CPU:
                place_module(frame, value, UNKNOWN)
        elif value.kind in (Kind.LIST, Kind.DICT, Kind.SET):
            frame.update(value, Object(source=found.source))


def is_registered(value: Value) -> bool:
    """Whether a tensor is a parameter or a buffer of the module that holds it."""
    return value.kind is Kind.TENSOR and value.note in ("parameter", "buffer")
