"""What a call gives where nothing but its kind is known."""

from __future__ import annotations

from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.effects.use import Use
from devlint.torchapi.effects import Dims, Row

_KINDS = {kind.name.lower(): kind for kind in Kind}


def result_kind(row: Row) -> Kind:
    """The kind that a row names."""
    return _KINDS.get(row.kind, Kind.UNKNOWN)


def plain(row: Row) -> Value:
    """A result of which only the kind is known."""
    kind = result_kind(row)
    if kind is Kind.NONE:
        return NONE
    if kind in (Kind.UNKNOWN, Kind.TENSOR):
        return NOTHING
    return Value(kind, scalar=False if row.dims is Dims.SOME else None)


def parts(use: Use, value: Value) -> Value:
    """The value, or a tuple of such values where the call gives one."""
    row, args = use.row, use.args
    asked = [args.keyword(name) for name in row.parts_with]
    alone = bool(row.parts_without) and not args.unpacked and use.find(row.parts_without) is None
    if not (row.parts or alone or any(given and given[1].data is True for given in asked)):
        return value
    element = value.but(scalar=False) if alone else value
    return Value(Kind.TUPLE, data=use.frame.allocate(use.node, Object(element=element)))
