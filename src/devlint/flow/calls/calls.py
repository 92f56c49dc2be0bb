"""Calls: of a name, of a method, of whatever an expression gives."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.calls import applied, fields, hooks, unknown_calls
from devlint.flow.calls.bound_calls import SAME_MODULE, call_bound, call_super
from devlint.flow.calls.brought import note_numpy
from devlint.flow.calls.callers import remember_handing
from devlint.flow.calls.function_calls import call_function, call_method, spread
from devlint.flow.calls.library_calls import call_library
from devlint.flow.calls.module_calls import call_module, construct
from devlint.flow.devices import device_index
from devlint.flow.devices.dropped import note_own
from devlint.flow.domain.derivation import steps
from devlint.flow.domain.paths import Path, path_value
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import (
    NONE,
    NOTHING,
    TENSORS,
    Kind,
    OneOf,
    Value,
    as_loaded,
    as_tensor,
)
from devlint.flow.effects import frameworks, moves, pinning, transfer
from devlint.flow.effects.collectives import note_option
from devlint.flow.effects.host import tell_copied_elsewhere
from devlint.flow.effects.model_overlays import encoded, encoding
from devlint.flow.facts import AttributeRead, Comparison, Revealed
from devlint.flow.frames.arguments import Arguments, Given, Partial
from devlint.flow.frames.contents import with_items
from devlint.flow.frames.files import Bound, ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import followed, is_builtin, library_value
from devlint.flow.frames.missing import note_asked
from devlint.flow.modules import optimizers, wrapping
from devlint.flow.modules.constructed import Typed, is_left_to_base
from devlint.flow.modules.placement import by_use, give_away, place_of_parameters
from devlint.flow.operations import arrivals, attributes, batches, containers, objects
from devlint.flow.operations.operators import filled
from devlint.flow.syntax.scan import TENSORS_ALONE_HAVE
from devlint.flow.syntax.walk import first_parameter
from devlint.model import ir

_ONLY_MODULES = frozenset("parameters named_parameters buffers named_buffers state_dict".split())
"""Methods by which something that was moved proves to be a module."""

_OF_SCALERS = frozenset(("step", "unscale_"))
"""What a gradient scaler is asked to do with an optimizer."""


def call(frame: Frame, node: ir.Call) -> Value:
    """The value of a call; its facts are recorded on the way."""
    frame.world.step()
    func = node.func
    if isinstance(func, ir.Attribute):
        note_asked(frame, func)
        base = frame.evaluate(func.value)
        if base.kind is not Kind.LIBRARY:
            return _method(frame, node, func, base)
        value = followed(frame, library_value(f"{base.data}.{func.attr}"), func)
    else:
        value = frame.evaluate(func)
        if isinstance(func, ir.Name) and func.id == "super" and value.kind is Kind.LIBRARY:
            return _super(frame)
    return call_value(frame, node, func, value, arguments(frame, node))


def arguments(frame: Frame, node: ir.Call, receiver: Given | None = None) -> Arguments:
    """The arguments of a call, evaluated from left to right."""
    func = node.func
    if isinstance(func, ir.Name) and func.id in _ASK and is_builtin(frame, func):
        asked = ((each, frame.ask(each.value, is_first=True)) for each in node.args)
        return Arguments(tuple(asked), receiver)
    given = [(argument, frame.evaluate(argument.value)) for argument in node.args]
    if [argument for argument in node.args if argument.star]:
        given = [each for pair in given for each in spread(frame, *pair)]
    return Arguments(tuple(given), receiver)


_ASK = frozenset(("isinstance", "issubclass", "hasattr", "getattr"))
"""What Python itself is asked of an object, whatever that is."""


def call_value(frame: Frame, node: ir.Call, func: ir.Expr, value: Value, args: Arguments) -> Value:
    """Call something that was evaluated."""
    frame.world.answers.opened += value.is_unseen or _hands_on(args, followed=_is_ours(value))
    return _seen(frame, func, _call_value(frame, node, func, value, args), args)


def _seen(frame: Frame, func: ir.Expr, result: Value, args: Arguments) -> Value:
    """What a call gives. What is being followed is lost in one of which nothing is known; but what
    a tokenizer is given is text."""
    trial = frame.world.trial
    if trial is not None and result.kind is Kind.UNKNOWN and not unknown_calls.tokenizes(func):
        for _, value in args.all:
            found = frame.object(value)
            trial.escaped.update(steps((value if found is None else found.elements()).trace))
    return result


def _hands_on(args: Arguments, followed: bool) -> bool:
    """Whether such a function is given to code that isn't followed, which may call it."""
    return not followed and any(value.is_unseen for _, value in args.all)


