"""Functions of the file: run inside a call with its arguments, or on their own."""

from __future__ import annotations

import re
from collections.abc import Hashable

from devlint import ir
from devlint.flow import arrivals, generators, neglect, precision, unions
from devlint.flow.annotations import annotated, is_tensor, loader
from devlint.flow.callers import flag, is_asked_for, may_be_given
from devlint.flow.classes import role_of
from devlint.flow.facts import Guard, Role
from devlint.flow.frame import Closure, Frame, path_value, place_of_path
from devlint.flow.guards import guard_of
from devlint.flow.joins import join_states
from devlint.flow.lattice import UNKNOWN
from devlint.flow.placement import forget_optimizer, place_module
from devlint.flow.required import before, required
from devlint.flow.scan import Scan
from devlint.flow.state import Heap, Object, Path, State, join_values
from devlint.flow.statements import run
from devlint.flow.values import NONE, NOTHING, Kind, Origin, Value

_LOADER_NAME = re.compile(r"(^|_)(data_?)?loader$|dataloader$", re.IGNORECASE)
_NO_TENSOR_NAME = re.compile(r"device|dtype|^(dev|gpu|rank|config|cfg|args|kwargs)$")
_COUNT = re.compile(r"^(n|num)_")
"""Numbers of things: lengths are on the host by custom, also where they are tensors."""
_LONGEST_INLINED = 60


