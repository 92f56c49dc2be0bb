"""Calls: of a library's name, of a function or class of the file, of a method, of a module."""

from __future__ import annotations

from dataclasses import replace

from devlint import ir
from devlint.flow import (
    arrivals,
    attributes,
    containers,
    device_index,
    frameworks,
    held_calls,
    moves,
    optimizers,
    outputs,
    saved,
    transfer,
    visible,
    workers,
)
from devlint.flow.arguments import Arguments, Given
from devlint.flow.call_function import call_function
from devlint.flow.collectives import note_option
from devlint.flow.facts import ApiCall, AttributeRead, Comparison, Revealed
from devlint.flow.frame import Bound, ClassInfo, Closure, Frame, path_value, place_of_path
from devlint.flow.lattice import UNKNOWN
from devlint.flow.library import EXITS, followed, library_value
from devlint.flow.meet import str_source
from devlint.flow.model_overlays import encoding
from devlint.flow.module_calls import call_instance, call_module, construct
from devlint.flow.narrow import truth
from devlint.flow.placement import forget_optimizer, give_away
from devlint.flow.python_overlays import pairs
from devlint.flow.state import Path
from devlint.flow.undirected import note_own
from devlint.flow.values import NONE, NOTHING, TENSORS, Kind, Origin, Value
from devlint.torchapi.effects import Effect, Row

_SAME_MODULE = frozenset(
    "eval train float half double bfloat16 requires_grad_ share_memory apply type compile".split()
)


_ONLY_MODULES = frozenset("parameters named_parameters buffers named_buffers state_dict".split())
"""Methods by which something that was moved proves to be a module."""

_OF_SCALERS = frozenset(("step", "unscale_"))
"""What a gradient scaler is asked to do with an optimizer."""


def call(frame: Frame, node: ir.Call) -> Value:
    """The value of a call; its facts are recorded on the way."""
    func = node.func
    if isinstance(func, ir.Attribute):
        base = frame.evaluate(func.value)
        if base.kind is not Kind.LIBRARY:
            return _method(frame, node, func, base)
        value = followed(frame, library_value(f"{base.data}.{func.attr}"), func)
    elif isinstance(func, ir.Name):
        value = frame.evaluate(func)
        if func.id == "super" and value.kind is Kind.LIBRARY:
            return _super(frame, node)
    else:
        value = frame.evaluate(func)
    return call_value(frame, node, func, value, arguments(frame, node))


def arguments(frame: Frame, node: ir.Call, receiver: Given | None = None) -> Arguments:
    """The arguments of a call, evaluated from left to right."""
    func = node.func
    if isinstance(func, ir.Name) and func.id in ("isinstance", "issubclass", "hasattr", "getattr"):
        before, frame.expecting = frame.expecting, True
        asked = Arguments(tuple((a, frame.evaluate(a.value)) for a in node.args), receiver)
        frame.expecting = before
        return asked
    return Arguments(tuple((a, frame.evaluate(a.value)) for a in node.args), receiver)


def call_value(frame: Frame, node: ir.Call, func: ir.Expr, value: Value, args: Arguments) -> Value:
    """Call something that was evaluated."""
    kind, data = value.kind, value.data
    if kind is Kind.LIBRARY:
        return _library(frame, node, str(data), args)
    if kind is Kind.FUNCTION and isinstance(data, Closure):
        return call_function(frame, node, data, args)
    if kind is Kind.CLASS and isinstance(data, ClassInfo):
        return construct(frame, node, data, args)
    if kind is Kind.METHOD and isinstance(data, Bound):
        return _bound(frame, node, data, args)
    if kind in (Kind.MODULE, Kind.PLACED) or value.note == "if-module":
        return call_module(frame, node, func, value, args)
    if kind is Kind.TOKENIZER:
        return encoding(frame, node, args)
    if kind is Kind.BOOL and isinstance(func, ir.Attribute) and func.attr == "is_cuda":
        return value
    if kind is Kind.INSTANCE:
        return call_instance(frame, node, value, args)
    if isinstance(func, ir.Name) and func.id == "reveal_device" and args.count == 1:
        shown = args.all[0]
        frame.record(Revealed(node, frame.context(), frame.operand(shown[0].value, shown[1])))
        return NOTHING
    if kind is Kind.UNKNOWN:
        give_away(frame, (given for _, given in args.all))
    arrivals.wait(frame)
    return outputs.called(frame, node, func, args) if kind is Kind.UNKNOWN else NOTHING


# --- libraries -----------------------------------------------------------------------------


