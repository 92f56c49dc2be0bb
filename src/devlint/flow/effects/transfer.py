"""What each effect of a row does to values: one function for each effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step, moved
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, Known
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NOTHING, TENSORS, Copy, Kind, Origin, Value, as_loaded
from devlint.flow.effects import overlays
from devlint.flow.effects.creation import create, create_like, tensor_like
from devlint.flow.effects.draws import draw
from devlint.flow.effects.host import note_listed, read_cpu_only, tell_inside, tell_read
from devlint.flow.effects.keeping import keep
from devlint.flow.effects.loaders import loader
from devlint.flow.effects.model_overlays import module
from devlint.flow.effects.use import (
    Use,
    arguments_of,
    device_argument,
    operands,
    parts,
    plain,
    result_kind,
)
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import flatten
from devlint.flow.frames.frame import Frame
from devlint.flow.modules import optimizers, wrapping
from devlint.flow.operations import arrivals, meet
from devlint.flow.operations.containers import extend_module
from devlint.flow.operations.dimensions import dimensions
from devlint.model import ir
from devlint.torchapi.effects import Dims, Effect, Row


def named(frame: Frame, node: ir.Call, name: str, args: Arguments) -> Value:
    """The value of a call of what a dotted name stands for; NOTHING where no row describes it."""
    row = frame.world.table.get(name)
    return NOTHING if row is None else apply(frame, node, row, args)


def apply(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """The value of a call that a row describes."""
    use = Use(frame, node, row, args)
    if frame.loop is not None and (row.effect is Effect.READ or row.name == "builtins.print"):
        for each in args.given:
            arrivals.in_loop(frame, node, row.name.rpartition(".")[2], each)
    if arrivals.watches(frame):
        arrivals.of_row(frame, node, row, args)
    if args.receiver is not None and args.receiver[1].trait is Trait.PINNED:
        arrivals.into_pinned(frame, node, row, args)
    if row.cpu_only:
        read_cpu_only(use)
    value = _written(use, _EFFECTS[row.effect](use))
    return draw(use, value) if row.generator else value


_ARRAY_OR_TENSOR = Value(Kind.UNKNOWN, trait=Trait.TENSOR_OR)
"""What libraries give that compute with arrays as well: these have no `.to`."""
_COMPUTE = frozenset((Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.OVERLAY))


def _written(use: Use, value: Value) -> Value:
    """What a call gives that computes `value`: the tensor that it is given to write into, if it is
    (`torch.add(a, b, out=c)`). Each of these has to be where the operands are, also if it has no
    dimensions."""
    given = use.args.keyword("out")
    if given is None or use.row.effect not in _COMPUTE or not use.row.name.startswith("torch."):
        return value
    frame = use.frame
    inputs = [
        each
        for argument, taken in use.args.all
        if argument.keyword != "out"
        for each in flatten(frame, argument.value, taken)
        if each[1].kind in TENSORS and frame.place(each[1]) != UNKNOWN
    ]
    for out in flatten(frame, *given) if inputs else ():
        if out[1].kind in TENSORS:
            meet.meet(frame, use.node, use.row.name, [out, inputs[0]], inplace=True)
    return given[1] if given[1].kind in TENSORS else value


_ARRAYS = (Kind.NDARRAY, Kind.NUMBER, Kind.BOOL, Kind.LIST, Kind.TUPLE)


def _array(use: Use) -> Value:
    """As `use.plain`; of an array it may be known whether it is 0-dimensional."""
    value = plain(use.row)
    if value.kind is not Kind.NDARRAY:
        return value
    if use.row.wraps and not all(given.kind in _ARRAYS for _, given in use.args.all):
        return NOTHING
    array = NOTHING if use.args.receiver is None else use.args.receiver[1]
    return value.but(scalar=dimensions(use.args, use.row, array), data=array.data)


def _move(use: Use) -> Value:
    """A function that moves: methods come through `moves` instead."""
    of = use.args.find(use.row.of)
    if of is None:
        return NOTHING
    value = of[1]
    device = Known(use.row.to) if use.row.to else device_argument(use, via="to")
    if device is None and use.args.find(use.row.like) is not None:
        device = use.frame.place(tensor_like(use, use.row.like))
    if use.row.managed or device is None:
        return NOTHING
    found = use.frame.object(value)
    told = moved(use.node, device, value.trace)
    if use.row.like:
        told = replace(told, sort=Sort.MOVE_BESIDE)
    if value.kind.is_container and found is not None:
        held = found.mapped(lambda each: _at(each, device, told))
        return Value(value.kind, data=use.frame.allocate(use.node, held))
    return _at(value, device, told)


def _at(value: Value, device: Device, told: Step) -> Value:
    if value.kind in TENSORS:
        return value.but(device=device, origin=Origin.MOVED, trace=told, data=None)
    if value.kind is Kind.UNKNOWN:
        return Value(Kind.PLACED, device, origin=Origin.MOVED, trace=told)
    return value


def _join(use: Use) -> Value:
    row = use.row
    arguments = operands(use, row.operands)
    if not row.or_numbers:  # nothing else than tensors may be given
        arguments = [(node, as_loaded(value)) for node, value in arguments]
    name = row.name.replace("torch.nn.functional.", "F.").replace("torch.Tensor.", "")
    numbers = (value for _, value in arguments if value.kind not in (*TENSORS, Kind.NONE))
    free = row.free_scalars or (row.or_numbers and any(numbers))
    value = meet.meet(use.frame, use.node, name, arguments, free_scalars=free, inplace=row.inplace)
    if row.inplace and arguments and arguments[0][1].kind in TENSORS:
        return arguments[0][1]
    if row.like:
        return _beside(use)
    kind = result_kind(row)
    if not kind.is_tensor_like:
        return plain(row)
    if value is NOTHING:
        return Value(kind) if row.name.startswith("torch.") else _ARRAY_OR_TENSOR
    scalar = dimensions(use.args, row, value)
    value = value.but(kind=kind, scalar=scalar)
    if row.dims is Dims.STACK and all(given.scalar is False for _, given in arguments):
        value = value.but(trait=Trait.ROWS)
    return parts(use, value)


def _beside(use: Use) -> Value:
    """A result that is where other tensors are than those that meet: gradients, or their norm."""
    like = [each.alike() for _, each in operands(use, (use.row.like,)) if each.kind in TENSORS]
    value = join_all(like)
    if value.kind not in TENSORS:
        return NOTHING
    scalar = value.scalar if use.row.dims is Dims.UNKNOWN else dimensions(use.args, use.row)
    return parts(use, value.but(scalar=scalar))


def _index(use: Use) -> Value:
    arguments = [(node, as_loaded(value)) for node, value in operands(use, use.row.operands)]
    if not arguments:
        return NOTHING
    meet.index(use.frame, use.node, arguments[0], arguments[1:])
    base = arguments[0][1]
    return base.but(scalar=dimensions(use.args, use.row, base), data=None)


def _read_on_host(use: Use) -> Value:
    receiver, made = use.args.receiver, plain(use.row)
    if receiver is None:
        return made
    if not use.args.asks("force"):
        tell_read(use.frame, use.node, receiver, use.row.host)
    if result_kind(use.row) is Kind.TENSOR:
        return receiver[1]
    shared = isinstance(receiver[1].data, Copy)
    return made.but(data=receiver[1].data) if shared else made


def _read(use: Use) -> Value:
    if use.row.kind == "list":
        note_listed(use)
    given = use.args.value(use.row.of)
    is_rank = given.trait is Trait.GLOBAL_RANK  # `int(os.environ["RANK"])`
    return given.but(kind=result_kind(use.row)) if is_rank else plain(use.row)


def _host_only(use: Use) -> Value:
    row = use.row
    for node, value in arguments_of(use, row.operands):
        if value.kind in TENSORS and row.inside != "only":
            tell_read(use.frame, use.node, (node, value), "__array__")
        elif value.kind in ((Kind.DICT,) if row.inside == "entries" else (Kind.LIST, Kind.TUPLE)):
            for inner in flatten(use.frame, node, value):
                tell_inside(use, inner, node, Kind.DICT if row.inside == "entries" else Kind.LIST)
    return _array(use)


def _register(use: Use) -> Value:
    receiver, name = use.args.receiver, use.args.find((0, "name"))
    given = use.args.find((1, "tensor", "param", "module", "default"))
    if receiver is None or name is None:
        return plain(use.row)
    kept = NOTHING if given is None else _as_buffer(use, *given)
    found = use.frame.object(receiver[1])
    spelled = isinstance(name[1].data, str)
    if found is not None and (spelled or kept.kind is Kind.MODULE):
        holds = kept.kind is Kind.MODULE or kept.kind.is_container  # the list of a metric's state
        if not holds:
            kept = kept.but(kind=Kind.TENSOR, data=None) if kept.kind in TENSORS else kept
            kept = kept.but(trait=Trait.BUFFER)
        entry = str(name[1].data) if spelled else ir.render(name[0])
        use.frame.update(receiver[1], found.with_entry(entry, kept))
        if kept.kind is Kind.MODULE and found.items is not None:  # of a `Sequential`
            extend_module(use.frame, receiver[1], kept)
    return plain(use.row)


def _as_buffer(use: Use, node: ir.Expr, value: Value) -> Value:
    """What is registered: a buffer is a tensor, whatever it is computed from. What has a name may
    have been left out."""
    is_buffer = use.row.trait == Trait.REGISTERS_BUFFER.value and isinstance(node, _COMPUTED)
    if not is_buffer or value.kind is not Kind.UNKNOWN or value.trait is not None:
        return value
    return Value(Kind.TENSOR, trace=Step(Sort.TENSOR_BY_USE, node))


_COMPUTED = (ir.Binary, ir.Unary, ir.Compare, ir.Subscript, ir.Call)


def _construct(use: Use) -> Value:
    frame, row, kind = use.frame, use.row, result_kind(use.row)
    if row.managed:
        if kind is Kind.MODULE:
            return wrapping.wrap(frame, use.node, row, use.args)
        made = Object(source=row.name, managed=True)
        return Value(kind, data=frame.allocate(use.node, made))
    if kind is Kind.MODULE:
        return module(use)
    if kind is Kind.GENERATOR:
        device = device_argument(use)
        where = CPU if device is None else device
        return Value(kind, where, trace=Step(Sort.GENERATOR, use.node, device=where))
    if kind in (Kind.LOADER, Kind.DATASET):
        return loader(frame, use.node, row, use.args, kind)
    if kind is Kind.TENSOR:
        return create(use)
    if kind is Kind.OPTIMIZER:
        return optimizers.build(frame, use.node, row, use.args)
    if kind is Kind.TOKENIZER:
        return Value(kind, data=frame.allocate(use.node, Object(source=row.name)))
    return plain(row)


def _opaque(use: Use) -> Value:
    name = use.row.name
    if name in ("torch.cuda.set_device", "torch.cuda.device"):
        device_argument(use, via="set_device")
    if not name.startswith("torch."):
        device_argument(use)
    return _array(use)


def _overlay(use: Use) -> Value:
    return overlays.OVERLAYS[use.row.overlay](use.frame, use.node, use.row, use.args)


_EFFECTS: dict[Effect, Callable[[Use], Value]] = {
    Effect.CREATE: create,
    Effect.CREATE_LIKE: create_like,
    Effect.MOVE: _move,
    Effect.MOVE_IN_PLACE: _move,
    Effect.KEEP: keep,
    Effect.JOIN: _join,
    Effect.INDEX: _index,
    Effect.READ: _read,
    Effect.READ_ON_HOST: _read_on_host,
    Effect.HOST_ONLY: _host_only,
    Effect.REGISTER: _register,
    Effect.CONSTRUCT: _construct,
    Effect.OPAQUE: _opaque,
    Effect.OVERLAY: _overlay,
}