def _is_ours(value: Value) -> bool:
    """Whether a function or a class of the project is called."""
    data = value.data.closure if isinstance(value.data, Bound) else value.data
    return isinstance(data, (Closure, ClassInfo))


def _call_value(frame: Frame, node: ir.Call, func: ir.Expr, value: Value, args: Arguments) -> Value:
    kind, data = value.kind, value.data
    if isinstance(data, OneOf):
        return applied.one_of(frame, node, func, value, data, args)
    if kind is Kind.LIBRARY:
        remember_handing(frame, args)
        return call_library(frame, node, str(data), args)
    if kind is Kind.FUNCTION and isinstance(data, Closure):
        return call_function(frame, node, data, args)
    if kind is Kind.CLASS and isinstance(data, ClassInfo):
        return construct(frame, node, data, args)
    if kind is Kind.METHOD and isinstance(data, Bound):
        return call_bound(frame, node, data, args)
    if kind is Kind.PLACED and unknown_calls.is_loss(func):
        return unknown_calls.called(frame, node, func, args)
    if applied.may_be_module(value):
        return call_module(frame, node, func, value, args)
    if kind is Kind.TOKENIZER:
        return encoding(frame, node, args)
    if kind is Kind.BOOL and isinstance(func, ir.Attribute) and func.attr == "is_cuda":
        return value
    if kind is Kind.INSTANCE:
        several = objects.of_each(frame, func, value, "__call__")
        if several is not None:
            return call_value(frame, node, func, several, args)
        return call_method(frame, node, frame.class_of(value), "__call__", args, value)
    if isinstance(func, ir.Name) and func.id == "reveal_device" and args.count == 1:
        shown = args.all[0]
        frame.record(Revealed(node, frame.context(), frame.operand(shown[0].value, shown[1])))
        return NOTHING
    if isinstance(data, Partial):
        return applied.complete(frame, node, data, args)
    if kind is Kind.UNKNOWN:
        wrapper = wrapping.of_unseen(frame, node, func, args)
        if wrapper is not NOTHING:
            return wrapper
    frame.state.wait()
    return unknown_calls.called(frame, node, func, args) if kind is Kind.UNKNOWN else NOTHING


def _super(frame: Frame) -> Value:
    """`super()`: the receiver, whose class is the next one."""
    this = frame.look_up(first_parameter(frame.function))
    return NOTHING if this is None else this.but(trait=Trait.SUPER)


def _method(frame: Frame, node: ir.Call, func: ir.Attribute, base: Value) -> Value:
    """`base.attr(...)` on anything but a library."""
    if base.trait is Trait.PERHAPS and frame.world.table.get(f"torch.Tensor.{func.attr}"):
        base = as_tensor(base)
    elif func.attr in TENSORS_ALONE_HAVE:
        base = as_loaded(base)
    args = arguments(frame, node, (func.value, base))
    ours = _defines(frame, base, func.attr)
    frame.world.answers.opened += base.is_unseen or _hands_on(args, followed=ours)
    return _seen(frame, func, _call_method(frame, node, func, base, args), args)


