"""Loaders and data sets: where what they yield is."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device, only_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Value
from devlint.flow.effects import collation, pinning, workers
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.scan import MOVES
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import last_name, root_name
from devlint.policy import means
from devlint.torchapi.effects import Row


def loader(frame: Frame, node: ir.Call, row: Row, args: Arguments, kind: Kind) -> Value:
    """A loader yields host tensors, unless its data set or its `collate_fn` may move them."""
    args = _named(args) if row.name == "torch.utils.data.DataLoader" else args
    device: Device = CPU
    for _, value in args.all:
        found = frame.object(value)
        if value.kind in TENSORS and frame.place(value) != CPU:
            device = frame.place(value)
        elif value.kind is Kind.UNKNOWN and row.tensors:
            device = UNKNOWN
        elif value.kind is Kind.DATASET and found is not None and found.device != CPU:
            device = found.device
        elif isinstance(value.data, Closure) and _closure_moves(value.data):
            device = UNKNOWN
        elif (info := frame.class_of(value)) is not None:
            held = (each for each in contents(frame, value, 2) if each.kind in TENSORS)
            away = _class_moves(info) or not all(only_host(frame.place(each)) for each in held)
            device = UNKNOWN if away else device
    collate = args.keyword("collate_fn")
    collating = None if collate is None else collation.called(frame, collate[1])
    unseen = collate is not None and collating is None and collate[1].kind not in _COLLATE
    if unseen or (collating is not None and _moves_samples(frame, collating)):
        device = UNKNOWN
    parts: dict[str, Value] = {}
    if kind is Kind.DATASET and row.tensors and not args.unpacked:
        tensors = Object(items=tuple(value for _, value in args.all))
        parts = {"tensors": Value(Kind.TUPLE, data=frame.allocate((node, "tensors"), tensors))}
    elif kind is Kind.LOADER and (of := args.find((0, "dataset"))) is not None:
        parts = {"dataset": of[1]}
    told = Step(Sort.HOST_LOADER if kind is Kind.LOADER else Sort.HOST_DATA_SET, node)
    yields = kind is Kind.LOADER and device == CPU
    batch = collation.batch_of(frame, node, args, collating, told) if yields else NOTHING
    made = Object(device=device, entries=parts, element=batch, source=row.name, trace=told)
    if kind is Kind.LOADER:
        pinning.argument(frame, node, args, device)
        workers.note_loader(frame, node, args)
    return Value(kind, data=frame.allocate(node, made), trace=told)


def _named(args: Arguments) -> Arguments:
    """The arguments of a `DataLoader`, of which the sixth to the eighth have their names."""
    by_position = args.all[5 : len(args.positional())]
    named = zip(by_position, ("num_workers", "collate_fn", "pin_memory"), strict=False)
    given = tuple((ir.Argument(each.value, name), value) for (each, value), name in named)
    return Arguments((*args.all[:5], *given, *args.all[5 + len(given) :]))


_COLLATE = (Kind.FUNCTION, Kind.NONE, Kind.LIBRARY)


def _moves_samples(frame: Frame, collating: collation.Collate) -> bool:
    """Whether what puts samples together may move them, or make them elsewhere."""
    owners = filter(None, map(frame.class_of, collating.before))
    return _closure_moves(collating.function) or any(map(_class_moves, owners))


def _closure_moves(closure: Closure) -> bool:
    """Whether a function of the file has a move in it, or names a device in a call."""
    own = {parameter.name for parameter in closure.node.params[closure.owner is not None :]}
    scan = closure.file.scan(closure.node)
    own |= {*scan.assigned}
    moves = scan.moved or scan.self_moves
    return bool(moves) or any(_moves(node, own) for node in nodes_of(closure.node.body))


def _moves(node: ir.Node, own: set[str]) -> bool:
    """Whether a node is a call that moves, or that is given a device."""
    match node:
        case ir.Call(func=ir.Attribute(attr=attr)) if attr in MOVES:
            return True
        case ir.Call(args=args):
            return any(_names_device(argument, own) for argument in args)
    return False


def _names_device(argument: ir.Argument, own: set[str]) -> bool:
    """Whether an argument is a device, and not the one on which something of the function's own is:
    `device=device`, `self.device`, but not `device=rows[0].device`."""
    value = argument.value
    if argument.keyword != "device" and not means("device", last_name(value), "variable"):
        return False
    of_own = isinstance(value, ir.Attribute) and root_name(value) in own
    return not of_own or last_name(value) != "device"


def _class_moves(info: ClassInfo) -> bool:
    """Whether a data set of the file moves, or makes its items on a device it was given."""
    return any(
        _closure_moves(each.closure_of(method))
        or any(means("device", p.name, "parameter") for p in method.params)
        for each, method in info.all_methods()
    )
