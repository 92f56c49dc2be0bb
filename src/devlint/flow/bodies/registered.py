"""What `.to()` takes along of what a module keeps, and what stays behind; lists that its methods
fill with what they are given, batch after batch."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.bodies import unregistered
from devlint.flow.bodies.functions import run_alone
from devlint.flow.bodies.registrations import is_registered_elsewhere
from devlint.flow.domain.derivation import Sort, Step, steps
from devlint.flow.domain.lattice import CPU, THE_MODULE, UNKNOWN, Symbol, only_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, NOTHING, Kind, Origin, Value
from devlint.flow.facts import KeptTensor
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import (
    held_place,
    is_accelerator,
    is_registered,
    is_spread,
    place_kept,
    place_module,
)
from devlint.flow.modules.rewritten import as_kept, is_asked_about
from devlint.flow.modules.stale import remember
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir
from devlint.model.reports import Hop


def register(info: ClassInfo, frame: Frame, this: Value) -> None:
    """Registered submodules, parameters and buffers are where the module is; tensors kept as
    plain attributes stay where they were made, modules in plain containers too."""
    entries: dict[str, Value] = {}
    held = frame.state.heap[this.data].entries
    made_of = {_argument(each) for each in held.values() if is_registered(each)}
    for name, value in held.items():
        if _argument(value) in made_of - {None} and not is_registered(value):
            value = value.but(device=CPU, origin=Origin.DEFAULT)  # where modules are made
        if value.kind.is_container:
            unregistered.tell(info, frame, name, value)
        if value.trait is Trait.PERHAPS:
            stays = not (info.moves_itself() or is_asked_about(info, name))
            value = value.but(data=(info, name)) if stays else NOTHING
        else:
            value = as_kept(info, name, value)
        entries[name] = remember(info, frame, name, value)
    frame.state.heap[this.data] = replace(frame.state.heap[this.data], entries=entries)
    place_parts(info, frame, this)


def _argument(value: Value) -> ir.Node | None:
    """What tells of a tensor that it is the constructor's argument, or is computed from that."""
    if value.kind is not Kind.TENSOR or value.origin is not Origin.INPUT:
        return None
    return next((step.node for step in steps(value.trace)), None)


def place_parts(info: ClassInfo, frame: Frame, this: Value) -> None:
    """Put a module and what is registered in it where whoever uses it has moved it."""
    found = frame.state.heap[this.data]
    spread = is_spread(frame, found)
    entries = {
        name: value
        if spread and value.kind is Kind.MODULE and is_accelerator(frame.place(value))
        else _registered(info, frame, name, value)
        for name, value in found.entries.items()
    }
    moves = Step(Sort.MODULE_MOVES, info.node)
    frame.state.heap[this.data] = replace(found, device=THE_MODULE, entries=entries, trace=moves)
    place_kept(frame, found, THE_MODULE)


def leave_open(frame: Frame, this: Value) -> None:
    """A base that isn't seen may be a module, or move what its subclasses make: a module, a
    parameter or a buffer that nobody moved is anywhere."""
    found = frame.state.heap[this.data]
    for value in found.entries.values():
        if value.kind is Kind.MODULE and only_host(held_place(frame, value)):
            place_module(frame, value, UNKNOWN)
    moved = {
        name: value.but(device=UNKNOWN)
        for name, value in found.entries.items()
        if is_registered(value) and only_host(value.device)
    }
    frame.state.heap[this.data] = replace(found, entries={**found.entries, **moved})


def _registered(info: ClassInfo, frame: Frame, name: str, value: Value) -> Value:
    moves = Step(Sort.MODULE_MOVES, info.node)
    if value.kind is Kind.MODULE:
        place_module(frame, value, THE_MODULE, moves)
    elif is_registered(value):
        return value.but(device=THE_MODULE, origin=Origin.FOLLOWS, trace=moves)
    elif value.trait is Trait.IF_MODULE:
        return value.but(device=THE_MODULE, trace=moves)  # if it is one, then it is registered
    elif value.kind is Kind.TENSOR and _is_brought_along(info, name):
        return value.but(device=UNKNOWN)
    elif value.kind is Kind.PLACED and _is_called(info, name):
        return value.but(kind=Kind.UNKNOWN, device=THE_MODULE, trait=Trait.IF_MODULE, trace=moves)
    elif value.kind.is_container:
        found = frame.object(value)
        inside = NOTHING if found is None else found.elements()
        rows = frame.object(inside) if inside.kind.is_container else None
        if found is not None and inside.kind is Kind.MODULE:
            along = is_registered_elsewhere(info, frame, name, found)
            for each in found.inside:
                place_module(frame, each, THE_MODULE if along else UNKNOWN, moves)
        elif rows is not None and rows.elements().kind is Kind.MODULE:
            if is_registered_elsewhere(info, frame, name, rows):
                place_module(frame, value, THE_MODULE, moves)
    return value


