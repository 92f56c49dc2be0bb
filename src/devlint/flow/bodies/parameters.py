"""What the parameters of a function are that runs on its own."""

from __future__ import annotations

from devlint.flow.bodies.annotations import annotated, loader, placed_inside
from devlint.flow.calls.callers import may_be_given, setting
from devlint.flow.conditions import unions
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, Device, Symbol
from devlint.flow.domain.paths import Path, given_tensor, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.flow.facts import Role
from devlint.flow.frames.files import ClassInfo, Closure, is_inner
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import given_back
from devlint.model import ir
from devlint.policy import means
from devlint.torchapi.effects import Effect


def assume_parameters(
    frame: Frame, function: ir.Function, receiver: Value | None, while_made: bool
) -> None:
    """Bind the parameters of a function that runs on its own to what their annotations, defaults,
    names and uses say, and the calls in the file. `while_made`: only a constructor calls it."""
    scan = frame.file.scan(function)
    tensors = scan.tensors - scan.data - scan.modules
    owner = frame.owner
    if owner is not None and owner.is_module:
        tensors |= {name for attr, name in scan.self_inputs if owner.method(attr) is None}
        if function.name == "forward":
            tensors |= scan.sliced - scan.data  # nobody gives a module arrays
    params = function.params
    placed = {} if receiver is None else _placed_by_framework(frame, function, receiver)
    any_given = not while_made and _may_be_given_accelerators(frame, function)
    for position, parameter in enumerate(params):
        name = parameter.name
        given = (
            any_given
            and may_be_given(frame, function, name)
            and not means("host-number", name, "parameter")
            and not _is_made_on_host(frame, parameter.default)
            and name not in scan.columns
        )
        told = setting(frame, function, name)
        if position == 0 and receiver is not None:
            value = receiver
        elif told is not None:
            value = told
        elif parameter.kind in ("*", "**"):
            value = _rest(frame, parameter, given)
        elif (default := _called_default(frame, parameter)) is not None:
            value = default
        elif isinstance(parameter.default, ir.Constant) and isinstance(
            parameter.default.value, str
        ):
            value = path_value(name, given)  # a string where it is left out, whatever is annotated
            if parameter.annotation is not None:
                value = unions.marked(frame, parameter.annotation, value)
        elif parameter.annotation is not None:
            value = annotated(frame, parameter.annotation, path_value(name, given))
        elif row := means("loader", name, "parameter"):
            value = loader(frame, parameter, name, row)
            asked = (frame.file.path, frame.qualname, name)
            if False in frame.world.callers.brought.get(asked, ()):
                value = NOTHING  # a call gives one that yields tensors of an accelerator
        elif name in tensors and may_be_tensor(parameter):
            value = given_tensor(Path(name, given), Sort.TENSOR_BY_USE, parameter)
        else:
            value = path_value(name, given)
        if name in placed:
            value = _by_framework(parameter, placed[name], value)
        elif value.kind is Kind.TENSOR and value.device != UNKNOWN:
            if frame.role is Role.MODULE:
                value = value.step(Sort.FORWARD_INPUT, parameter).but(origin=Origin.FOLLOWS)
            else:
                known = function in frame.world.callers.given
                value = value.step(Sort.CALLERS if known else Sort.NO_CALL_SEEN, parameter)
        frame.state.env[name] = value


def _placed_by_framework(
    frame: Frame, function: ir.Function, receiver: Value
) -> dict[str, tuple[Kind, Device]]:
    """The parameters of a method that a framework calls, with what it has put where."""
    bases = () if frame.owner is None else frame.owner.library_bases()
    rows = [row for row in map(frame.world.table.get, bases) if row is not None]
    names = [parameter.name for parameter in function.params[1:3]]
    if names and any(function.name in row.batches for row in rows):
        return {names[0]: (Kind.BATCH, frame.place(receiver))}
    if len(names) > 1 and any(function.name in row.model_and_batch for row in rows):
        text = f"{names[0]}.device"
        place = Symbol(text, text)
        return {names[0]: (Kind.MODULE, place), names[1]: (Kind.BATCH, place)}
    return {}


def _by_framework(parameter: ir.Parameter, placed: tuple[Kind, Device], value: Value) -> Value:
    """A parameter that a framework has put somewhere; `value` is what its annotation says."""
    kind, place = placed
    told = Step(Sort.PLACED_BATCH, parameter, device=place)
    if value.kind is Kind.TENSOR:
        return value.but(device=place, origin=Origin.FOLLOWS, trace=told)
    if value.kind is not Kind.UNKNOWN:
        return value
    trait = Trait.PART if kind is Kind.BATCH else None  # nobody knows what else is in it
    return Value(kind, place, origin=Origin.FOLLOWS, trait=trait, trace=told)


def _may_be_given_accelerators(frame: Frame, function: ir.Function) -> bool:
    """Whether the arguments of a function may be on an accelerator for all that is known.

    What makes a module runs on the host, and so does what makes data; a function inside of another
    is called there and followed there, unless that gives it back.
    """
    plain = frame.owner is not None and frame.owner.role is Role.PLAIN
    if is_inner(frame) and not _is_given_back(frame, function):
        return False
    return plain or function.name != "__init__"


def _is_given_back(frame: Frame, function: ir.Function) -> bool:
    """Whether all that is done with a function inside of another is to return it."""
    return function in frame.file.once(given_back, frame.file.body)


def _is_made_on_host(frame: Frame, default: ir.Expr | None) -> bool:
    """Whether a default is a tensor made without a device (`color=torch.tensor([0, 0, 255])`):
    whatever is given in its place most likely is on the host as well."""
    if not isinstance(default, ir.Call) or any(each.keyword == "device" for each in default.args):
        return False
    row = frame.world.table.get(dotted(frame, default.func))
    return row is not None and row.effect is Effect.CREATE


def _called_default(frame: Frame, parameter: ir.Parameter) -> Value | None:
    """A function or a class of the project that is a default: to call it is what it is for, and
    what comes of that is so wherever it is left as it is."""
    if not isinstance(parameter.default, (ir.Name, ir.Attribute)):
        return None
    value = frame.ask(parameter.default)
    return value if isinstance(value.data, (Closure, ClassInfo)) else None


def _rest(frame: Frame, parameter: ir.Parameter, given: bool) -> Value:
    """What comes in by `*xs`, each as its annotation says (`*layers: nn.Module`)."""
    if parameter.kind == "**":
        return NOTHING
    element = path_value(f"{parameter.name}[i]", given)
    if parameter.annotation is not None:
        element = placed_inside(annotated(frame, parameter.annotation, element))
    return Value(Kind.TUPLE, data=frame.allocate(parameter, Object(element=element)))


def may_be_tensor(parameter: ir.Parameter) -> bool:
    """Whether neither its default, a number, a string or a truth value, nor its name speaks against
    a tensor."""
    default = parameter.default
    plain = isinstance(default, ir.Constant) and default.value is not None
    return not plain and not means("no-tensor", parameter.name, "parameter")
