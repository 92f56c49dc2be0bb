"""Copies to the host that may still be on their way: `x.to("cpu", non_blocking=True)`.

Such a copy is only begun when the call returns. The state remembers of each one that was begun
whether it may still be under way; whatever waits for the accelerator, or may do so for all that is
known, ends them all. What reads the values of one before that is a fact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from devlint.flow.domain.derivation import Sort, Step, steps
from devlint.flow.domain.lattice import Device, Known, may_be_accelerator, names_accelerator
from devlint.flow.domain.state import MASKED, WAITED
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Copy, Kind, Origin, Value
from devlint.flow.facts import EarlyClock, EarlyRead, LoopRead
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.contents import flatten
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import first_row, nodes_of
from devlint.model import ir
from devlint.torchapi.effects import Effect, Row


def begin(frame: Frame, call: ir.Call, value: Value, args: Arguments) -> Copy | None:
    """A copy of `value` to the host is begun; None where the program waits for it, or where it
    is on the host already."""
    for argument, given in args.all:
        if argument.keyword == "non_blocking" and given.data is True:
            if _is_host(frame, value) or value.kind not in (*TENSORS, Kind.UNKNOWN):
                return None
            if call in frame.state.copies:
                _forget_earlier(frame, call)
            frame.state.copies = {**frame.state.copies, call: True}
            return Copy(call, argument)
    return None


def send(frame: Frame, value: Value, args: Arguments) -> None:
    """Something is moved to an accelerator: a copy from the host that isn't told not to wait comes
    behind all work so far, and the host waits for it."""
    if not args.asks("non_blocking") and not names_accelerator(frame.place(value)):
        frame.state.wait()


def _forget_earlier(frame: Frame, call: ir.Call) -> None:
    """In a loop: the names that hold the copy of an earlier round. That may have arrived."""
    env = frame.state.env
    for name, value in list(env.items()):
        if isinstance(value.data, Copy) and value.data.call is call:
            env[name] = value.but(data=None)


def watches(frame: Frame) -> bool:
    """Whether it matters that something waits."""
    return bool(frame.state.copies) or frame.state.busy != WAITED


def wait_for(frame: Frame, value: Value) -> None:
    """The host looks at a tensor: where that is on an accelerator, it waits for it."""
    if watches(frame) and value.kind in (*TENSORS, Kind.UNKNOWN) and not _is_host(frame, value):
        frame.state.wait()


def by_index(frame: Frame, base: Value, parts: Iterable[Given]) -> None:
    """`base[index]`: a mask has to say first how many elements it picks, and a list, an array or a
    tensor of the host is copied behind all work so far. What a tensor has in it isn't known."""
    if not watches(frame) or not any(_may_be_mask(base, *part) for part in parts):
        return
    begun = frame.state.busy
    wait_for(frame, base)
    if frame.state.busy != begun and not _goes_backward(begun):
        frame.state.busy = None if begun is None else MASKED


def _goes_backward(work: Hashable) -> bool:
    """`loss.backward()`: of a loop in which an index waits for that of the round before, only the
    last one isn't waited for."""
    func = work.func if isinstance(work, ir.Call) else None
    return isinstance(func, ir.Attribute) and func.attr == "backward"


def _may_be_mask(base: Value, node: ir.Expr, index: Value) -> bool:
    """Whether an index may be a tensor, or made into one."""
    if index.kind is Kind.UNKNOWN and base.kind in TENSORS:
        return index.trait is not Trait.SLICE and not isinstance(node, ir.Constant)
    return index.kind in (*TENSORS, Kind.LIST, Kind.NDARRAY)


def _is_host(frame: Frame, value: Value) -> bool:
    device = frame.place(value)
    return isinstance(device, Known) and device.type in ("cpu", "meta")


def read(frame: Frame, node: ir.Node, *given: Given) -> None:
    """Something at `node` reads the values of these. A copy that may not have arrived is told of
    once."""
    for expression, value in given if frame.state.copies else ():
        copy = value.data
        if isinstance(copy, Copy) and frame.state.copies.get(copy.call):
            operand = frame.operand(expression, value)
            frame.record(EarlyRead(node, frame.context(), operand, copy.call, copy.argument))
            frame.state.copies = {**frame.state.copies, copy.call: False}


