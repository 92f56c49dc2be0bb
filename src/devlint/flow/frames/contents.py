"""What a value holds: the values in a container or in an object, some levels deep."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.derivation import first
from devlint.flow.domain.mixtures import Mixed, Several
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.arguments import Given, each_given, entry_of
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir


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


def flatten(frame: Frame, node: ir.Expr, value: Value) -> list[Given]:
    """What a container holds, or was stored in an encoding, each with its own node where the source
    shows it; any other value by itself."""
    found = frame.object(value)
    if found is not None and found.entries and value.kind in (Kind.DICT, Kind.ENCODING):
        return [(entry_of(node, name), each) for name, each in found.entries.items()]
    if found is None or not value.kind.is_container:
        return [(node, value)]
    if found.items is not None:
        return each_given(node, found.items)
    inside = found.elements()
    if isinstance(inside.data, Mixed) and _is_made_here(frame, inside.data.fresh):
        return [(node, inside.data.follows), (node, inside.data.fresh)]
    if isinstance(inside.data, Several):
        return [(node, part) for part in inside.data.parts]
    return [(node, inside)]


def _is_made_here(frame: Frame, value: Value) -> bool:
    """Whether the running function makes a tensor: what it finds in a list may be replaced."""
    made = first(value.trace)
    if made is None or frame.function is None:
        return made is not None and frame.function is None
    return any(node is made for node in nodes_of(frame.function.body))


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
