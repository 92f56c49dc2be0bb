"""A call of something that a row describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from devlint.flow.devices.named import use_device
from devlint.flow.domain.lattice import UNKNOWN, Device
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.contents import flatten
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.torchapi.effects import Arg, Dims, Row


@dataclass(frozen=True, slots=True)
class Use:
    """A call of something that a row describes."""

    frame: Frame
    node: ir.Call
    row: Row
    args: Arguments


Overlay = Callable[[Frame, ir.Call, Row, Arguments], Value]
"""What can't be a row: a function that rows name."""


def device_argument(use: Use, via: str = "device") -> Device | None:
    """What the device argument of a call names; None where none is given."""
    if not use.row.device:
        return None
    given = use.args.find(use.row.device)
    if given is None:
        return UNKNOWN if use.args.hides(use.row.device) else None
    if given[1].kind is Kind.NONE:
        return None
    return use_device(use.frame, *given, via=via)


def arguments_of(use: Use, parameters: tuple[tuple[Arg, ...], ...]) -> list[Given]:
    """The arguments given for parameters, of which ["*"] are all positional ones."""
    found: list[Given] = []
    for parameter in parameters:
        if parameter == ("*",):
            found.extend(use.args.positional())
        elif (one := use.args.find(parameter)) is not None:
            found.append(one)
    return found


def operands(use: Use, parameters: tuple[tuple[Arg, ...], ...]) -> list[Given]:
    """The arguments that meet, lists of tensors flattened: `*tensors` too."""
    given = arguments_of(use, parameters)
    if ("*",) in parameters:
        given += [(a.value, value) for a, value in use.args.all if a.star == "*"]
    return [each for node, value in given for each in flatten(use.frame, node, value)]


_KINDS = {kind.name.lower(): kind for kind in Kind}


def result_kind(row: Row) -> Kind:
    """The kind that a row names."""
    return _KINDS.get(row.kind, Kind.UNKNOWN)


_TRAITS = {trait.value: trait for trait in Trait}


def trait_of(row: Row) -> Trait | None:
    """The trait that a row names."""
    return _TRAITS.get(row.trait)


def plain(row: Row) -> Value:
    """A result of which only the kind and the trait are known."""
    kind, trait = result_kind(row), trait_of(row)
    if trait is None and kind in (Kind.NONE, Kind.UNKNOWN, Kind.TENSOR):
        return NONE if kind is Kind.NONE else NOTHING
    return Value(kind, scalar=False if row.dims is Dims.SOME else None, trait=trait)


def parts(use: Use, value: Value) -> Value:
    """The value, or a tuple of such values where the call gives one."""
    row, args = use.row, use.args
    alone = bool(row.parts_without) and not args.unpacked and args.find(row.parts_without) is None
    if not (row.parts or alone or any(map(args.asks, row.parts_with))):
        return value
    element = value.but(scalar=False) if alone else value
    return Value(Kind.TUPLE, data=use.frame.allocate(use.node, Object(element=element)))
