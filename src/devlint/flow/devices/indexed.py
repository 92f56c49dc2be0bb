"""Names that may hold a device with an index, `f"cuda:{rank}"`, at the end of a body."""

from __future__ import annotations

from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.model import ir

_HEADS = ("cuda:", "xpu:")


def spelled(frame: Frame, node: ir.Expr, value: Value) -> ir.Expr | None:
    """The string with an index that a name holds on one way here, whatever it is on another."""
    if not isinstance(node, ir.Name) or value.kind not in (Kind.STRING, Kind.UNKNOWN):
        return None
    if isinstance(value.data, str):
        return None
    own = frame.body if node.id in frame.state.env else ()
    found = _held(own or frame.file.body, node.id, ())
    return found[0] if found else None


def _held(body: ir.Body, name: str, held: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """The strings with an index that a name may hold after some statements."""
    for statement in body:
        match statement:
            case ir.Assign(targets=targets, value=value) if value is not None:
                if any(isinstance(t, ir.Name) and t.id == name for t in targets):
                    held = (value,) if _has_index(value) else ()
            case ir.If(body=then, orelse=orelse):
                held = tuple(dict.fromkeys(_held(then, name, held) + _held(orelse, name, held)))
            case ir.With(body=inner):
                held = _held(inner, name, held)
            case ir.Try(body=first, orelse=then, final=final):
                held = _held((*first, *then, *final), name, held)
            case _:
                pass
    return held


def _has_index(value: ir.Expr) -> bool:
    match value:
        case ir.Text(parts=(ir.Constant(value=str(head)), *rest)):
            return bool(rest) and head in _HEADS
        case ir.Binary(left=ir.Constant(value=str(head)), op="+"):
            return head in _HEADS
    return False
