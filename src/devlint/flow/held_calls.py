"""Calls of what a module holds and nobody here knows: `self.net(x)`, where `net` was given to the
constructor or made by a class of another project.

A module registers such a part and takes it along, so its result is where its input is. What looks
things up for the host, a matcher or a metric, is left alone.
"""

from __future__ import annotations

import re

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.facts import Role
from devlint.flow.frame import ClassInfo, Frame
from devlint.flow.lattice import Symbol
from devlint.flow.values import NOTHING, Kind, Origin, Trace, Value

_TENSORS = (Kind.TENSOR, Kind.BATCH)
_ON_THE_HOST = re.compile(
    r"match|assign|sampl|token|process|decode|metric|nms|select|logg|config|cfg|transform|callback"
    r"|writer|index|thresh|to_|item|len|collat|schedul|hook|host|numpy|cpu",
    re.IGNORECASE,
)


def result(frame: Frame, node: ir.Call, func: ir.Attribute, args: Arguments) -> Value:
    """What a part of `self` gives of tensors that follow the module."""
    if frame.role is not Role.MODULE or _ON_THE_HOST.search(func.attr):
        return NOTHING
    first = next((value for _, value in args.all if value.kind in _TENSORS), None)
    if first is None or first.origin is not Origin.FOLLOWS or not _is_part(frame, func.attr):
        return NOTHING
    if not isinstance(frame.place(first), Symbol):
        return NOTHING
    told = Trace(node, f"`{ir.render(func)}` gives it where its input is", first.trace)
    return Value(
        Kind.BATCH, first.device, origin=Origin.FOLLOWS, grad=True, note="part", trace=told
    )


def _is_part(frame: Frame, name: str) -> bool:
    """Whether the constructor was given an attribute, or calls a class to make it."""
    stores = frame.world.stores.get((frame.owner, name)) if frame.owner is not None else None
    return bool(stores) and all(
        _gives_part(frame.owner, operand.node) for _, operand in stores or ()
    )


def _gives_part(owner: ClassInfo | None, node: ir.Expr) -> bool:
    if isinstance(node, ir.Call):
        return ir.render(node.func).rpartition(".")[2][:1].isupper()
    init = None if owner is None else owner.method("__init__")
    if init is None or not isinstance(node, ir.Name):
        return False
    return any(p.name == node.id and p.default is None for p in init[1].params)
