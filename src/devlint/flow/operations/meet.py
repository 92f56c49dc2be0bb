"""Where tensors meet: one operation, one index, one module call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from devlint.flow.domain.differences import difference
from devlint.flow.domain.keys import CUDA_AVAILABLE, HOST_CHOSEN
from devlint.flow.domain.lattice import (
    CPU,
    UNKNOWN,
    Device,
    Symbol,
    completed,
    leaves,
    left_out,
    names_accelerator,
    off_host,
    only_host,
)
from devlint.flow.domain.traits import ELEMENTS, Trait
from devlint.flow.domain.values import (
    MADE,
    NOTHING,
    SHAPED,
    TENSORS,
    Kind,
    Origin,
    Value,
    as_tensor,
    is_number,
)
from devlint.flow.facts import Indexing, Join, ModuleCall, Operand, Role, StrayPart
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.contents import flatten
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.near import with_near
from devlint.flow.frames.noted import note_beside_host
from devlint.flow.frames.protocols import sets_up_again
from devlint.flow.frames.record import Meeting
from devlint.flow.modules.placement import is_registered
from devlint.flow.modules.stale import note_meeting
from devlint.flow.operations import batches, coverage
from devlint.flow.operations.agreed import differ, note_met
from devlint.flow.operations.dimensions import grown
from devlint.flow.operations.lookups import may_index
from devlint.model import ir


def is_free(frame: Frame, value: Value) -> bool:
    """Whether a tensor may be a 0-dimensional one on the host, which may meet any device."""
    may_be = value.origin not in SHAPED if value.scalar is None else value.scalar
    return may_be and only_host(left_out(frame.place(value)))


def meet(
    frame: Frame,
    node: ir.Expr | ir.Stmt,
    op: str,
    arguments: list[Given],
    *,
    free_scalars: bool = True,
    inplace: bool = False,
) -> Value:
    """One operation takes these values: the fact where two of them differ, and the result.

    What is written into (`inplace`: the first) must be where the result is, 0-dimensional or not.
    """
    arguments = grown(frame, arguments)
    note_operands(frame, node, op, arguments)
    if not any(value.kind in TENSORS for _, value in arguments):
        return NOTHING
    perhaps = any(value.trait is Trait.PERHAPS for _, value in arguments)
    if perhaps:
        arguments = [(n, as_tensor(v) if v.trait is Trait.PERHAPS else v) for n, v in arguments]
    tensors = [pair for pair in arguments if pair[1].kind in TENSORS]
    placed = []
    for expression, value in tensors:
        batches.note_tensor(frame, expression, value)
        device = frame.place(value)
        written = inplace and expression is arguments[0][0]
        if device == UNKNOWN or (free_scalars and not written and is_free(frame, value)):
            continue
        if not free_scalars and value.scalar is None and value.origin is Origin.NONE:
            continue
        if free_scalars and not written and is_number(value) and value.origin not in SHAPED:
            value = value.but(device=off_host(device))
        placed.append(frame.operand(expression, value))
    differing = any(differ(frame, *pair) for pair in combinations(placed, 2))
    note_meeting(frame, placed, node)
    _note_unproven(frame, tensors, node)
    note_beside_host(frame, arguments)
    if differing and not on_host(frame, placed) and not sets_up_again(frame):
        note_kept(frame, placed, node)
        frame.record(Join(node, frame.context(), op, with_near(frame, placed), inplace))
        note_met(frame, placed)
    found = _result(frame, arguments, placed)
    unseen = any(value.kind is Kind.UNKNOWN for _, value in arguments)
    if frame.state.busy is None and names_accelerator(found.device) and not unseen:
        frame.state.busy = node  # an object of another library may compute this, and wait
    if perhaps:  # one operand decides only where it is a tensor at all
        device = UNKNOWN if only_host(found.device) else found.device
        found = found.but(device=device, scalar=None)
    return found


def on_host(frame: Frame, operands: Iterable[Operand]) -> bool:
    """Whether all of them are there since nobody has asked for an accelerator: the flag for that
    doesn't hold here, or CUDA is absent, and none is named."""
    known = frame.state.known
    host = known.get(HOST_CHOSEN) or known.get(CUDA_AVAILABLE) is False
    return host and not any(names_accelerator(each.device) for each in operands)


def note_operands(frame: Frame, node: ir.Node, op: str, arguments: list[Given]) -> None:
    """Count what meets, and write it down for whoever asks about its line."""
    if frame.notes:
        coverage.count(frame, node, arguments)
    record = frame.world.record
    if record is not None and frame.recording and record.covers(node):
        operands = tuple(frame.operand(*each) for each in arguments)
        record.meet(Meeting(node, op, operands, frame.site))


