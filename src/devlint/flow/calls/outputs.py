"""What a module gives of which its class tells more than that it is where the module is."""

from __future__ import annotations

from devlint import ir
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.state import Object
from devlint.flow.domain.value_joins import both
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import self_attribute

Parts = tuple[Value | None, ...]
"""Of several things that `forward` returns, each of which more is known; None for the others."""


def of_forward(
    frame: Frame, node: ir.Call, there: Value, held: Object | None, info: ClassInfo | None
) -> Value:
    """What a call of a module gives. `there` is a tensor where the module is, `held` what the
    module holds."""
    method = None if info is None else info.method("forward")
    if method is None:
        return there
    made = frame.world.made_on_host.get(method[1])
    if made is not None:
        return made.but(data=None, note="").step(Sort.RETURN, node)
    parts = frame.world.parts_made_on_host.get(method[1]) or _settings(method, held)
    if parts is None:
        return there
    items = tuple(_part(node, there, part) for part in parts)
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=items)))


_DEEPEST = 3
"""Parts of parts that are looked into."""


def may_be_on_host(
    frame: Frame, info: ClassInfo | None, held: Object | None, depth: int = _DEEPEST
) -> bool:
    """Whether a `forward` brings something to the host, which it may return, or gives what a part
    of its module gives that does so."""
    method = None if info is None else info.method("forward")
    if method is None or not depth:
        return False
    owner, function = method
    scan = owner.file.scan(function)
    this = function.params[0].name if function.params else ""
    parts = [self_attribute(node.func, this) for node in scan.returned if isinstance(node, ir.Call)]
    return scan.reads_back or any(
        _part_may_be_on_host(frame, ref, depth - 1)
        for name in parts
        if held is not None and name in held.entries
        for ref in both(held.entries[name].data)
    )


def _part_may_be_on_host(frame: Frame, ref: object, depth: int) -> bool:
    found = frame.object(Value(Kind.MODULE, data=ref))
    source = None if found is None else found.source
    return isinstance(source, ClassInfo) and may_be_on_host(frame, source, found, depth)


def _part(node: ir.Call, there: Value, part: Value | None) -> Value:
    if part is None or part is NOTHING:
        return there if part is None else part
    return part.but(data=None, note="").step(Sort.RETURN, node)


def _settings(method: tuple[ClassInfo, ir.Function], held: Object | None) -> Parts | None:
    """Which of the things that a method returns are what its object was set up with
    (`return y, self.config.rate`): they may be anything."""
    owner, function = method
    returned = owner.file.scan(function).returned
    rows = [each.items for each in returned if isinstance(each, ir.Display)]
    if held is None or not rows or len({len(row) for row in rows}) > 1 or len(rows) < len(returned):
        return None
    this = function.params[0].name if function.params else ""
    parts = tuple(
        NOTHING if all(_is_setting(each, this, held) for each in part) else None
        for part in zip(*rows, strict=True)
    )
    return parts if any(part is not None for part in parts) else None


def _is_setting(node: ir.Expr, this: str, held: Object) -> bool:
    """Whether it is a constant, or of what its object keeps besides modules and tensors."""
    if isinstance(node, ir.Constant):
        return True
    attr = ""
    while isinstance(node, ir.Attribute):
        attr, node = node.attr, node.value
    if not isinstance(node, ir.Name) or node.id != this:
        return False
    known = held.entries.get(attr)
    return known is not None and known.kind not in (Kind.MODULE, *TENSORS)
