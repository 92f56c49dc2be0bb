"""What is known of the values at a line, and of the operands that have to be in one place there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from devlint.flow.facts import UNKNOWN as NOWHERE
from devlint.flow.facts import Device, Kind, Operand
from devlint.flow.frames.record import Record
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import one_or_several
from devlint.source.spots import path_of

DULL = ("library", "function", "class", "method", "none", "dtype", "bool", "number", "string")
"""Kinds of which nobody asks where they are."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, 1-based; `path` is absolute. In a notebook, it is one of a cell."""

    path: str
    row: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step by which something is known."""

    at: Place
    message: str


@dataclass(frozen=True, slots=True)
class Known:
    """What an expression is. `place` is None where that isn't known. `called_from` are the calls
    by which its function is seen, outermost first: none where it is seen on its own."""

    expression: str
    kind: str
    place: str | None
    steps: tuple[Step, ...] = ()
    called_from: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """Operands that must be in one place: whether they "differ", "agree", or that is "unknown"."""

    operation: str
    operands: tuple[Known, ...]
    outcome: str
    called_from: tuple[Place, ...] = ()


def _is_at(node: ir.Node, row: int, column: int | None) -> bool:
    """Whether a node stands at a column of its line, in bytes; any does where none is asked for."""
    if column is None:
        return True
    origin = node.origin
    if not isinstance(origin, tuple) or origin[1] != row:
        return False
    return bool(origin[2] < column <= (origin[4] if origin[3] == row else column))


def values_at(record: Record, row: int, column: int | None) -> Iterator[Known]:
    for seen in record.seen.values():
        node = seen.operand.node
        if _is_at(node, row, column) and not _is_slice(node):
            known = known_of(seen.operand, seen.site)
            if known.kind not in DULL:
                yield known


def _is_slice(node: ir.Expr) -> bool:
    """`1:` of `x[1:]` and `1:, None` of `x[1:, None]`, which are values nowhere else."""
    return any(isinstance(part, ir.Slice) for part in one_or_several(node))


_View = TypeVar("_View", Known, Contract)


def distinct(views: Iterable[_View]) -> tuple[_View, ...]:
    """Each once; what a call sees as the function does on its own isn't said again."""
    found = tuple(dict.fromkeys(views))
    own = {each for each in found if not each.called_from}
    return tuple(
        each for each in found if not each.called_from or replace(each, called_from=()) not in own
    )


def known_of(operand: Operand, site: Sequence[ir.Node]) -> Known:
    steps = tuple(step for hop in operand.trace if (step := _step(hop)) is not None)
    kind = operand.type_name if operand.kind is not Kind.UNKNOWN else "unknown"
    return Known(str(operand), kind, _place(operand.device), steps, _calls(site))


def _place(device: Device) -> str | None:
    return None if device == NOWHERE else str(device)


def _step(hop: Hop) -> Step | None:
    at = _place_of(hop.node.origin)
    return None if at is None else Step(at, hop.message)


def _place_of(origin: object) -> Place | None:
    path = path_of(origin)
    return Place(path, origin[1]) if path is not None else None  # type: ignore[index]


def _calls(site: Sequence[ir.Node]) -> tuple[Place, ...]:
    places = (_place_of(node.origin) for node in site)
    return tuple(place for place in places if place is not None)


def contracts_at(record: Record) -> Iterator[Contract]:
    for meeting in record.meetings.values():
        operands = [each for each in meeting.operands if each.kind not in _NO_TENSORS]
        if len(operands) > 1:
            known = tuple(known_of(each, ()) for each in operands)
            yield Contract(meeting.op, known, meeting.outcome, _calls(meeting.site))


_NO_TENSORS = frozenset((Kind.NUMBER, Kind.BOOL, Kind.NONE, Kind.STRING, Kind.DTYPE))