# --- calls that rows describe --------------------------------------------------------------

_VIEWS = frozenset(
    "as_strided chunk detach detach_ diagonal expand expand_as flatten hsplit movedim narrow "
    "permute pin_memory ravel requires_grad_ reshape select split squeeze squeeze_ swapaxes "
    "swapdims t tensor_split transpose unbind unflatten unfold unsqueeze unsqueeze_ view view_as "
    "vsplit broadcast_to Parameter Buffer copy_ type".split()
)
"""What looks at no values: other shapes of the same memory, and copies in the order of the stream.
`reshape`, `flatten` and `ravel` may copy; that is let go."""
_CASTS = frozenset(f"torch.Tensor.{name}" for name in ("bfloat16", "double", "float", "half"))
"""What gives a tensor itself where it has the dtype already."""

_READING = (Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.READ)
_ALSO_READING = frozenset(
    ("builtins.print", "builtins.str", "builtins.repr", "builtins.format", "torch.save")
)
_SHARING = (Effect.READ_ON_HOST, Effect.HOST_ONLY)
_WRAPPING = frozenset(("torch.Tensor.numpy", "torch.Tensor.__array__", "numpy.asarray"))
"""What only makes an array of the same memory: who looks into that may wait before."""
OF_ARRAYS = frozenset(
    "all any argmax argmin argsort astype clip copy cumsum dot item max mean min nonzero prod "
    "round std sum tobytes tolist var".split()
)
"""Methods of arrays that look at the values, which may be those of a copy."""
_DECIDING = frozenset(
    "nonzero argwhere masked_select unique unique_consecutive equal allclose is_nonzero bincount "
    "repeat_interleave".split()
)
"""Functions of tensors that can't go on without the values."""


