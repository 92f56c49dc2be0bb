"""Methods of bases, where they use what a class keeps or call what it defines."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir


def inherited(info: ClassInfo, frame: Frame, this: Value) -> Iterator[tuple[ClassInfo, str]]:
    """The methods of bases that tell of a class what its own don't, with the class that defines
    them: those in other files that mention a tensor which it keeps as a plain attribute, and those
    that call what it defines (`loss = self.loss(x.to(self.device))`)."""
    found = frame.object(this)
    kept = {
        name
        for name, value in (found.entries.items() if found is not None and info.is_module else ())
        if value.kind is Kind.TENSOR and value.origin is Origin.ATTRIBUTE
    }
    for base in info.ancestors:
        tells = bool(kept) and base.file is not info.file
        for name, method in base.methods.items():
            mine = info.method(name)
            if name == "__init__" or mine is None:
                continue
            inherits = mine[1] is method
            calls = not base.file.scan(method).self_calls.isdisjoint(info.methods)
            own = first_parameter(method)
            inside = descendants(method) if inherits and tells else ()
            mentions = any(self_attribute(node, own) in kept for node in inside)
            if mentions or (calls and (inherits or _is_extended(mine[1]))):
                yield base, name


def _is_extended(method: ir.Function) -> bool:
    """Whether a method calls the one that it takes the place of."""
    for node in descendants(method):
        match node:
            case ir.Call(func=ir.Attribute(value=ir.Call(func=ir.Name(id="super")), attr=attr)):
                if attr == method.name:
                    return True
    return False
