"""From one reading of a file to the other: what the scout found, placed by LibCST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from devlint import ir

_FIELDS: Mapping[type, tuple[str, ...]] = {
    kind: tuple(field.name for field in fields(kind) if field.name != "origin")
    for kind in vars(ir).values()
    if isinstance(kind, type) and is_dataclass(kind)
}


@contextmanager
def adopted_origins(module: ir.Module, of: ir.Module) -> Iterator[bool]:
    """For a while, give the nodes of a module the origins of their twins in another reading of
    the same file. The module may be kept and read again: afterwards it is as it was.

    Gives False, and changes nothing, where the two differ anywhere.
    """
    pairs = _twins(module, of)
    before = [(one, one.origin) for one, _ in pairs or ()]
    try:
        for one, other in pairs or ():
            one.origin = other.origin
        yield pairs is not None
    finally:
        for one, origin in before:
            one.origin = origin


def _twins(module: ir.Module, of: ir.Module) -> list[tuple[Any, Any]] | None:
    """The nodes of two readings, two by two; None where they differ."""
    found: list[tuple[Any, Any]] = []
    stack: list[tuple[Any, Any]] = [(module, of)]
    while stack:
        one, other = stack.pop()
        kind = type(one)
        if kind is not type(other):
            return None
        if kind is tuple:
            if len(one) != len(other):
                return None
            stack.extend(zip(one, other, strict=True))
        elif kind in _FIELDS:
            found.append((one, other))
            for name in _FIELDS[kind]:
                part, twin = getattr(one, name), getattr(other, name)
                if part is not twin:
                    stack.append((part, twin))
        elif one != other:
            return None
    return found