def _call_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> Value:
    attr, kind = func.attr, base.kind
    if attr == "numpy":
        note_numpy(frame, func)
        if kind is Kind.UNKNOWN and frame.tells:
            tell_copied_elsewhere(frame, node, func.value)
    if attr == "pin_memory":
        pinning.method(frame, node, args)
    if attr in hooks.REGISTERS:
        hooks.note(frame, node, func, args)
    if base.trait is Trait.SUPER:
        return call_super(frame, node, func, base, args)
    if frame.function is not None and frame.tells:
        note_own(frame, node, func, args)
    if applied.may_be_module(base) and _is_call(frame, base, attr):
        return call_module(frame, node, func.value, base, Arguments(args.all))
    if kind is Kind.OPTIMIZER and attr not in moves.METHODS:
        return optimizers.method(frame, node, attr, base)
    if attr in moves.METHODS and not _defines(frame, base, attr):
        if attr != "type" or kind in TENSORS:
            return _move(frame, node, func, base, args)
    if kind is Kind.INSTANCE and not _defines(frame, base, attr):
        if attr == "_asdict" and not args.all:
            return objects.dict_of(frame, node, base)
        if attr == "_replace":
            return fields.replaced(frame, node, base, args)
        if attr in containers.OF_DICTS:
            base = with_items(frame, base)
            kind = base.kind
    if kind.is_container or _is_dict_of_modules(frame, base, attr):
        result = containers.method(frame, node, attr, base, args)
        objects.write_back(frame, func.value, base)
        return result
    if kind is Kind.NDARRAY:
        if attr in arrivals.OF_ARRAYS:
            arrivals.read(frame, node, (func.value, base))
        return transfer.named(frame, node, f"numpy.ndarray.{attr}", args)
    if attr in _ONLY_MODULES and kind is Kind.UNKNOWN and isinstance(base.data, Path):
        if base.trait is not Trait.IF_MODULE:
            base = base.but(kind=Kind.PLACED, device=place_of_parameters(frame, func.value))
    if attr in _ONLY_MODULES and (base.kind is Kind.PLACED or base.trait is Trait.IF_MODULE):
        args = replace(args, receiver=(func.value, base.but(kind=Kind.PLACED, trait=None)))
        return transfer.named(frame, node, f"torch.nn.Module.{attr}", args)
    if kind is Kind.PLACED and attr in moves.MODES and args.count < 2:
        return base  # with more, `train(data, steps)` is no mode
    if kind in (Kind.TENSOR, Kind.PLACED):
        if frame.tells and attr in ("device", "is_cuda"):  # `x.device()`: they are no methods
            operand = frame.operand(func.value, base)
            frame.record(AttributeRead(node, frame.context(), operand, attr, called=True))
        return transfer.named(frame, node, f"torch.Tensor.{attr}", args)
    if kind is Kind.BATCH:
        batches.note_method(frame, func, base)
        row = frame.world.table.get(f"torch.Tensor.{attr}")
        if row is not None:
            return transfer.apply(frame, node, row, args)
        if attr in ("update", "setdefault") and isinstance(func.value, ir.Name):
            frame.state.env[func.value.id] = NOTHING  # it holds something else now
        if attr in ("get", "pop") and args.all and isinstance(args.all[0][1].data, str):
            return frame.evaluate(ir.Subscript(func.value, args.all[0][0].value))
        return base if attr in ("values", "items") else NOTHING
    if kind is Kind.UNKNOWN and attr == "get_device" and not args.all:
        return device_index.of_unknown(frame, func, base)
    if kind is Kind.UNKNOWN and attr in _OF_TEXT:
        return Value(Kind.STRING)
    if kind is Kind.UNKNOWN and (isinstance(base.data, Path) or base.trait is Trait.LOADED):
        return _unknown_method(frame, node, func, base, args)
    if kind is Kind.TOKENIZER:
        return encoded(frame, node, attr, args)
    if kind is Kind.STRING and attr == "format":
        return filled(base, args.value((0,)))
    if kind is Kind.DEVICE:
        _tell_device_method(frame, node, func, base, args)
        return NOTHING
    value = attributes.read(frame, func, base)
    own = kind is Kind.MODULE and base.trait is Trait.SELF
    if value.kind is Kind.UNKNOWN and value.trait is not Trait.IF_MODULE:
        if kind is Kind.CLASS and (made := objects.made_by_base(frame, node, base, attr)):
            return made
        if kind is Kind.UNKNOWN and attr not in _OF_SCALERS:
            give_away(frame, (given for _, given in args.all))
        frame.state.wait()
        found = unknown_calls.of_part(frame, node, func, args) if own else NOTHING
        called = func.value if attr == "forward" else func
        return unknown_calls.called(frame, node, called, args) if found is NOTHING else found
    result = call_value(frame, node, func, value, Arguments(args.all))
    if own and value.kind is Kind.MODULE and result is NOTHING:
        first = Arguments(args.all[:1])  # what else a module takes, its class would tell
        return unknown_calls.of_part(frame, node, func, first)
    return result


