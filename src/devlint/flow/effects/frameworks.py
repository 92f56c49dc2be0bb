"""Objects of frameworks that place what they are given: an `Accelerator`, and what it prepares.

Models are on `accelerator.device` from then on, and so are the batches of loaders. A trait marks
what has been prepared.
"""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, Device
from devlint.flow.domain.paths import Path, as_device, identity, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import forget_optimizer, place_module
from devlint.model import ir
from devlint.torchapi.effects import Row

_PLACE_BATCHES = frozenset(
    ("accelerate", "dgl", "ffcv", "lightning_fabric", "nvidia", "ray", "torch_xla")
)
_FABRIC = ("lightning.Fabric", "lightning.fabric", "lightning.fabric.Fabric")
_PREPARES = frozenset(("prepare", "prepare_model", "prepare_data_loader"))
_GIVES_BACK = frozenset(
    ("gather", "gather_for_metrics", "pad_across_processes", "reduce", "unwrap_model")
)
"""Methods whose result is where what they are given is."""
_PLACE_OTHERWISE = frozenset(("cpu", "device_placement"))
"""Arguments that keep an `Accelerator` from placing things on its device, or say which that is."""


def places_batches(name: str) -> bool:
    """Whether an imported name is one of a library that makes loaders, or prepares them, whose
    batches are on the accelerator."""
    return name.partition(".")[0] in _PLACE_BATCHES or name in _FABRIC


def make(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Accelerator()`: it is known by the name that it gets."""
    if args.unpacked or not _PLACE_OTHERWISE.isdisjoint(args.keywords()):
        return Value(Kind.UNKNOWN, trait=Trait.MANAGED)
    return Value(Kind.UNKNOWN, trait=Trait.PLACER)


def named(target: ir.Expr, value: Value) -> Value:
    """What `accelerator = Accelerator()` binds: its `device` is a place of its own."""
    if value.trait is Trait.PLACER and value.data is None:
        return value.but(data=Path(identity(target) or ir.render(target)))
    return value


def called(frame: Frame, node: ir.Call, base: Value, attr: str, args: Arguments) -> Value:
    """What a method of an `Accelerator` gives back. After `accelerator.prepare(model, loader)` all
    of it is placed."""
    if attr in _GIVES_BACK:
        return args.value((0,))
    if attr not in _PREPARES or args.unpacked:
        return NOTHING
    path = base.data if isinstance(base.data, Path) and not args.keywords() else None
    place = UNKNOWN if path is None else as_device(path_value(f"{path.text}.device", path.given))
    made = tuple(prepared(frame, node, value, place) for _, value in args.positional())
    if len(made) == 1:
        return made[0]
    return Value(Kind.TUPLE, data=frame.allocate(node, Object(items=made)))


def prepared(frame: Frame, node: ir.Call, value: Value, place: Device = UNKNOWN) -> Value:
    """What a framework has placed: nothing more is said of where that is, unless it is told."""
    found = frame.object(value)
    if value.kind is Kind.OPTIMIZER:
        forget_optimizer(frame, value)
    elif found is None:
        return Value(Kind.UNKNOWN, trait=Trait.MANAGED) if value.kind is Kind.UNKNOWN else value
    else:
        told = Step(Sort.PREPARED, node, found.trace, place)
        if value.kind is Kind.MODULE and place != UNKNOWN:
            place_module(frame, value, place, told)
        else:
            frame.update(value, replace(found, device=place, trace=told, managed=place == UNKNOWN))
    return value.but(trait=Trait.MANAGED)
