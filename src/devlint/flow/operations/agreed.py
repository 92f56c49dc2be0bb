"""Places that agree by what has run before: past an error no line is reached."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import Symbol, only_host
from devlint.flow.domain.values import SHAPED, Origin
from devlint.flow.facts import Operand
from devlint.flow.frames.frame import Frame

_MET = " has met what a call brings from the host"
"""How the key ends of the condition that a place is the host, or an error has ended the path."""


def note_met(frame: Frame, placed: Iterable[Operand]) -> None:
    """What a call brings from the host meets what may be anywhere: past that line, that is there as
    well."""
    is_part = frame.file.parts.get(frame.name) is frame.function  # it stands in for its caller
    if frame.caller is None or is_part or not any(map(_is_brought, placed)):
        return
    for operand in placed:
        if isinstance(operand.device, Symbol):
            frame.state.known[operand.device.key + _MET] = True


def _is_brought(operand: Operand) -> bool:
    """Whether it was moved to the host, or comes from a loader."""
    return only_host(operand.device) and operand.origin in (Origin.MOVED, *SHAPED)


def differ(frame: Frame, one: Operand, other: Operand) -> bool:
    """Whether two are on two devices: a place that has met the host before is the host."""
    if difference(one.device, other.device) is None:
        return False
    places = [each.device for each in (one, other) if isinstance(each.device, Symbol)]
    return not any(place.key + _MET in frame.state.known for place in places)
