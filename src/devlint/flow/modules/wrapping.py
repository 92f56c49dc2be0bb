"""Wrappers that spread a module over devices: where it has to be before, and when it is called."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.domain.differences import difference
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.lattice import UNKNOWN, Device, Known, only_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, Kind, Value
from devlint.flow.facts import Wrap
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import give_away, held_place, is_accelerator
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means
from devlint.torchapi.effects import Row

_DDP = "torch.nn.parallel.DistributedDataParallel"
_DP = "torch.nn.DataParallel"
_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
_GATHERS = (2, "output_device")
"""The parameter that says where outputs are put together."""


def wrap(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A module that a framework places. One that holds a known module moves it along."""
    given = args.find(row.of)
    inner = given if given is not None and given[1].kind is Kind.MODULE else None
    entries = {} if inner is None else {"module": inner[1]}
    if (target := args.find(_GATHERS)) is not None:
        entries[_GATHERS[1]] = target[1]
    made = Object(source=row.name, managed=True, entries=entries)
    if inner is not None and not args.unpacked:
        if row.name == _DDP:
            _distribute(frame, node, inner, args)
        elif row.name == _FSDP:
            _shard(frame, node, inner, args)
        elif row.name == _DP:
            ids = args.find((1, "device_ids"))
            made = replace(made, items=() if ids is None else (_first(frame, ids),))
    return Value(Kind.MODULE, data=frame.allocate(node, made))


def spreads(info: ClassInfo, args: Arguments) -> bool:
    """Whether a class of the project takes inputs to devices: it is told which, or inherits it."""
    told = args.gives(("device_ids",))
    return told or any(base.endswith("DataParallel") for base in info.library_bases())


def of_unseen(frame: Frame, node: ir.Call, func: ir.Expr, args: Arguments) -> Value:
    """What is called that isn't seen. Where a class is told the devices of a module, it makes a
    wrapper that takes what it is called with to them; all else may do anything with what it is
    given, and gives anything."""
    told = args.gives(("device_ids",)) and means("class", last_name(func), "function")
    inner = args.find((0, "module", "model"))
    if not told or inner is None:
        give_away(frame, (value for _, value in args.all))
        return NOTHING
    entries = {"module": inner[1]} if inner[1].kind is Kind.MODULE else {}
    made = frame.allocate(node, Object(managed=True, entries=entries))
    return Value(Kind.MODULE, data=made, trait=Trait.SPREAD)


def _distribute(frame: Frame, node: ir.Call, inner: Given, args: Arguments) -> None:
    """`DistributedDataParallel` refuses device ids for a module on the CPU, when it is made."""
    place, ids = held_place(frame, inner[1]), args.find((1, "device_ids"))
    item = None if ids is None else _only_item(ids[0])
    if item is not None and only_host(place):
        _tell(frame, node, inner, "device-ids", (item, frame.evaluate(item)))
    elif item is not None and ids is not None:
        first = _first(frame, ids)
        if _differ(place, first.device):
            _tell(frame, node, inner, "other-index", (item, first))
    elif not args.gives((1, "device_ids")) and not args.gives(_GATHERS):
        if only_host(place) and args.find(("process_group",)) is None:
            _tell(frame, node, inner, "backend", None)


def _shard(frame: Frame, node: ir.Call, inner: Given, args: Arguments) -> None:
    """`FullyShardedDataParallel` sends states to other ranks from the accelerator only."""
    if args.asks("sync_module_states") and args.find(("device_id",)) is None:
        if only_host(held_place(frame, inner[1])):
            _tell(frame, node, inner, "sync", None)


def call_wrapper(frame: Frame, node: ir.Call, func: ir.Expr, value: Value) -> None:
    """`DataParallel` compares places in each call, so the wrapper may be moved before. With one
    device it moves the module itself, and without CUDA it calls it where it is."""
    found = frame.object(value)
    if found is None or found.source != _DP or found.items is None:
        return
    module = found.entries.get("module")
    if module is None or frame.state.known.get(CUDA_AVAILABLE) is False:
        return
    place = held_place(frame, value)
    first = found.items[0] if found.items else Value(Kind.DEVICE, Known("cuda", 0))
    apart = only_host(place) or _differ(place, first.device)
    if apart and first.trait is not Trait.ONLY_DEVICE:
        _tell(frame, node, (func, module), "called", None)


def where_gathered(frame: Frame, value: Value) -> Device:
    """Where the outputs are of a wrapper, or of one that a condition wraps: where it is itself, or
    else the module that it holds, unless that is on the host, for it may move copies."""
    modules = frame.each(value)
    if any(_gathers_elsewhere(frame, each) for each in modules):
        return UNKNOWN
    place = frame.place(value)
    if place != UNKNOWN:
        return place
    places = {held_place(frame, each) for each in modules}
    held = places.pop() if len(places) == 1 else UNKNOWN
    return UNKNOWN if only_host(held) else held


def _gathers_elsewhere(frame: Frame, value: Value) -> bool:
    """Whether a wrapper is told where it gives its outputs."""
    found = frame.object(value)
    target = NONE if found is None else found.entries.get(_GATHERS[1], NONE)
    return target.kind is not Kind.NONE


def _first(frame: Frame, ids: Given) -> Value:
    """The first of the devices; marked where it is the only one, or where that isn't known."""
    if not isinstance(ids[0], ir.Display):
        return Value(Kind.DEVICE, trait=None if ids[1].kind is Kind.NONE else Trait.ONLY_DEVICE)
    if not ids[0].items or isinstance(ids[0].items[0], ir.Starred):
        return Value(Kind.DEVICE, trait=Trait.ONLY_DEVICE)
    value = frame.evaluate(ids[0].items[0])
    trait = Trait.ONLY_DEVICE if len(ids[0].items) == 1 else None
    if isinstance(value.data, int) and not isinstance(value.data, bool):
        return Value(Kind.DEVICE, Known("cuda", value.data), trait=trait)
    return Value(Kind.DEVICE, value.device, trait=trait)


def _only_item(ids: ir.Expr) -> ir.Expr | None:
    """The item of `[rank]`."""
    if isinstance(ids, ir.Display) and len(ids.items) == 1:
        return None if isinstance(ids.items[0], ir.Starred) else ids.items[0]
    return None


def _differ(place: Device, other: Device) -> bool:
    """Whether both are accelerators, and not the same one."""
    named = is_accelerator(place) and is_accelerator(other)
    return named and difference(place, other) is not None


def _tell(frame: Frame, node: ir.Call, inner: Given, reason: str, target: Given | None) -> None:
    if reason != "called" and not frame.tells:
        return  # what an inlined call leads to may stand under a condition on its arguments
    operand = replace(frame.operand(*inner), device=held_place(frame, inner[1]))
    shown = None if target is None else frame.operand(*target)
    fact = Wrap(node, frame.context(), operand, reason, shown)
    if reason == "backend":
        frame.world.processes.wraps.append(fact)
    else:
        frame.record(fact)