def invoke(
    frame: Frame,
    node: ir.Expr,
    closure: Closure,
    positional: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """What a call of a function of the file returns, and what it does to objects."""
    frame.state.known.update(required(frame, closure))
    if not _can_be_followed(frame, closure):
        arrivals.wait(frame)
        _forget(frame, closure, positional, keywords)
        return NOTHING
    if _leads_nowhere(frame, closure, positional, keywords):
        arrivals.wait(frame)
        return NONE
    question = _question(frame, closure, positional, keywords)
    receiver = frame.object(positional[0]) if positional else None
    told = None if question is None else frame.world.answers.get(question)
    if told is not None and told[0] is receiver:
        arrivals.wait(frame)
        return told[1]
    known = frame.known_in(closure.file)
    state = State({}, Heap(frame.state.heap), known, frame.state.default)
    state.copies, state.busy = frame.state.copies, frame.state.busy
    inner = Frame(
        frame.world, closure.file, state, closure.node, closure.qualname,
        role_of(closure.name, closure.owner, frame.role, closure.file), closure.owner,
        closure.scopes, guard=frame.guard, recording=frame.recording,
        caller=frame, site=(*frame.site, node),
    )  # fmt: skip
    _bind_arguments(inner, closure, positional, keywords)
    value = _run(inner)
    if generators.is_generator(closure):
        arrivals.wait(frame)
        _forget(frame, closure, positional, keywords)
        return generators.elements(frame, node, inner)
    changed = False
    for ref in inner.state.heap.written:
        changed = changed or ref in frame.state.heap
        frame.state.heap[ref] = inner.state.heap[ref]
    if question is not None and not changed and frame.object(value) is None:
        frame.world.answers[question] = (receiver, value)
    frame.state.default, frame.state.copies = inner.state.default, inner.state.copies
    frame.state.busy = inner.state.busy
    if inner.is_guest:
        arrivals.wait(frame)  # what began there can't be pointed at
    return value


def _leads_nowhere(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> bool:
    """Whether a function neither answers nor changes anything, and is given nothing that its own
    run doesn't know: then there is nothing to learn from following the call."""
    if isinstance(closure.node, ir.Lambda) or closure.file.scan(closure.node).answers:
        return False
    given = (
        [*positional[1:], *keywords.values()]
        if closure.owner
        else [*positional, *keywords.values()]
    )
    return all(value.kind in _UNINFORMATIVE for value in given)


_UNINFORMATIVE = (Kind.UNKNOWN, Kind.NUMBER, Kind.BOOL, Kind.NONE, Kind.DTYPE)


def _question(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> Hashable:
    """What the answer of a call hangs on besides its receiver; None where that is too much: an
    object among the arguments that holds more than constants. Asked again, it has the same answer,
    and the same facts."""
    given: list[Hashable] = []
    for value in (*positional[1:], *keywords.values()):
        told = _told(frame, value)
        if told is None:
            return None
        given.append(told)
    first = positional[0] if positional else None
    known = frozenset(frame.known_in(closure.file).items())
    names = tuple(keywords)
    context = (frame.recording, frame.expecting, frame.role, known, frame.state.default)
    return (closure.node, closure.file, first, tuple(given), names, context)


def _told(frame: Frame, value: Value) -> Hashable:
    """What an argument tells; None where that may change. Lists of constants are told apart by
    what they hold, wherever they were made."""
    found = frame.object(value)
    if found is None:
        return value
    if value.kind not in (Kind.LIST, Kind.TUPLE) or found.items is None or found.entries:
        return None
    if any(item.kind not in _CONSTANTS for item in found.items) or found.element is not NOTHING:
        return None
    return (value.kind, value.note, found.items)


_CONSTANTS = (Kind.STRING, Kind.NUMBER, Kind.BOOL, Kind.NONE)


def _can_be_followed(frame: Frame, closure: Closure) -> bool:
    if not frame.can_inline(closure.file) or any(f.function is closure.node for f in frame.chain()):
        return False
    if isinstance(closure.node, ir.Lambda):
        return True
    return not closure.node.is_async and can_be_followed(closure.file.scan(closure.node))


def can_be_followed(scan: Scan) -> bool:
    """Whether calls of a function run its body in their place."""
    return scan.size <= _LONGEST_INLINED


def _forget(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> None:
    """A function that isn't followed may move what it is given, where it moves its argument."""
    if isinstance(closure.node, ir.Lambda):
        return
    moved = {
        root.partition(".")[0].partition("[")[0] for root in closure.file.scan(closure.node).moved
    }
    given = dict(zip((p.name for p in closure.node.params), positional, strict=False))
    for name, value in {**given, **keywords}.items():
        found = frame.object(value)
        if name in moved and found is not None:
            if value.kind is Kind.MODULE:
                place_module(frame, value, UNKNOWN)
            else:
                frame.update(value, Object(source=found.source))
        elif value.kind is Kind.OPTIMIZER:
            forget_optimizer(frame, value)


def _bind_arguments(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> None:
    rest = list(positional)
    for parameter in closure.node.params:
        if parameter.kind == "positional" and rest:
            value = rest.pop(0)
        elif parameter.name in keywords:
            value = keywords[parameter.name]
        elif parameter.default is not None and parameter.kind in ("positional", "keyword"):
            value = frame.evaluate(parameter.default)
        else:
            value = NOTHING
        frame.state.env[parameter.name] = _proved(frame, closure.node, parameter, value)


def _proved(
    frame: Frame, function: ir.Function | ir.Lambda, parameter: ir.Parameter, value: Value
) -> Value:
    """An argument of which only the identity is known, with what the function itself proves."""
    if value.kind is not Kind.UNKNOWN or value.note:
        return value
    if parameter.annotation is not None and (value is NOTHING or isinstance(value.data, Path)):
        return annotated(frame, parameter.annotation, value)
    if isinstance(function, ir.Function) and is_tensor_name(parameter.name):
        scan = frame.file.scan(function)
        if parameter.name in scan.tensors - scan.data and not _has_plain_default(parameter):
            place = place_of_path(value.data) if isinstance(value.data, Path) else UNKNOWN
            return Value(Kind.TENSOR, place, origin=Origin.INPUT)
    return value


def _run(frame: Frame) -> Value:
    """Run the body of a frame's function; its state is then that of all its ends."""
    function = frame.function
    if isinstance(function, ir.Lambda):
        return frame.evaluate(function.body)
    assert function is not None
    run(frame, function.body)
    value: Value | None = None
    end = frame.state
    for returned, state in frame.returns:
        value = returned if value is None else join_values(value, returned)
        end = join_states(end, state)
    if not frame.returns and not frame.state.alive:
        frame.state = end
        return Value(Kind.NONE, note="exits")
    if frame.state.alive and value is not None:
        value = join_values(value, Value(Kind.NONE))
    frame.state = end
    return NOTHING if value is None else value


def run_alone(
    closure: Closure,
    around: Frame,
    receiver: Value | None = None,
    known: dict[str, bool] | None = None,
    while_made: bool = False,
    listening: bool = False,
) -> Frame:
    """Run a function with arguments of which only the identity is known; record its facts.

    `known` are the conditions under which it was defined. `while_made`: only a constructor calls
    it, so its arguments are on the host. `listening`: it is inherited from another file, and notes
    where it uses what this one keeps.
    """
    function = closure.node
    assert isinstance(function, ir.Function)
    settled = {**around.known_in(closure.file), **(known or {}), **before(around, closure)}
    state = State({}, Heap(around.state.heap), settled, around.state.default)
    frame = Frame(
        around.world, closure.file, state, function, closure.qualname,
        role_of(closure.name, closure.owner, around.role, closure.file), closure.owner,
        closure.scopes, guard=guard_of(frame_guard(closure, around), function.decorators, around),
        recording=around.recording and (listening or not _is_guest(around, closure)),
    )  # fmt: skip
    if frame.guard is Guard.NONE and is_asked_for(frame, function):
        frame.guard = Guard.CHOSEN
    _bind_parameters(frame, function, receiver, while_made)
    mark = len(frame.world.facts)
    _run(frame)
    neglect.tell(frame, function, mark)
    precision.tell(frame, mark)
    return frame


def _is_guest(frame: Frame, closure: Closure) -> bool:
    return closure.file is not frame.world.home


def frame_guard(closure: Closure, around: Frame) -> Guard:
    return closure.owner.guard if closure.owner is not None else around.guard


def _bind_parameters(
    frame: Frame, function: ir.Function, receiver: Value | None, while_made: bool
) -> None:
    scan = frame.file.scan(function)
    tensors = scan.tensors - scan.data - scan.modules
    owner = frame.owner
    if owner is not None and owner.is_module:
        tensors |= {name for attr, name in scan.self_inputs if owner.method(attr) is None}
    params = function.params
    any_given = not while_made and _may_be_given_accelerators(frame, function)
    for position, parameter in enumerate(params):
        name = parameter.name
        given = any_given and may_be_given(frame, function, name) and not _COUNT.search(name)
        told = flag(frame, function, name)
        if position == 0 and receiver is not None:
            value = receiver
        elif told is not None:
            value = Value(Kind.BOOL, data=told)
        elif parameter.kind in ("*", "**"):
            value = _rest(frame, parameter)
        elif isinstance(parameter.default, ir.Constant) and isinstance(
            parameter.default.value, str
        ):
            value = path_value(name, given)  # a string where it is left out, whatever is annotated
            if parameter.annotation is not None:
                value = unions.marked(frame, parameter.annotation, value)
        elif parameter.annotation is not None:
            value = annotated(frame, parameter.annotation, path_value(name, given))
        elif _LOADER_NAME.search(name):
            value = loader(frame, parameter, name)
        elif name in tensors and not _has_plain_default(parameter) and is_tensor_name(name):
            value = Value(Kind.TENSOR, place_of_path(Path(name, given)), origin=Origin.INPUT)
        else:
            value = path_value(name, given)
        if value.kind is Kind.TENSOR and value.device != UNKNOWN and frame.role is Role.MODULE:
            value = value.but(origin=Origin.FOLLOWS)
        frame.state.env[name] = value


def _may_be_given_accelerators(frame: Frame, function: ir.Function) -> bool:
    """Whether the arguments of a function may be on an accelerator for all that is known.

    What makes a module runs on the host; a function inside of another is called there and followed
    there; a file that never speaks of devices leaves its plain functions on the host, unless they
    say that they take tensors.
    """
    if function.name == "__init__" or frame.scopes:
        return False
    return (
        frame.file.speaks_of_devices
        or frame.role in (Role.MODULE, Role.MANAGED)
        or any(is_tensor(frame, p.annotation) for p in function.params if p.annotation is not None)
    )


def is_tensor_name(name: str) -> bool:
    """Whether a parameter of that name may be a tensor."""
    return _NO_TENSOR_NAME.search(name) is None


def _rest(frame: Frame, parameter: ir.Parameter) -> Value:
    """`*layers: nn.Module` is a tuple of modules."""
    if parameter.annotation is None or parameter.kind == "**":
        return NOTHING
    element = annotated(frame, parameter.annotation, NOTHING)
    if element.kind is not Kind.MODULE:
        return NOTHING
    return Value(Kind.TUPLE, data=frame.allocate(parameter, Object(element=element)))


def _has_plain_default(parameter: ir.Parameter) -> bool:
    """A default that is a number, a string or a truth value: no tensor parameter."""
    default = parameter.default
    return isinstance(default, ir.Constant) and default.value is not None