def _result(frame: Frame, arguments: list[Given], placed: list[Operand]) -> Value:
    """Where operands differ, the result is where the fix puts it: on the accelerator."""
    tensors = [value for _, value in arguments if value.kind in TENSORS]
    unknown = any(value.kind is Kind.UNKNOWN for _, value in arguments)
    unknown = unknown or any(frame.place(value) == UNKNOWN for value in tensors)
    lead = _lead(placed)
    device = _device_of_result(frame, tensors, lead, unknown)
    scalars = [value.scalar for value in tensors]
    scalar = False if False in scalars else (True if all(scalars) and not unknown else None)
    traits = {value.trait for value in tensors if not value.scalar}
    element = (
        Trait.FIRST if traits == {Trait.FIRST} else Trait.ELEMENT if traits <= ELEMENTS else None
    )
    if Trait.ROWS in traits:
        element = Trait.ROWS
    source = lead.value if lead is not None else tensors[0]
    return Value(
        Kind.TENSOR,
        device,
        source.data if source.origin is Origin.STALE or _kept_by(source) else None,
        origin=source.origin if source.origin is not Origin.ATTRIBUTE else Origin.DEFAULT,
        scalar=scalar,
        grad=any(value.grad for value in tensors),
        trait=Trait.GUARDED if lead is not None and lead.guarded else element,
        trace=source.trace,
    )


def _lead(placed: list[Operand]) -> Operand | None:
    """The operand that decides where the result is: a place that follows the model before a
    named accelerator, that before the host; what is known wherever it is before what isn't; what is
    there on purpose before what was made there."""

    def order(operand: Operand) -> tuple[int, bool, bool, bool]:
        device = operand.device
        rank = 0 if isinstance(device, Symbol) else 2 if only_host(device) else 1
        is_made = device == CPU and operand.origin in MADE
        return rank, UNKNOWN in leaves(device), is_made, _is_loose(operand)

    return min(placed, key=order, default=None)


def _is_loose(operand: Operand) -> bool:
    """Whether it may have no dimension, on a device that a module has stored: where that was left
    out, it is on the host, and others decide."""
    return operand.origin is Origin.STALE and operand.value.scalar is not False


def _device_of_result(
    frame: Frame, tensors: list[Value], lead: Operand | None, unknown: bool
) -> Device:
    if lead is None:
        return UNKNOWN if unknown else frame.place(tensors[0])
    part = frame.file.parts.get(frame.name) is frame.function  # it stands in for its caller
    if frame.caller is not None and not part and only_host(lead.device):
        given = (value for value in tensors if value.origin is Origin.INPUT)
        if any(frame.place(value) == UNKNOWN for value in given):
            return UNKNOWN  # this call doesn't tell where its argument is
    return lead.device  # what isn't known is either a number, or where the others are


def index(frame: Frame, node: ir.Expr, base: Given, indices: list[Given]) -> None:
    """`base[indices]`: a fact for each tensor index on another device."""
    if any(value.kind in TENSORS for _, value in indices):
        note_operands(frame, node, "[]", [base, *indices])
    for expression, value in indices:
        if value.kind not in TENSORS or base[1].kind not in TENSORS or is_number(value):
            continue
        owner, inner = frame.operand(*base), frame.operand(expression, value)
        if owner.origin is Origin.STALE:
            note_meeting(frame, (owner, inner), node)
        differing = difference(owner.device, inner.device) is not None
        if not differing or may_index(frame, owner, inner) or on_host(frame, (owner, inner)):
            continue
        if only_host(owner.device) and base[1].origin is Origin.ATTRIBUTE:
            note_kept(frame, [owner, inner], node)
        frame.record(Indexing(node, frame.context(), *with_near(frame, (owner, inner))))


def call_module(frame: Frame, node: ir.Call, module: Given, inputs: list[Given]) -> Device:
    """A module on a known device is called: the fact where an input is on another one.

    Returns where the result is: where a module that was left behind should be.
    """
    note_operands(frame, node, f"call of {ir.render(module[0])}", [module, *inputs])
    caller = frame.operand(*module)
    if caller.device == UNKNOWN:
        return UNKNOWN
    found = frame.object(module[1])
    if module[1].data in frame.world.filled_by_hand:
        return UNKNOWN
    library_class = "" if found is None else found.library_class
    takes_arrays = library_class.startswith(("torch.nn.", "torchvision."))
    given = []
    for expression, value in (each for given in inputs for each in flatten(frame, *given)):
        if value.kind not in (*TENSORS, Kind.ENCODING) or value.scalar is True:
            continue
        if value.kind in TENSORS and is_free(frame, value) and not takes_arrays:
            continue
        if library_class:  # libraries take tensors
            batches.note_tensor(frame, expression, value)
        among = any(expression is node and value is not inner for node, inner in inputs)
        operand = replace(frame.operand(expression, value), among=among)
        if operand.device != UNKNOWN:
            given.append(operand)
    note_meeting(frame, (caller, *given), node, shaped=takes_arrays)
    strangers = [o for o in given if difference(caller.device, o.device) is not None]
    if strangers and not on_host(frame, (caller, *given)):
        note_kept(frame, [caller, *given], node)
        holder = _holder(frame, caller) if only_host(caller.device) else None
        frame.record(ModuleCall(node, frame.context(), caller, with_near(frame, given), holder))
    if strangers or not given:
        return strangers[0].device if strangers and only_host(caller.device) else caller.device
    return completed(caller.device, given[0].device)


