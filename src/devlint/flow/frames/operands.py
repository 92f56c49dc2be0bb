"""What stands where things meet, as rules see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from devlint.flow.domain.derivation import is_making, shown
from devlint.flow.domain.lattice import UNKNOWN, Device, Guarded, leaves
from devlint.flow.domain.traits import NO_LEAVES, Trait
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.facts import Operand
from devlint.flow.frames.files import ClassInfo
from devlint.model import ir

if TYPE_CHECKING:
    from devlint.flow.frames.frame import Frame


def operand(frame: Frame, node: ir.Expr, value: Value) -> Operand:
    """The value at a node: conditions applied, objects looked up."""
    device = frame.place(value)
    guarded = value.trait is not None and _is_guarded(value, device)
    found = frame.object(value)
    type_name = value.kind.name.lower()
    if found is not None and value.kind.is_container:
        inside = found.items or (found.element,)
        moved = next((each for each in inside if each.trait in NO_LEAVES), None)
        if moved is not None:
            value = value.but(trait=moved.trait, trace=moved.trace)
    if found is not None:
        guarded = found.guarded
        if value.kind is Kind.MODULE:
            origin = value.origin
            if shown(found.trace) is not None:
                origin = Origin.DEFAULT if is_making(found.trace) else Origin.MOVED
            value = value.but(trace=found.trace or value.trace, origin=origin)
        if isinstance(found.source, str):
            type_name = _short_name(found.source)
        elif isinstance(found.source, ClassInfo):
            type_name = found.source.node.name
    passed = frame.caller is not None and frame.is_parameter(node)
    return Operand(node, value, device, type_name, guarded, passed)


def _is_guarded(value: Value, device: Device) -> bool:
    """Whether somebody moved it under a condition, and left it where it was otherwise."""
    if value.trait is Trait.IF_MODULE:
        return isinstance(device, Guarded) and UNKNOWN in leaves(device)
    return value.trait is Trait.GUARDED


def _short_name(name: str) -> str:
    """How people call a library's class: `nn.Linear`, `DataLoader`."""
    if name.startswith("torch.nn."):
        return name.removeprefix("torch.")
    return name.rpartition(".")[2]