def _library(frame: Frame, node: ir.Call, name: str, args: Arguments) -> Value:
    row = frame.world.table.get(name)
    if frame.tells and _is_told(name, row) and not saved.is_own(frame, node, name):
        _tell_call(frame, node, name, args, row is not None and row.cuda)
    arrivals.of_library(frame, name, row)
    workers.note_call(frame, node, name)
    if name.endswith(".is_available"):
        return truth(frame, node, NOTHING)
    if name in EXITS:
        return NONE.but(note="exits")
    if row is None:
        if not name.startswith(("torch.", "builtins.")):
            give_away(frame, (value for _, value in args.all))
        return NOTHING
    if row.managed and row.effect is not Effect.CONSTRUCT:
        _give_up(frame, args)
    if row.effect is Effect.KEEP and args.receiver is None and row.of == ("self",):
        # `torch.Tensor.x(t)`: the first argument is the receiver.
        rest = args.all[1:]
        first = args.find((0,))
        args = Arguments(rest, first) if first is not None else args
    return transfer.apply(frame, node, row, args)


def _give_up(frame: Frame, args: Arguments) -> None:
    """A framework places what it is given: nothing more is said of it."""
    for _, value in args.all:
        found = frame.object(value)
        if value.kind is Kind.OPTIMIZER:
            forget_optimizer(frame, value)
        elif found is not None:
            frame.update(value, replace(found, device=UNKNOWN, managed=True))


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
            frame.context_expr is node,
            frame.default_of,
            visible.set_later(frame, name) if frame.default_of else None,
        )
    )


# --- classes and modules ---------------------------------------------------------------------


def _super(frame: Frame, node: ir.Call) -> Value:
    """`super()`: the receiver, whose class is the next one."""
    function = frame.function
    if isinstance(function, ir.Function) and function.params:
        this = frame.look_up(function.params[0].name)
        if this is not None:
            return this.but(note="super")
    return NOTHING


# --- methods -----------------------------------------------------------------------------------


def _method(frame: Frame, node: ir.Call, func: ir.Attribute, base: Value) -> Value:
    """`base.attr(...)` on anything but a library."""
    attr, kind = func.attr, base.kind
    args = arguments(frame, node, (func.value, base))
    if base.note == "super":
        return _super_method(frame, node, func, base, args)
    if frame.function is not None and frame.tells:
        note_own(frame, node, func, args)
    if kind is Kind.MODULE and _is_call(frame, base, attr):
        return call_module(frame, node, func.value, base, Arguments(args.all))
    if kind is Kind.OPTIMIZER and attr not in moves.METHODS:
        return optimizers.method(frame, node, attr, base)
    if attr in moves.METHODS and not _defines(frame, base, attr):
        if attr != "type" or kind in TENSORS:
            return _move(frame, node, func, base, args)
    if kind.is_container:
        return containers.method(frame, node, attr, base, args)
    if attr in _ONLY_MODULES and (kind is Kind.PLACED or base.note == "if-module"):
        row = frame.world.table.get(f"torch.nn.Module.{attr}")
        args = replace(args, receiver=(func.value, base.but(kind=Kind.PLACED, note="")))
        return NOTHING if row is None else transfer.apply(frame, node, row, args)
    if kind in (Kind.TENSOR, Kind.PLACED):
        if frame.tells and attr in ("device", "is_cuda"):
            _tell_called(frame, node, func, base)
        row = frame.world.table.get(f"torch.Tensor.{attr}")
        return NOTHING if row is None else transfer.apply(frame, node, row, args)
    if kind is Kind.BATCH:
        row = frame.world.table.get(f"torch.Tensor.{attr}")
        if row is not None:
            return transfer.apply(frame, node, row, args)
        if attr in ("update", "setdefault") and isinstance(func.value, ir.Name):
            frame.state.env[func.value.id] = NOTHING  # it holds something else now
        return base if attr in ("values", "items") else NOTHING
    if kind is Kind.UNKNOWN and isinstance(base.data, Path):
        return _unknown_method(frame, node, func, base, args)
    if kind is Kind.DEVICE:
        _tell_device_method(frame, node, func, base, args)
        return NOTHING
    value = attributes.read(frame, func, base)
    if value.kind is Kind.UNKNOWN and value.note != "if-module":
        if kind is Kind.UNKNOWN and attr not in _OF_SCALERS:
            give_away(frame, (given for _, given in args.all))
        arrivals.wait(frame)
        if kind is Kind.UNKNOWN and attr == "get_device" and not args.all:
            return device_index.of_unknown(frame, func, base)
        if kind is Kind.MODULE and attr in _SAME_MODULE:
            return base
        own = kind is Kind.MODULE and base.note == "self"
        found = held_calls.result(frame, node, func, args) if own else NOTHING
        return outputs.called(frame, node, func, args) if found is NOTHING else found
    if value.kind is Kind.METHOD and isinstance(value.data, Bound):
        return _bound(frame, node, value.data, args)
    return call_value(frame, node, func, value, Arguments(args.all))