def _is_call(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a method takes a module's inputs as its call does. What was moved, or was called with
    what was, is a module by its `forward`."""
    sources = [each.library_class for each in frame.objects(base)]
    rows = [frame.world.table.get(f"{each}.{attr}") if each else None for each in sources]
    if rows and all(row is not None and row.calls for row in rows):
        return True
    named = attr == "forward" or (attr == "generate" and base.kind is Kind.MODULE)
    return named and not _defines(frame, base, attr)


def _is_dict_of_modules(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a method of an `nn.ModuleDict` gives its modules, as that of a dict does."""
    found = frame.object(base) if attr in ("items", "values", "get") else None
    return found is not None and found.library_class == "torch.nn.ModuleDict"


def _defines(frame: Frame, base: Value, attr: str) -> bool:
    info = frame.class_of(base)
    return info is not None and info.method(attr) is not None


def _move(frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments) -> Value:
    if base.kind in (Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION):
        return NOTHING
    if is_left_to_base(base, func.attr):
        return base  # no module and no tensor: where it is, its own methods know
    moved = moves.move(frame, node, func.attr, func.value, base, args)
    return transfer.named(frame, node, "torch.Tensor.type", args) if func.attr == "type" else moved


def _unknown_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> Value:
    """A method of something of which only the identity is known: what tensors alone have."""
    attr, path = func.attr, base.data if isinstance(base.data, Path) else Path("")
    if base.trait is Trait.PLACER:
        return frameworks.called(frame, node, base, attr, args)
    if attr == "add_argument":
        note_option(frame, args)
        return NOTHING
    inner = f"{path.text}.{attr}"
    if (stored := frame.state.paths.get(inner)) is not None:
        return call_value(frame, node, func, stored, Arguments(args.all))
    if attr == "skipTest":
        return NONE.but(trait=Trait.EXITS)
    loaded = base.trait is Trait.LOADED
    if (path.given or loaded) and not args.all:
        if attr == "values":
            return base
        if attr == "items":
            item = path_value(f"{path.text}[i]", given=True)
            part = base.but(data=item.data) if loaded else item
            return containers.pairs(frame, node, NOTHING, part)
    is_same = attr in SAME_MODULE or attr == "clone"
    if is_same and (not args.all or attr in ("train", "requires_grad_")):
        return base
    if attr in _ONLY_TENSORS and not isinstance(path, Typed):
        of = (func.value, as_loaded(base) if loaded else by_use(frame, func.value, path))
        return transfer.named(frame, node, f"torch.Tensor.{attr}", replace(args, receiver=of))
    if attr == "forward":
        return call_value(frame, node, func.value, base, Arguments(args.all))
    return call_value(frame, node, func, path_value(inner, path.given), args)


_OF_TEXT = frozenset("lower upper strip lstrip rstrip title capitalize".split())
"""Methods that texts alone have, and that give text."""

_ONLY_TENSORS = frozenset(
    "detach new_zeros new_ones new_full new_empty new_tensor unsqueeze masked_fill permute "
    "view expand contiguous type_as".split()
)


def _tell_device_method(
    frame: Frame, node: ir.Call, func: ir.Attribute, base: Value, args: Arguments
) -> None:
    """`device.startswith("cuda")`: a method that strings have and devices have not."""
    first = args.find((0,))
    if first is not None and frame.tells:
        left, right = frame.operand(func.value, base), frame.operand(*first)
        frame.record(Comparison(node, frame.context(), func.attr, left, right))
