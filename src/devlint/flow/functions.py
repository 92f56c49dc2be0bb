"""Functions of the file: run inside a call with its arguments, or on their own."""

from __future__ import annotations

import re
from collections.abc import Hashable

from devlint import ir
from devlint.flow.annotations import annotated, loader
from devlint.flow.classes import role_of
from devlint.flow.facts import Guard, Role
from devlint.flow.frame import Closure, Frame, path_value, place_of_path
from devlint.flow.guards import guard_of
from devlint.flow.lattice import UNKNOWN
from devlint.flow.placement import place_module
from devlint.flow.state import Heap, Object, Path, State, join_states, join_values
from devlint.flow.statements import run
from devlint.flow.values import NONE, NOTHING, Kind, Origin, Value

_LOADER_NAME = re.compile(r"(^|_)(data_?)?loader$|dataloader$", re.IGNORECASE)
_NO_TENSOR_NAME = re.compile(r"device|dtype|^(dev|gpu|rank|config|cfg|args|kwargs)$")
_LONGEST_INLINED = 60


def invoke(
    frame: Frame,
    node: ir.Call,
    closure: Closure,
    positional: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """What a call of a function of the file returns, and what it does to objects."""
    if not _can_be_followed(frame, closure):
        _forget(frame, closure, positional, keywords)
        return NOTHING
    if _leads_nowhere(frame, closure, positional, keywords):
        return NONE
    question = _question(frame, closure, positional, keywords)
    receiver = frame.object(positional[0]) if positional else None
    told = None if question is None else frame.world.answers.get(question)
    if told is not None and told[0] is receiver:
        return told[1]
    state = State({}, Heap(frame.state.heap), dict(frame.state.known), frame.state.default)
    inner = Frame(
        frame.world, state, closure.node, closure.qualname,
        role_of(closure.name, closure.owner, frame.role), closure.owner, closure.scopes,
        guard=frame.guard, recording=frame.recording, caller=frame, site=(*frame.site, node),
    )  # fmt: skip
    _bind_arguments(inner, closure, positional, keywords)
    value = _run(inner)
    changed = False
    for ref in inner.state.heap.written:
        changed = changed or ref in frame.state.heap
        frame.state.heap[ref] = inner.state.heap[ref]
    if question is not None and not changed and frame.object(value) is None:
        frame.world.answers[question] = (receiver, value)
    frame.state.default = inner.state.default
    return value


def _leads_nowhere(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> bool:
    """Whether a function neither answers nor changes anything, and is given nothing that its own
    run doesn't know: then there is nothing to learn from following the call."""
    if isinstance(closure.node, ir.Lambda) or frame.world.scan(closure.node).answers:
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
    object among the arguments. Asked again, it has the same answer, and the same facts."""
    given = [*positional[1:], *keywords.values()]
    if any(frame.object(value) is not None for value in given):
        return None
    first = positional[0] if positional else None
    known = frozenset(frame.state.known.items())
    names = tuple(keywords)
    context = (frame.recording, frame.expecting, frame.role, known, frame.state.default)
    return (closure.node, first, tuple(given), names, context)


def _can_be_followed(frame: Frame, closure: Closure) -> bool:
    if not frame.can_inline or any(f.function is closure.node for f in frame.chain()):
        return False
    if isinstance(closure.node, ir.Lambda):
        return True
    scan = frame.world.scan(closure.node)
    return not (scan.yields or closure.node.is_async or scan.size > _LONGEST_INLINED)


def _forget(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> None:
    """A function that isn't followed may move what it is given, where it moves its argument."""
    if isinstance(closure.node, ir.Lambda):
        return
    moved = {
        root.partition(".")[0].partition("[")[0] for root in frame.world.scan(closure.node).moved
    }
    given = dict(zip((p.name for p in closure.node.params), positional, strict=False))
    for name, value in {**given, **keywords}.items():
        found = frame.object(value)
        if name in moved and found is not None:
            if value.kind is Kind.MODULE:
                place_module(frame, value, UNKNOWN)
            else:
                frame.update(value, Object(source=found.source))


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
        if value is NOTHING and parameter.annotation is not None:
            value = annotated(frame, parameter.annotation, value)
        frame.state.env[parameter.name] = value


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
) -> Frame:
    """Run a function with arguments of which only the identity is known; record its facts.

    `known` are the conditions under which it was defined. `while_made`: only a constructor calls
    it, so its arguments are on the host.
    """
    function = closure.node
    assert isinstance(function, ir.Function)
    settled = {**around.state.known, **(known or {})}
    state = State({}, Heap(around.state.heap), settled, around.state.default)
    frame = Frame(
        around.world, state, function, closure.qualname,
        role_of(closure.name, closure.owner, around.role), closure.owner, closure.scopes,
        guard=guard_of(frame_guard(closure, around), function.decorators, around),
        recording=around.recording,
    )  # fmt: skip
    _bind_parameters(frame, function, receiver, while_made)
    _run(frame)
    return frame


def frame_guard(closure: Closure, around: Frame) -> Guard:
    return closure.owner.guard if closure.owner is not None else around.guard


def _bind_parameters(
    frame: Frame, function: ir.Function, receiver: Value | None, while_made: bool
) -> None:
    scan = frame.world.scan(function)
    tensors = scan.tensors - scan.data
    owner = frame.owner
    if owner is not None and owner.is_module:
        tensors |= {name for attr, name in scan.self_inputs if owner.method(attr) is None}
    params = function.params
    given = not while_made and _may_be_given_accelerators(frame, function)
    for position, parameter in enumerate(params):
        name = parameter.name
        if position == 0 and receiver is not None:
            value = receiver
        elif parameter.kind in ("*", "**"):
            value = _rest(frame, parameter)
        elif isinstance(parameter.default, ir.Constant) and isinstance(
            parameter.default.value, str
        ):
            value = path_value(name, given)  # a string where it is left out, whatever is annotated
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

    What makes a module runs on the host; a private function, or one inside of another, is called
    in this file and followed there; a file that never speaks of devices leaves its plain functions
    on the host.
    """
    private = function.name.startswith("_") and not function.name.endswith("__")
    if function.name == "__init__" or private or frame.scopes:
        return False
    return frame.world.speaks_of_devices or frame.role in (Role.MODULE, Role.MANAGED)


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
