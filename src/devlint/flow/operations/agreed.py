"""Places that agree by what has run before: past an error no line is reached."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.domain.lattice import Symbol, only_host
from devlint.flow.domain.values import SHAPED, Origin
from devlint.flow.facts import Operand
from devlint.flow.frames.frame import Frame

_MET = " has met what a call brings from the host"
"""How the key ends of the condition that a place is the host, or an error has ended the path."""


def note_met(frame: Frame, placed: Iterable[Operand]) -> None:
    """What a call brings from the host meets what may be anywhere: past that line, that is there as
    well."""
    whole = frame.caller is None or frame.file.parts.get(frame.name) is frame.function
    if whole or not any(_is_brought(each) for each in placed):
        return  # a part of a function stands in for that
    for operand in placed:
        if isinstance(operand.device, Symbol):
            frame.state.known[operand.device.key + _MET] = True


def _is_brought(operand: Operand) -> bool:
    """Whether it was moved to the host, or comes from a loader."""
    return only_host(operand.device) and operand.origin in (Origin.MOVED, *SHAPED)


def have_met(frame: Frame, one: Operand, other: Operand) -> bool:
    """Whether one is on the host, and the other where the host has been met before."""
    places = [each.device for each in (one, other) if isinstance(each.device, Symbol)]
    known = frame.state.known
    return any(only_host(each.device) for each in (one, other)) and any(
        place.key + _MET in known for place in places
    )
