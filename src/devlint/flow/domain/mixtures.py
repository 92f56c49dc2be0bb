"""Tensors of which more is known than one place: made empty, or among several in a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import CPU, UNKNOWN, Symbol
from devlint.flow.domain.values import TENSORS, Kind, Origin, Value, is_fresh
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class Empty:
    """A tensor without elements: `made` as any other would be, and where: the function, and the
    innermost `if`."""

    made: Value
    function: ir.Node | None
    arm: ir.If | None


@dataclass(frozen=True, slots=True)
class Mixed:
    """What a list holds that got both: a tensor made on the host, and one that follows a model or
    an argument."""

    fresh: Value
    follows: Value


@dataclass(frozen=True, slots=True)
class Several:
    """What a list holds that is put together of others, `[first, *rest]`: tensors, of which two
    are in two places."""

    parts: tuple[Value, ...]


def put_together(values: Sequence[Value]) -> Value | None:
    """What a list holds that is put together of what holds these; None where all of it may be in
    one place."""
    parts = [part for value in values for part in _parts(value)]
    if any(part.kind not in TENSORS for part in parts):
        return None
    placed = {part.device: part for part in reversed(parts)}  # of each place the first one
    if all(difference(a, b) is None for a, b in combinations(placed, 2)):
        return None
    return Value(Kind.TENSOR, UNKNOWN, data=Several(tuple(reversed(placed.values()))))


def _parts(value: Value) -> tuple[Value, ...]:
    return value.data.parts if isinstance(value.data, Several) else (value,)


def mix(a: Value, b: Value) -> Value | None:
    """What a list holds of which both are elements; None where it is what either is."""
    if not a.kind.is_tensor_like or not b.kind.is_tensor_like:
        return None
    for one, other in ((a, b), (b, a)):
        if isinstance(one.data, Mixed):
            fits = isinstance(other.data, Mixed) or _made(other) or _follows(other)
            return one if fits else None
    made = _made(a) or _made(b)
    follows = a if _follows(a) else b if _follows(b) else None
    if made is None or follows is None:
        return None
    return Value(Kind.TENSOR, UNKNOWN, data=Mixed(made, follows))


def _made(value: Value) -> Value | None:
    """The value as a fresh tensor of the host, if it is one."""
    if isinstance(value.data, Empty) and value.origin is Origin.NONE:
        value = value.data.made
    return value if is_fresh(value) and value.device == CPU else None


def _follows(value: Value) -> bool:
    placed = isinstance(value.device, Symbol) and value.kind.is_tensor_like
    return placed and value.origin in (Origin.FOLLOWS, Origin.INPUT)
