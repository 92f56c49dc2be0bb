"""Calls of a library: what the table says of the name."""

from __future__ import annotations

from devlint.flow.calls import applied, fields
from devlint.flow.conditions.implications import truth
from devlint.flow.domain.keys import CUDA_USED
from devlint.flow.domain.lattice import CPU
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, Value
from devlint.flow.effects import frameworks, moves, saved, transfer, workers
from devlint.flow.facts import ApiCall
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.fields import NAMESPACES
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import EXITS
from devlint.flow.modules import wrapping
from devlint.flow.operations import arrivals
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.torchapi.effects import Effect, Row


def call_library(frame: Frame, node: ir.Call, name: str, args: Arguments) -> Value:
    """Call a dotted name."""
    row = frame.world.table.get(name)
    told = frame.tells and _is_told(name, row) and not _is_of_default_type(frame, name)
    if told and not saved.is_own(frame, node, name):
        _tell_call(frame, node, name, args, row is not None and row.cuda)
    arrivals.of_library(frame, name, row)
    workers.note_call(frame, node, name)
    if name.endswith(".is_available"):
        return truth(frame, node, NOTHING)
    if name == "builtins.map":
        return applied.mapped(frame, node, args)
    if name == "functools.reduce":
        return applied.reduced(frame, node, args)
    if name == "torch.utils.checkpoint.checkpoint":
        return applied.checkpointed(frame, node, args)
    if name in applied.EXAMPLES:
        applied.run_on_example(frame, node, args, applied.EXAMPLES[name])
    if name == "functools.partial":
        return applied.partial(args)
    if name in NAMESPACES:
        return fields.namespace(frame, node, name, args)
    if name == "collections.namedtuple":
        return fields.named_tuple(frame, node, args)
    if name in fields.COPIES and args.positional():
        return fields.replaced(frame, node, args.positional()[0][1], args)
    if name in EXITS:
        return NONE.but(trait=Trait.EXITS)
    if row is None:
        own = name.startswith(("torch.", "builtins."))  # they change nothing that they are given
        return NOTHING if own else wrapping.of_unseen(frame, node, node.func, args)
    if row.cuda:
        frame.state.known[CUDA_USED] = True
    if row.managed and row.effect is not Effect.CONSTRUCT:
        for _, value in args.all:
            frameworks.prepared(frame, node, value)
    if args.receiver is None and _is_method(name, row):
        # `torch.Tensor.x(t)`: the first argument is the receiver.
        first = args.find((0,))
        if first is not None:  # what a `partial` holds stands before it
            at = next(i for i, (each, _) in enumerate(args.all) if each.value is first[0])
            args = Arguments((*args.all[:at], *args.all[at + 1 :]), first)
        if first is not None and row.effect in (Effect.MOVE, Effect.MOVE_IN_PLACE):
            with frame.silently():  # findings and fixes are about `t.x()`
                return moves.move(frame, node, name.rpartition(".")[2], *first, args)
    return transfer.apply(frame, node, row, args)


def _is_method(name: str, row: Row) -> bool:
    """Whether a dotted name is that of a method, which takes its receiver first."""
    bound = row.effect is Effect.KEEP and row.of == ("self",)
    return bound or name.startswith(("torch.Tensor.", "torch.nn.Module."))


_TOLD_AS_MEETINGS = (
    Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.READ, Effect.READ_ON_HOST, Effect.CREATE_LIKE,
    Effect.HOST_ONLY,
)  # fmt: skip


def _is_told(name: str, row: Row | None) -> bool:
    """Whether rules hear of a call by its name: not of Python's own functions, nor of operations
    on tensors, which they hear of as meetings."""
    if row is None:
        return name.startswith("torch")
    return row.effect not in _TOLD_AS_MEETINGS and not name.startswith("builtins.")


def _is_of_default_type(frame: Frame, name: str) -> bool:
    """`torch.Tensor`, where the default type may be one of an accelerator: it makes tensors there,
    and takes that device."""
    return name == "torch.Tensor" and frame.state.default != CPU


def _tell_call(frame: Frame, node: ir.Call, name: str, args: Arguments, needs_cuda: bool) -> None:
    frame.record(
        ApiCall(
            node,
            frame.context(),
            frame.world.table.canonical(name),
            tuple(frame.operand(*given) for given in args.positional()),
            tuple((key, frame.operand(*given)) for key, given in args.keywords().items()),
            args.unpacked,
            frame.discarded is node,
            needs_cuda,
            frame.default_of,
            _set_later(frame, name) if frame.default_of else None,
        )
    )


_ASKS = frozenset(("torch.cuda.is_available", "torch.cuda.device_count"))
_VARIABLE = "CUDA_VISIBLE_DEVICES"


def _set_later(frame: Frame, name: str) -> ir.Assign | None:
    """Where a function of the file sets the variable that CUDA reads once, when it is first asked;
    None where nothing is asked, or no function sets it."""
    if name not in _ASKS:
        return None
    functions = (s for s in frame.file.body if isinstance(s, ir.Function))
    nodes = (node for function in functions for node in nodes_of(function.body))
    return next((n for n in nodes if isinstance(n, ir.Assign) and _sets(n)), None)


def _sets(statement: ir.Assign) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"] = ...`."""
    match statement.targets:
        case (ir.Subscript(value=base, index=ir.Constant(value=key)),):
            return key == _VARIABLE and last_name(base) == "environ"
    return False
