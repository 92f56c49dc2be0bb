"""What a value holds: the values in a container or in an object, some levels deep."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.frame import Frame


def contents(
    frame: Frame, value: Value, depth: int = 3, *, of_objects: bool = True
) -> Iterator[Value]:
    """What a container holds, or an object of the project, and what these hold, `depth` levels
    deep; any other value by itself."""
    opened = value.kind.is_container or (of_objects and value.kind is Kind.INSTANCE)
    found = frame.object(value) if opened and depth else None
    if found is None:
        yield value
        return
    for each in found.inside:
        yield from contents(frame, each, depth - 1, of_objects=of_objects)


def each_items(frame: Frame, value: Value) -> list[tuple[Value, ...]]:
    """The items of a list or a tuple; of one of several tuples, which may differ in length, those
    of each. Nothing where they aren't all known one by one."""
    found = frame.object(value)
    if found is None or found.items is not None or value.kind is not Kind.TUPLE:
        return [] if found is None or found.items is None else [found.items]
    several = [each.items for each in frame.objects(value)]
    known = [items for items in several if items is not None]
    return known if len(known) == len(several) else []


ITEMS = "[]"
"""The name under which an object of a class of dicts holds its items."""


def with_items(frame: Frame, base: Value) -> Value:
    """The dict that holds the items of an object; the value itself where it holds none."""
    found = frame.object(base) if base.kind is Kind.INSTANCE else None
    return base if found is None else found.entries.get(ITEMS, base)
