"""What functions do with their arguments, by the places of these."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.domain.lattice import Device, Symbol, is_place_of_argument, only_host
from devlint.flow.domain.paths import Path, place_of_path
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.arguments import Given, Taken
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame


def note_argument(frame: Frame, noted: set[tuple[str, str]], place: Symbol) -> None:
    """Note what the running function does with an argument, by its place. What one does to which a
    call has led into another file says nothing of one of that name here."""
    if not frame.is_followed:
        noted.add((frame.qualname, place.key))


def note_beside_host(frame: Frame, arguments: Iterable[Given]) -> None:
    """Note which arguments of the running function meet what it has brought to the host: other
    parts of what they are of are there, too."""
    values = [value for _, value in arguments]
    moved = (each for each in values if each.origin is Origin.MOVED)
    if any(only_host(frame.place(each)) for each in moved):
        for each in values:
            if is_place_of_argument(place := place_given(each)):
                note_argument(frame, frame.world.callers.beside_host, place)


def note_handing(frame: Frame, closure: Closure, taken: list[Taken]) -> None:
    """Note what a call in the file gives to each parameter of one of its functions."""
    for name, _, value in taken if closure.file is frame.world.home else ():
        place = place_given(value)
        key = place.key if is_place_of_argument(place) and not frame.is_followed else ""
        handed = frame.world.callers.handed
        handed.setdefault((closure.qualname, name), set()).add((frame.qualname, key))


def place_given(value: Value) -> Device:
    """Where a value is, as what the running function was given is called there."""
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        return place_of_path(value.data)
    return value.device
