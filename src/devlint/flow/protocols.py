"""Methods that Python calls by itself: what iterating, indexing or asking an object gives."""

from __future__ import annotations

from devlint import ir
from devlint.flow.frame import ClassInfo, Closure, Frame
from devlint.flow.values import NOTHING, Value


def answer(frame: Frame, node: ir.Expr, value: Value, name: str, *given: Value) -> Value:
    """What a method of that name gives, of an object whose class is in sight."""
    found = frame.object(value)
    info = None if found is None else found.source
    method = info.method(name) if isinstance(info, ClassInfo) else None
    if method is None:
        return NOTHING
    owner, function = method
    closure = Closure(function, owner.file, (), owner, f"{owner.node.name}.{name}")
    return frame.world.invoke(frame, node, closure, [value, *given], {})