def _is_called(info: ClassInfo, name: str) -> bool:
    """Whether a method calls what an attribute holds, as one does with modules."""
    return any(name in scan.self_calls for _, scan in info.scans())


def tell_kept_tensors(info: ClassInfo, frame: Frame) -> None:
    """Tell of tensors that are kept as plain attributes and have met what follows the module."""
    if info.moves_itself():
        return
    seen = frame.world.classes
    for (owner, name), uses in seen.kept.items():
        if owner is not info:
            continue
        stores = seen.stores.get((owner, name)) or seen.inherited.get((owner, name), [])
        hops = tuple(Hop(node, text, Sort.ATTRIBUTE.value) for node, text in dict(uses).items())
        tensors = [(s, operand) for s, operand in stores if operand.kind is Kind.TENSOR]
        tensors.sort(key=lambda store: (is_registered(store[1].value), store[1].origin not in MADE))
        for statement, operand in tensors[:1]:
            frame.record(
                KeptTensor(
                    statement, frame.context(), info.node.name, name, operand, hops,
                    only=not info.binds(name)
                    and sum(not isinstance(each, ir.Augment) for each, _ in stores) == 1,
                    scripted="torch.jit.ScriptModule" in info.library_bases(),
                    method=_stored_by(info, statement),
                )
            )  # fmt: skip


def _stored_by(info: ClassInfo, statement: ir.Stmt) -> str:
    """The method of a class, or of a base, in which a statement stands."""
    methods = (method for _, method in info.all_methods())
    return next((each.name for each in methods if statement in descendants(each)), "")


def _is_brought_along(info: ClassInfo, name: str) -> bool:
    """Whether `forward` moves an attribute whenever it runs, and stores it again: the methods that
    it calls meet what it has moved."""
    found = info.method("forward")
    if found is None or name not in found[0].file.scan(found[1]).self_moves:
        return False
    return any(_moves_in_place(each, first_parameter(found[1]), name) for each in found[1].body)


def _moves_in_place(statement: ir.Stmt, this: str, name: str) -> bool:
    """`self.name = self.name.to(...)`."""
    match statement:
        case ir.Assign(targets=(target,), value=ir.Call(func=ir.Attribute(value=moved))):
            return self_attribute(target, this) == name == self_attribute(moved, this)
    return False


def gather(info: ClassInfo, start: Frame, this: Value) -> None:
    """What such a list holds in the other methods: tensors that follow the module, as long as all
    that any method adds to it does."""
    heap = start.state.heap
    empty = {
        name: value.data
        for name, value in heap[this.data].entries.items()
        if value.kind is Kind.LIST and value.data in heap and heap[value.data].is_empty
    }
    silent = replace(start, recording=False)
    added: dict[str, list[Value]] = {}
    for method in info.methods.values() if empty else ():
        if filled := info.file.scan(method).self_fills & empty.keys():
            ended = run_alone(info.closure_of(method), silent, this).state.heap
            for name in filled:
                found = ended.get(empty[name])
                added.setdefault(name, []).append(NOTHING if found is None else found.elements())
    for name, values in added.items():
        if all(map(_follows, values)):
            told = Step(Sort.ITERATION, info.node, values[0].trace)
            element = Value(Kind.TENSOR, THE_MODULE, origin=Origin.FOLLOWS, trace=told)
            heap[empty[name]] = Object(element=element)


def _follows(value: Value) -> bool:
    return (
        value.kind is Kind.TENSOR
        and value.origin in (Origin.FOLLOWS, Origin.INPUT)
        and isinstance(value.device, Symbol)
    )
