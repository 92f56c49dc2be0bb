"""Distributions: what they draw, and what they say of a value, is where their parameters are."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step, shown
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.flow.operations.meet import meet
from devlint.model import ir
from devlint.torchapi.effects import Row
from devlint.torchapi.spellings import is_class

_AS_GIVEN = (Origin.DEFAULT, Origin.HOST_DATA, Origin.FOLLOWS, Origin.INPUT, Origin.ATTRIBUTE)
_OF_VECTORS = ("OneHotCategorical", "Dirichlet", "MultivariateNormal")
"""Those that draw vectors: what they draw has dimensions, and so have their parameters."""


def distribution(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Normal(0, 1)` makes its parameters of the numbers, on the default device; with tensors they
    stay where they are."""
    taken = [(a.value, value) for a, value in args.all if value.kind is not Kind.BOOL]
    given = [value for _, value in taken]
    tensors = [value for value in given if value.kind in TENSORS]
    name = row.name.rpartition(".")[2]
    if args.unpacked or not is_class(name) or not given:
        return NOTHING
    if name == "Independent":
        return given[0] if given[0].kind is Kind.DISTRIBUTION else NOTHING
    if name == "MixtureSameFamily":
        return _mixture(frame, node, taken)
    if tensors:
        meet(frame, node, name, taken)  # when it is made, or at the first draw
        lead = next((value for value in tensors if value.scalar is not True), tensors[0])
        kept = lead.origin in _AS_GIVEN
        scalar = None if name == "Categorical" else lead.scalar  # its last dimension is one draw's
        return Value(
            Kind.DISTRIBUTION,
            frame.place(lead),
            lead.data if lead.origin is Origin.ATTRIBUTE else None,
            origin=lead.origin if kept else Origin.MOVED,
            scalar=False if name in _OF_VECTORS else scalar,
            trace=lead.trace if kept else None,
        )
    if any(value.kind is not Kind.NUMBER for value in given):
        return NOTHING
    return Value(Kind.DISTRIBUTION, frame.state.default, origin=Origin.DEFAULT, scalar=True)


def _mixture(frame: Frame, node: ir.Call, taken: list[Given]) -> Value:
    """What a mixture draws is where its parts are; what chooses among them has to be there, too."""
    parts = [_parameter(frame, pair) for pair in taken if pair[1].kind is Kind.DISTRIBUTION]
    if len(parts) < len(taken):
        return NOTHING
    meet(frame, node, "MixtureSameFamily", parts, free_scalars=False)
    return taken[-1][1]


def draw(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """What a distribution draws has the shape of its parameters at the end."""
    if args.receiver is None or args.receiver[1].kind is not Kind.DISTRIBUTION:
        return NOTHING
    source, shape = args.receiver[1], args.find((0, "sample_shape"))
    device, scalar = frame.place(source), source.scalar
    if shape is not None:
        empty = isinstance(shape[0], ir.Display) and not shape[0].items
        scalar = scalar if empty else False
    told = source.trace
    if source.origin is Origin.DEFAULT and shown(told) is None:
        told = Step(Sort.NUMBERS, node, device=device)
    return Value(Kind.TENSOR, device, source.data, source.origin, scalar=scalar, trace=told)


def measure(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`log_prob(value)` takes a value from where the parameters are."""
    if args.receiver is None or args.receiver[1].kind is not Kind.DISTRIBUTION:
        return NOTHING
    given = args.find((0, "value"))
    met = [_parameter(frame, args.receiver), *([] if given is None else [given])]
    return meet(frame, node, row.name.rpartition(".")[2], met).but(scalar=None)


def divergence(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`kl_divergence(p, q)` puts the parameters of one beside those of the other."""
    given = [args.find((0, "p")), args.find((1, "q"))]
    met = [pair for pair in given if pair is not None and pair[1].kind is Kind.DISTRIBUTION]
    if len(met) < 2:
        return NOTHING
    met = [_parameter(frame, pair) for pair in met]
    return meet(frame, node, "kl_divergence", met).but(scalar=None)


def _parameter(frame: Frame, given: Given) -> Given:
    """What a distribution holds."""
    expression, source = given
    return expression, Value(
        Kind.TENSOR, frame.place(source), source.data, source.origin, scalar=source.scalar,
        trait=Trait.OF_DISTRIBUTION, trace=source.trace,
    )  # fmt: skip