def of_row(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> None:
    """A call that a row describes, where it matters: what it reads, what it waits for."""
    name = row.name.rpartition(".")[2]
    if name == "synchronize":
        frame.state.wait()
        return
    if name == "backward" and frame.state.busy == MASKED:
        frame.state.busy = None  # it takes as long as all that the mask has waited for
    if _reads(frame, row):
        for each in args.given:
            read(frame, node, *((each[0], value) for _, value in flatten(frame, *each)))
    if row.effect is Effect.READ or row.name in _ALSO_READING or name in _DECIDING:
        for _, value in args.given:
            wait_for(frame, value)


def into_pinned(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> None:
    """`pinned.copy_(x, non_blocking=True)` begins a copy, where the name holds pinned memory."""
    source = args.find((0, "src"))
    if row.name != "torch.Tensor.copy_" or args.receiver is None or source is None:
        return
    target, held = args.receiver
    if held.trait is Trait.PINNED and isinstance(target, ir.Name):
        copy = begin(frame, node, source[1], args)
        frame.state.bind(target.id, held.but(data=copy))


def _reads(frame: Frame, row: Row) -> bool:
    if row.name in _ALSO_READING:
        return True
    if row.name in _WRAPPING:
        return False
    if row.effect in _SHARING:
        return not _waits_somewhere(frame)
    return row.effect in _READING and not looks_at_no_values(row)


def looks_at_no_values(row: Row) -> bool:
    """Whether what it gives may be the same memory."""
    return row.name in _CASTS or row.name.rpartition(".")[2] in _VIEWS


def _waits_somewhere(frame: Frame) -> bool:
    """Whether the function waits for the accelerator anywhere: an array shares the memory of its
    tensor, so that its values may be looked at only after that."""
    body = (frame.function or frame.file).body
    return _waits(s for s in body if not isinstance(s, (ir.Function, ir.Class)))


def _waits(body: Iterable[ir.Node]) -> bool:
    return any(isinstance(each, ir.Attribute) and each.attr in _WAITING for each in nodes_of(body))


_WAITING = frozenset(("synchronize", "query", "wait", "wait_stream", "wait_event", "cpu", "item"))


# --- other calls ---------------------------------------------------------------------------

_QUIET = ("builtins", "numpy", "math", "time", "os", "logging", "random", "json", "tqdm", "sys")
"""Libraries that wait for no accelerator."""


def of_library(frame: Frame, name: str, row: Row | None) -> None:
    """A library's function is called: what isn't known may wait."""
    if row is None and name.partition(".")[0] not in _QUIET:
        frame.state.wait()


# --- work ----------------------------------------------------------------------------------


def work(frame: Frame, node: ir.Node, device: Device) -> None:
    """Something is given to an accelerator to do."""
    if frame.state.busy is None and names_accelerator(device):
        frame.state.busy = node


def clock(frame: Frame, node: ir.Call) -> Value:
    """The clock is read. Its value is noted where work may still be going on then."""
    begun, frame.state.busy = frame.state.busy, None
    if isinstance(begun, ir.Node):
        told = Step(Sort.EARLY_CLOCK, node, Step(Sort.WORK, begun))
        return Value(Kind.NUMBER, trait=Trait.EARLY_CLOCK, trace=told)
    return Value(Kind.NUMBER, trait=Trait.CLOCK, trace=Step(Sort.CLOCK, node))


def subtract(frame: Frame, node: ir.Expr | ir.Stmt, left: Value, right: Value) -> None:
    """`time.time() - start`: the fact where work goes on when the clock is read."""
    if left.trait is not Trait.EARLY_CLOCK or right.trait not in (Trait.CLOCK, Trait.EARLY_CLOCK):
        return
    if left.trace is not None and left.trace.before is not None:
        if _spans_rounds(frame, left.trace.node, right.trace):
            return
        work = left.trace.before.node
        frame.record(EarlyClock(node, frame.context(), left.trace.node, work))


def _spans_rounds(frame: Frame, end: ir.Node, start: Step | None) -> bool:
    """Whether a duration that ends in a loop began in an earlier round, or before the loop, and
    each round waits somewhere: what is still queued at the end was so at the beginning, or is a
    part of one round."""
    loops = (
        each
        for each in nodes_of(frame.body or frame.file.body)
        if isinstance(each, (ir.For, ir.While))
    )
    around = [each for each in loops if any(node is end for node in nodes_of(each.body))]
    loop = max(around, key=first_row, default=None)
    if loop is None or not _waits(loop.body):
        return False
    inside = {each for each in nodes_of(loop.body) if first_row(each) < first_row(end)}
    return not any(step.node in inside for step in steps(start))


# --- loops ---------------------------------------------------------------------------------


def in_loop(frame: Frame, node: ir.Node, method: str, given: Given) -> None:
    """Something brings a tensor to the host: a fact where a training loop does so in each round."""
    if frame.loop is None or not frame.tells or given[1].kind not in TENSORS:
        return
    operand = frame.operand(*given)
    placed = given[1].origin in (Origin.MOVED, Origin.FOLLOWS)
    if not placed or not may_be_accelerator(operand.device) or not _trains(frame.loop):
        return
    frame.record(LoopRead(node, frame.context(), operand, method, frame.loop))


def _trains(loop: ir.For | ir.While) -> bool:
    """Whether a loop is the innermost one that goes backward, and neither waits on purpose in each
    round nor goes over what is written out, as comparisons do."""
    if isinstance(loop, ir.For) and isinstance(loop.iter, ir.Display):
        return False
    if any(map(_synchronizes, loop.body)):
        return False
    nodes = list(nodes_of(loop.body))
    return not any(isinstance(node, (ir.For, ir.While)) for node in nodes) and any(
        isinstance(node, ir.Attribute) and node.attr == "backward" for node in nodes
    )


def _synchronizes(statement: ir.Stmt) -> bool:
    """`torch.cuda.synchronize()`"""
    match statement:
        case ir.Evaluate(value=ir.Call(func=ir.Attribute(attr="synchronize"))):
            return True
    return False
