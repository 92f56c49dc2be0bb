"""What loaders and tokenizers yield, and its parts."""

from __future__ import annotations

from itertools import count

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Batch, Kind, Origin, Value
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def of_loader(frame: Frame, value: Value, node: ir.Node | None) -> Value:
    """A batch, or a new object of the kind that a loader is known to yield."""
    found = frame.object(value) or Object(value.device, trace=value.trace)
    placed, trace = value.trait is Trait.MANAGED, found.trace
    if node is not None and found.device != UNKNOWN and not placed:
        trace = Step(Sort.LOADED, node, trace)
    if found.managed:
        return Value(Kind.UNKNOWN, trait=Trait.MANAGED)
    if found.element is not NOTHING and node is not None and not placed:
        return _another(frame, (node,), found.element, trace)
    ref = (value.data if node is None else node, frame.site)
    trait = Trait.MANAGED if placed else None
    batch = Batch(frozenset((ref,)))
    return Value(Kind.BATCH, found.device, batch, Origin.LOADED, trait=trait, trace=trace)


def _another(frame: Frame, place: tuple[object, ...], value: Value, trace: Step | None) -> Value:
    """What a loader yields each time: another object, or dict, with other parts."""
    found = frame.object(value)
    if found is None or value.kind is Kind.BATCH:
        batch = Batch(frozenset(((place[0], frame.site),))) if value.kind is Kind.BATCH else None
        return value.but(trace=trace, data=batch) if value.origin is Origin.LOADED else value
    if value.kind.is_container:
        number = count()
        found = found.mapped(lambda each: _another(frame, (*place, next(number)), each, trace))
    return value.but(data=frame.allocate(place, found))


def part_of_any(value: Value) -> Value:
    """What stands under any key of a batch, or of what a file holds, that is a dict."""
    if value.trait is Trait.LOADED:
        return value.but(data=None)
    return value.but(scalar=None, data=value.batch) if value.kind is Kind.BATCH else NOTHING


def part_of_encoding(frame: Frame, encoding: Given, key: object = None) -> Value:
    """One of the tensors that a tokenizer has given, or what was stored in its place since."""
    _, base = encoding
    found = frame.object(base)
    if found is not None and isinstance(key, str) and key in found.entries:
        return found.entries[key]
    if found is not None and found.entries and key is None:
        return NOTHING  # any of them
    return frame.operand(*encoding).value.but(
        kind=Kind.TENSOR, device=frame.place(base), data=None, scalar=False
    )
