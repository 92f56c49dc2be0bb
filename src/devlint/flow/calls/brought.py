"""What calls bring to functions: whether an argument is on the host, and where a module is whose
method is called; and what a method takes for an array as it is.
"""

from __future__ import annotations

from devlint.flow.calls.callers import is_edge, is_trial
from devlint.flow.domain.derivation import Sort, shown, steps
from devlint.flow.domain.lattice import (
    CPU,
    THE_MODULE,
    UNKNOWN,
    Device,
    Symbol,
    is_named_by_argument,
    is_place_of_argument,
    may_be_accelerator,
    only_host,
    parameter_of,
    path_of,
)
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import TENSORS, Kind, Origin, Value
from devlint.flow.facts import Role
from devlint.flow.frames import protocols
from devlint.flow.frames.arguments import Taken
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.noted import place_given
from devlint.flow.frames.others import Parameter, receiver_of
from devlint.flow.modules.asked import kept_arguments
from devlint.flow.syntax.passing import is_sent_after
from devlint.flow.syntax.walk import first_row
from devlint.model import ir
from devlint.model.trees import last_name


def note_brought(frame: Frame, node: ir.Call, closure: Closure, taken: list[Taken]) -> None:
    """Remember which arguments of a function this call brings to the host (`scores.cpu()`), or
    leaves there (`torch.from_numpy(rows)`)."""
    listens = frame.world.callers.listens
    if closure.file is not frame.world.home and not listens:
        return
    earnest = listens and not is_trial(frame)
    for name, argument, value in taken:
        key = closure.file.path, closure.qualname, name
        given_here = frame.world.callers.brought.setdefault(key, set())
        if _yields_as_it_likes(frame, value):
            given_here.add(False)
            continue
        inside = [each for each in contents(frame, value) if each is value or each.kind in TENSORS]
        away = (each for each in inside if may_be_accelerator(frame.place(each)))
        value = next(away, inside[0] if inside else value)
        place = frame.place(value)
        if _is_tested(frame, value) or (listens and _is_yet_to_go(frame, node, argument, place)):
            given_here.add(True)
        elif earnest and (handed_on := _handed_on(frame, value, place)):
            given_here.add(handed_on)
        elif value.trait is Trait.PARAMETER:
            given_here.add(False)  # wherever it was made: a move of its module moves it in place
        elif may_be_accelerator(place) and value.trait not in _UNPROVEN:
            given_here.add(False)
        elif _is_brought(value, place) or _is_left_there(frame, place):
            given_here.add(True)
        elif earnest and (place == CPU or (place == UNKNOWN and frame.role is Role.DATA)):
            given_here.add(True)  # of what code that makes samples has, nothing needs to be known


def _yields_as_it_likes(frame: Frame, value: Value) -> bool:
    """Whether it is a loader of which nobody knows where it leaves what it yields, or an object
    with a class that decides so."""
    if value.kind is Kind.LOADER:
        return frame.place(value) == UNKNOWN
    return any(protocols.defines(frame, value, name) for name in ("__iter__", "__next__"))


def note_receiver(frame: Frame, closure: Closure, module: Value) -> None:
    """Remember whether a module is on the host where one of its methods is called."""
    if not frame.world.callers.listens or is_trial(frame) or module.kind is not Kind.MODULE:
        return
    place = frame.place(module)
    key = (closure.file.path, closure.qualname, receiver_of(first_row(closure.node)))
    told = frame.world.callers.brought.setdefault(key, set())
    running = frame.outermost
    if frame.name == "__init__":
        told.add(not may_be_accelerator(place))  # nobody has moved it yet
    elif place == THE_MODULE or (place == UNKNOWN and module.trait is Trait.SELF):
        of_users = is_edge(running.name, running.role)
        context = frame.context()
        this = running.file.path, context.running, receiver_of(context.row)
        told.add(False if of_users else this)
    else:
        told.add(only_host(place))