def _is_call(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a method takes a module's inputs as its call does."""
    if attr == "update":
        found = frame.object(base)
        return found is not None and str_source(found).startswith("torchmetrics.")
    return attr in ("forward", "generate") and not _defines(frame, base, attr)


def _defines(frame: Frame, base: Value, attr: str) -> bool:
    found = frame.object(base)
    source = None if found is None else found.source
    return isinstance(source, ClassInfo) and source.method(attr) is not None


def _move(frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments) -> Value:
    if base.kind is Kind.INSTANCE or base.kind in (Kind.CLASS, Kind.FUNCTION, Kind.LIBRARY):
        return NOTHING
    moved = moves.move(frame, node, func.value, base, args)
    if func.attr == "type":
        row = frame.world.table.get("torch.Tensor.type")
        return moved if row is None else transfer.apply(frame, node, row, args)
    if frame.world.table.get(f"torch.Tensor.{func.attr}") is None:
        return NOTHING
    return moved


def _super_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> Value:
    if func.attr in moves.METHODS:
        found = frame.object(base)
        if found is not None and base.kind is Kind.MODULE and func.attr != "type":
            moves.move(frame, node, func.value, base, args)
        return base.but(note="self")
    info = frame.owner
    for parent in info.bases if info is not None else ():
        if isinstance(parent, ClassInfo):
            method = parent.method(func.attr)
            if method is not None:
                name = f"{method[0].node.name}.{func.attr}"
                closure = Closure(method[1], method[0].file, (), method[0], name)
                return call_function(frame, node, closure, args, base.but(note="self"))
    row = frame.world.table.get(f"torch.nn.Module.{func.attr}")
    if row is not None and row.effect is Effect.REGISTER:
        return transfer.apply(frame, node, row, replace(args, receiver=(func.value, base)))
    return NOTHING


def _bound(frame: Frame, node: ir.Call, bound: Bound, args: Arguments) -> Value:
    if bound.closure is not None:
        static = _is_static(bound.closure)
        receiver = None if static else bound.receiver
        return call_function(frame, node, bound.closure, Arguments(args.all), receiver)
    arrivals.of_library(frame, bound.name, frame.world.table.get(bound.name))
    if bound.name.startswith("ENCODING."):
        return NOTHING
    args = replace(args, receiver=(bound.node, bound.receiver))
    row = frame.world.table.get(bound.name)
    if row is None:
        return NOTHING
    owner = bound.name.rpartition(".")[0]
    if row.managed:
        _give_up(frame, args)
    if bound.receiver.kind is Kind.MODULE and row.effect is Effect.KEEP and row.inplace:
        containers.extend_module(frame, bound.receiver, args)
    is_module = owner == "torch.nn.Module" or bound.receiver.kind is Kind.MODULE
    if is_module and bound.name.rpartition(".")[2] in _SAME_MODULE:
        return bound.receiver
    return transfer.apply(frame, node, row, args)


def _is_static(closure: Closure) -> bool:
    decorators = closure.node.decorators if isinstance(closure.node, ir.Function) else ()
    return any(isinstance(d, ir.Name) and d.id == "staticmethod" for d in decorators)


def _unknown_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> Value:
    """A method of something of which only the identity is known: what tensors alone have."""
    attr = func.attr
    if base.note == frameworks.PLACER:
        _give_up(frame, args)
        return frameworks.prepared(frame, node, attr, args)
    if attr == "add_argument":
        note_option(frame, args)
        return NOTHING
    stored = None
    if frame.state.paths and isinstance(base.data, Path):
        stored = frame.state.paths.get(f"{base.data.text}.{attr}")
    if stored is not None:
        return call_value(frame, node, func, stored, Arguments(args.all))
    if attr == "get_device" and not args.all:
        return device_index.of_unknown(frame, func, base)
    if attr == "skipTest":
        return NONE.but(note="exits")
    if isinstance(base.data, Path) and base.data.given and not args.all:
        if attr == "values":
            return base
        if attr == "items":
            return pairs(frame, node, NOTHING, path_value(f"{base.data.text}[i]", given=True))
    if attr in _SAME_MODULE and (not args.all or attr in ("train", "requires_grad_")):
        return base
    if attr == "clone" and not args.all:
        return base
    if attr in _ONLY_TENSORS and isinstance(base.data, Path):
        place = place_of_path(base.data)
        this = Value(Kind.TENSOR, place, origin=Origin.INPUT)
        row = frame.world.table.get(f"torch.Tensor.{attr}")
        if row is not None:
            receiver = (func.value, this)
            return transfer.apply(frame, node, row, replace(args, receiver=receiver))
    if isinstance(base.data, Path):
        inner = path_value(f"{base.data.text}.{attr}", base.data.given)
        return call_value(frame, node, func, inner, args)
    return NOTHING


_ONLY_TENSORS = frozenset(
    "detach new_zeros new_ones new_full new_empty new_tensor unsqueeze masked_fill permute "
    "view expand contiguous type_as".split()
)


def _tell_called(frame: Frame, node: ir.Call, func: ir.Attribute, base: Value) -> None:
    """`x.device()`: an attribute that is no method."""
    frame.record(
        AttributeRead(
            node, frame.context(), frame.operand(func.value, base), func.attr, called=True
        )
    )


def _tell_device_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> None:
    """`device.startswith("cuda")`: a method that strings have and devices have not."""
    first = args.find((0,))
    if first is not None and frame.tells:
        left, right = frame.operand(func.value, base), frame.operand(*first)
        frame.record(Comparison(node, frame.context(), func.attr, left, right))