def _holder(frame: Frame, caller: Operand) -> Operand | None:
    """The module whose method calls one of its parts, as the code outside of it has called it."""
    found = None
    while frame.caller is not None and frame.function is not None and frame.function.params:
        this, call = frame.state.env.get(frame.function.params[0].name), frame.site[-1]
        if this is None or this.kind is not Kind.MODULE or frame.place(this) != caller.device:
            break
        if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attribute):
            break
        found = frame.caller.operand(call.func.value, this)
        frame = frame.caller
    return found


def call_parts(frame: Frame, node: ir.Call, module: Given) -> None:
    """A module is called that was moved: the fact where a part was put in later and stayed."""
    if module[1].kind is not Kind.MODULE or module[1].trait is Trait.SELF:
        return
    caller = frame.operand(*module)
    if caller.origin is not Origin.MOVED or caller.guarded or caller.device == UNKNOWN:
        return
    if difference(caller.device, CPU) is not None:
        for name, part, inside in _stray_parts(frame, node, module[1], _DEEPEST_PART):
            frame.record(StrayPart(node, frame.context(), caller, name, part, inside))


_DEEPEST_PART = 3


def _stray_parts(
    frame: Frame, node: ir.Call, module: Value, depth: int
) -> Iterator[tuple[str, Operand, str]]:
    """The parts of a module that were made on the CPU and are there, by their names: modules,
    parameters and buffers. One that was given others, which are elsewhere, has a part of its own
    there, which comes last."""
    found = frame.object(module)
    for name, held in found.entries.items() if found is not None and depth else ():
        inner = frame.object(held) if held.kind is Kind.MODULE else None
        is_placed = is_registered(held) and not is_free(frame, held)
        if not is_placed and (inner is None or inner.stateless):
            continue
        part = frame.operand(node, held)
        if part.origin in MADE and only_host(part.device):
            yield name, part, ""
            continue
        for rest, own, inside in _stray_parts(frame, node, held, depth - 1):
            made_by = held.data[0] if isinstance(held.data, tuple) else None
            is_mixed = part.device == UNKNOWN and not part.is_moved
            if is_mixed and frame.class_of(held) is not None and isinstance(made_by, ir.Call):
                yield name, replace(own, node=made_by), rest
                break
            yield f"{name}.{rest}".strip("."), own, inside


def _note_unproven(frame: Frame, tensors: list[Given], node: ir.Node) -> None:
    """In `forward`, what a tensor meets is where the module is, also where that isn't proved."""
    if not frame.qualname.endswith(".forward") or frame.role is not Role.MODULE:
        return
    unproved = (value.kind is Kind.TENSOR and frame.place(value) == UNKNOWN for _, value in tensors)
    if not frame.notes or not any(unproved):
        return
    for expression, value in tensors:
        owner = _kept_by(value) if value.origin is Origin.ATTRIBUTE else None
        if owner is not None and value.scalar is False and only_host(frame.place(value)):
            words = f"`{ir.render(expression)}` meets a tensor of `forward` here"
            frame.world.classes.kept.setdefault(owner, []).append((node, words))


def _kept_by(value: Value) -> tuple[ClassInfo, str] | None:
    """The class and the name of the plain attribute that a tensor is, or is computed from."""
    made_here = value.origin in (Origin.ATTRIBUTE, Origin.DEFAULT)
    match value.data:
        case (ClassInfo() as info, str(name)) if made_here and value.kind is Kind.TENSOR:
            return info, name
    return None


def note_kept(frame: Frame, operands: list[Operand], node: ir.Node) -> None:
    """Remember where a tensor kept as a plain attribute met something that follows the module."""
    for operand in operands:
        owner = _kept_by(operand.value)
        if owner is None:
            continue
        others = [o for o in operands if difference(o.device, operand.device) is not None]
        if others and frame.is_heard:
            words = f"`{operand}` is on {operand.device}, `{others[0]}` on {others[0].device}"
            frame.world.classes.kept.setdefault(owner, []).append((node, words))
