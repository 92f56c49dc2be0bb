"""Objects of frameworks that place what they are given: an `Accelerator`, and what it prepares.

Their values aren't known; a trait marks them.
"""

from __future__ import annotations

from devlint.flow.domain.paths import Path, identity
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.torchapi.effects import Row

_PLACE_BATCHES = frozenset(
    ("accelerate", "dgl", "ffcv", "lightning_fabric", "nvidia", "ray", "torch_xla")
)
_PREPARES = frozenset(("prepare", "prepare_model", "prepare_data_loader"))


def places_batches(name: str) -> bool:
    """Whether an imported name is one of a library that makes loaders, or prepares them, whose
    batches are on the accelerator."""
    return name.partition(".")[0] in _PLACE_BATCHES or name.endswith(("fabric", "Fabric"))


def make(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Accelerator()`: it is known by the name that it gets."""
    return Value(Kind.UNKNOWN, trait=Trait.PLACER)


def named(target: ir.Expr, value: Value) -> Value:
    """What `accelerator = Accelerator()` binds: its `device` is a place of its own."""
    if value.trait is Trait.PLACER and value.data is None:
        return value.but(data=Path(identity(target) or ir.render(target)))
    return value


def prepared(frame: Frame, node: ir.Call, attr: str, args: Arguments) -> Value:
    """What `accelerator.prepare(model, loader)` gives back: all of it is placed from now on."""
    if attr not in _PREPARES or args.unpacked:
        return NOTHING
    given = tuple(_managed(frame, value) for _, value in args.positional())
    if len(given) == 1:
        return given[0]
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=given)))


def _managed(frame: Frame, value: Value) -> Value:
    if frame.object(value) is not None:
        return value.but(trait=Trait.MANAGED)
    return Value(Kind.UNKNOWN, trait=Trait.MANAGED) if value.kind is Kind.UNKNOWN else value
