"""Methods that a class inherits from one of another file, where they use what it keeps."""

from __future__ import annotations

from collections.abc import Iterator

from devlint import ir
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import descendants


def inherited(info: ClassInfo, frame: Frame, this: Value) -> Iterator[tuple[ClassInfo, str]]:
    """The methods of bases in other files that mention a tensor which the class keeps as a plain
    attribute, with the class that defines them."""
    found = frame.object(this)
    kept = {
        name
        for name, value in (found.entries.items() if found is not None else ())
        if value.kind is Kind.TENSOR and value.origin is Origin.ATTRIBUTE
    }
    for base in info.ancestors if kept else ():
        if base.file is not info.file:
            for name, method in base.methods.items():
                reached = info.method(name)
                mine = reached is not None and reached[1] is method
                if name != "__init__" and mine and _mentions(method, kept):
                    yield base, name


def _mentions(method: ir.Function, names: set[str]) -> bool:
    this = method.params[0].name if method.params else ""
    return any(
        isinstance(node, ir.Attribute)
        and node.attr in names
        and isinstance(node.value, ir.Name)
        and node.value.id == this
        for node in descendants(method)
    )