_UNPROVEN = (Trait.PART, Trait.BESIDE)
"""Of several things that a module gives of which nothing is known, one may be anywhere."""


def _handed_on(frame: Frame, value: Value, place: Device) -> Parameter | None:
    """The parameter of the running function that a value is, or a part of which; None where it is
    of none, or of one that is given what follows a module."""
    frame = frame.outermost
    function = frame.function
    if function is None:
        return None
    name = ""
    if is_place_of_argument(place) or is_named_by_argument(place):
        name = parameter_of(place)
    elif value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        name = value.data.root
    if any(name == parameter.name for parameter in function.params[frame.owner is not None :]):
        edge = is_edge(function.name, frame.role)
        return None if edge else (frame.file.path, frame.qualname, name)
    return _kept_argument(frame.owner, value, place)


def _kept_argument(owner: ClassInfo | None, value: Value, place: Device) -> Parameter | None:
    """The parameter of the constructor that keeps it as it is, where a value is `self.table`: its
    place goes by the name of either."""
    init = None if owner is None else owner.method("__init__")
    if init is None:
        return None
    text = path_of(place) if isinstance(place, Symbol) else ""
    text = value.data.text if isinstance(value.data, Path) else text
    source, function = init
    for name, attribute in kept_arguments(source, function).items():
        if text in (name, attribute):
            return (source.file.path, f"{source.node.name}.__init__", name)
    return None


def note_numpy(frame: Frame, func: ir.Attribute) -> None:
    """Remember that the running method takes an argument with a gradient, the output of a module,
    for an array as it is: `scores.detach().numpy()`."""
    match func.value:
        case ir.Call(func=ir.Attribute(value=base, attr="detach")):
            while isinstance(base, (ir.Attribute, ir.Subscript)):
                base = base.value
            method = None if frame.owner is None or frame.is_followed else frame.function
            params = () if method is None else method.params[1:]
            if isinstance(base, ir.Name) and any(base.id == each.name for each in params):
                frame.world.callers.run_on_host.add(frame.qualname)


def _is_tested(frame: Frame, value: Value) -> bool:
    """Whether a test has told that what was given is on the host (`if not x.is_cuda`)."""
    place = place_given(value)
    return is_place_of_argument(place) and frame.state.simplify(place) == CPU


def _is_brought(value: Value, place: Device) -> bool:
    """Whether the code says by itself that it is on the host: what is there since another tensor is
    may be anywhere the next time."""
    copied = any(step.sort in _SAID and step.device == CPU for step in steps(value.trace))
    return place == CPU and (copied or _is_of_array(value))


_SAID = frozenset((Sort.MOVE_HOST, Sort.MOVE_TYPE, Sort.NAMED, Sort.STORED, Sort.FILE))


def _is_left_there(frame: Frame, place: Device) -> bool:
    """Whether it is on the host where the code that runs has something on an accelerator: it isn't
    made up to try things there."""
    if place != CPU:
        return False
    running = frame.outermost
    return running.role is not Role.TEST and any(
        may_be_accelerator(running.place(each)) for each in running.state.env.values()
    )


def _is_yet_to_go(frame: Frame, node: ir.Call, argument: ir.Argument, place: Device) -> bool:
    """Whether nobody has sent it anywhere, and the running function does so after this call: a
    batch is changed first."""
    function = frame.function
    if function is None or not isinstance(argument.value, ir.Name):
        return False
    name, unsent = argument.value.id, place == UNKNOWN or is_place_of_argument(place)
    if not unsent or name not in frame.file.scan(function).moved:
        return False
    return is_sent_after(function.body, node, name)


def _is_of_array(value: Value) -> bool:
    """Whether it is made of an array: that is data, where numbers that are made up try things."""
    step = shown(value.trace) if value.origin is Origin.HOST_DATA else None
    made = step.node if step is not None else None
    return isinstance(made, ir.Call) and last_name(made.func) == "from_numpy"
