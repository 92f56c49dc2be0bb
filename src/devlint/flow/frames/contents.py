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
