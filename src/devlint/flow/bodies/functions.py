"""Functions: run inside a call with its arguments, or on their own."""

from __future__ import annotations

from devlint.flow.bodies import recursion, returns
from devlint.flow.bodies.annotations import annotated
from devlint.flow.bodies.answering import answer
from devlint.flow.bodies.classes import role_of
from devlint.flow.bodies.following import Call, can_be_followed, foreign, leads_nowhere, runs_apart
from devlint.flow.bodies.parameters import assume_parameters, may_be_tensor
from devlint.flow.bodies.reachable import left_behind
from devlint.flow.bodies.statements import run
from devlint.flow.bodies.terms import in_terms
from devlint.flow.calls.callers import is_asked_for
from devlint.flow.conditions.guards import guard_of
from devlint.flow.conditions.required import before, required, starts_on_cuda
from devlint.flow.devices import ignored
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.keys import IS_NONE, is_local, of_callee, roots
from devlint.flow.domain.lattice import UNKNOWN, Guarded, conditions
from devlint.flow.domain.paths import Path, Ref, given_tensor
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Kind, Value
from devlint.flow.effects import precision
from devlint.flow.facts import Guard
from devlint.flow.frames.aspects import Hidden
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import forget_optimizer, place_module
from devlint.flow.operations import unpacking
from devlint.model import ir


def invoke(
    frame: Frame,
    node: ir.Expr,
    closure: Closure,
    positional: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """What a call of a function of the file returns, and what it does to objects."""
    frame.state.known.update(required(frame, closure))
    if not can_be_followed(frame, closure, positional):
        unseen = any(each.is_unseen for each in (*positional, *keywords.values()))
        frame.world.answers.opened += unseen
        frame.state.wait()
        _forget(frame, closure, positional, keywords)
        return recursion.given_back(frame, closure, positional, keywords)
    is_part = frame.has_part(closure)
    if not is_part and leads_nowhere(frame, closure, positional, keywords):
        frame.state.wait()
        return NONE
    others = foreign(frame, closure, positional, keywords)
    if others or closure.file is not frame.file:  # what is known here isn't known there
        positional = [_as_known(frame, value) for value in positional]
        keywords = {name: _as_known(frame, value) for name, value in keywords.items()}
    role = role_of(closure.name, closure.owner, frame.of_role, closure.file)
    terms = None
    if runs_apart(frame, closure):
        _forget(frame, closure, positional, keywords)
        if returns.is_generator(closure):
            return NOTHING
        terms, positional, keywords = in_terms(frame, closure, positional, keywords)
    call = Call(node, closure, role, positional, keywords, others, terms)
    if terms is None and (is_part or not _has_summary(frame, closure)):
        value = _run_here(frame, call)[0]
    else:
        value = answer(frame, call, _run_here)
    told = value.trace is not None and value.kind in TENSORS
    return value.step(Sort.CALL, node) if told else value  # the steps by which it is known


def _run_here(frame: Frame, call: Call) -> tuple[Value, Frame, list[Ref]]:
    """Run a function inside of a call: what it gives, the frame that it ran in, and what it has
    written of the objects that somebody can still find."""
    closure, node, is_apart = call.closure, call.node, call.is_apart
    is_part = frame.has_part(closure)
    frame.world.step(len(frame.state.heap))
    state = State({}, Heap(frame.state.heap), call.known(frame), frame.state.default)
    state.copies, state.busy = frame.state.copies, frame.state.busy
    if frame.state.paths and not is_apart:
        brought = call.paths(frame)
        state.paths = {
            path: held
            for path, held in frame.state.paths.items()
            if path in brought
            or ((is_part or is_local(path)) and Path(path).root not in call.others)
        }
    if is_part and frame.tells:
        frame.world.followed.add(closure.node)
    inner = Frame(
        frame.world, closure.file, state, closure.node,
        frame.qualname if is_part else closure.qualname, call.role, closure.owner,
        closure.around, guard=frame.guard,
        recording=frame.recording and not is_apart, caller=frame, site=(*frame.here, node),
        is_apart=is_apart, is_alone=is_part,
        depth=frame.depth + (not is_part),
    )  # fmt: skip
    unpacking.bind_parameters(
        inner, closure.node.params, call.positional, call.keywords,
        lambda parameter, value: _proved(inner, parameter, value or NOTHING),
    )  # fmt: skip
    _settle_absence(frame, inner)
    mark = len(frame.world.facts)
    value = _run(inner)
    frame.reached |= inner.reached | {closure.node}
    frame.asked.update(inner.asked)
    _carry(frame, inner, value)
    if is_part:
        _tell(inner, mark)
    if returns.is_generator(closure):
        frame.state.wait()
        _forget(frame, closure, call.positional, call.keywords)
        return returns.elements(frame, node, inner), inner, []
    project = frame.world.project
    around = () if project is None else project.heap
    left = left_behind(frame.state.heap, inner.state.heap, value, around)
    value = _of_other_names(frame, inner, value, left, call.hidden(frame))
    for ref in left:
        frame.state.heap[ref] = inner.state.heap[ref]
    frame.state.default, frame.state.copies = inner.state.default, inner.state.copies
    frame.state.busy = inner.state.busy
    if inner.is_guest:
        frame.state.wait()  # what began there can't be pointed at
    return value, inner, left


def _of_other_names(
    frame: Frame, inner: Frame, value: Value, left: list[Ref], hidden: frozenset[str]
) -> Value:
    """What a function gives, and leaves behind, where that hangs on conditions which are settled
    for its call by the same words: there they are about something else."""
    heap = inner.state.heap
    places = (value.device, *(place for ref in left for place in heap[ref].places))
    keys = frozenset[str]().union(*map(conditions, places))
    inner.asked.update(map(Hidden, keys))
    frame.asked.update(keys)
    if keys.isdisjoint(hidden):
        return value

    def named(key: str) -> str:
        return of_callee(key, inner.qualname) if key in hidden else key

    for ref in left:
        heap[ref] = heap[ref].rekeyed(named)
    return value.rekeyed(named)


def _has_summary(frame: Frame, closure: Closure) -> bool:
    """Whether what a call does hangs on what it brings alone: what is being found out hangs on the
    derivations as well, and the body of a generator runs later."""
    local = any(map(is_local, frame.state.paths))
    return frame.world.trial is None and not local and not returns.is_generator(closure)


def _carry(frame: Frame, inner: Frame, value: Value) -> None:
    """What a function has stored in an object that isn't known and that it returns, such as the
    options of a program (`args.device = ...`), is found by the name of that object."""
    if value.kind is not Kind.UNKNOWN or not isinstance(value.data, Path) or not inner.state.paths:
        return
    text = value.data.text
    bound = frame.state.env.get(text)
    if not is_local(text) and bound is not None and bound.data != value.data:
        return  # it is called by the name of another one
    for name in [name for name, held in inner.state.env.items() if held.data == value.data]:
        for path, held in inner.state.paths.items():
            is_somewhere = held.kind is not Kind.DEVICE or held.device != UNKNOWN
            if path.startswith(f"{name}.") and is_somewhere:
                frame.state.paths[text + path.removeprefix(name)] = held


def _as_known(frame: Frame, value: Value) -> Value:
    """A value under the conditions that hold where it is handed on."""
    if not isinstance(value.device, Guarded):
        return value
    return value.but(device=frame.state.simplify(value.device))


def _forget(
    frame: Frame, closure: Closure, positional: list[Value], keywords: dict[str, Value]
) -> None:
    """A function that isn't followed may move what it is given, where it moves its argument."""
    moved = closure.file.scan(closure.node).moved
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


def _proved(frame: Frame, parameter: ir.Parameter, value: Value) -> Value:
    """An argument of which only the identity is known, with what the function itself proves."""
    if value.kind is not Kind.UNKNOWN or value.trait:
        return value
    if parameter.annotation is not None and (value is NOTHING or isinstance(value.data, Path)):
        return annotated(frame, parameter.annotation, value)
    if frame.function is not None and may_be_tensor(parameter):
        scan = frame.file.scan(frame.function)
        if parameter.name in scan.tensors - scan.data:
            return given_tensor(value.data, Sort.TENSOR_BY_USE, parameter)
    return value


def _settle_absence(frame: Frame, inner: Frame) -> None:
    """Settle for a call that a tensor which it gives isn't None; unless it hands on what its own
    caller may have left out. What is known of the caller's names says nothing of these."""
    around = [each for each in frame.chain() if each is frame or each.is_alone]
    optional = [
        each.state.env.get(parameter.name)
        for each in around
        for parameter in (each.function.params if each.function is not None else ())
        if parameter.default is not None
    ]
    for parameter in inner.function.params if inner.function is not None else ():
        value, key = inner.state.env.get(parameter.name), f"{parameter.name}{IS_NONE}"
        if value is not None and value.kind is Kind.TENSOR:
            if not any(value is each for each in optional):
                inner.state.known[key] = False


def _run(frame: Frame) -> Value:
    """Run a frame's function; its state is then that of all its ends."""
    value = recursion.run(frame, _of_body)
    if frame.scope is not None:
        frame.scope.close()
    return value


def _of_body(frame: Frame) -> Value:
    function = frame.function
    assert function is not None
    run(frame, function.body)
    ends = list(frame.returns)
    if frame.state.alive:
        ends.append((Value(Kind.NONE), frame.state))
    if not ends:
        return Value(Kind.NONE, trait=Trait.EXITS)
    value, frame.state = returns.together(ends)
    return value if frame.returns else NOTHING


def run_alone(
    closure: Closure,
    around: Frame,
    receiver: Value | None = None,
    known: dict[str, bool] | None = None,
    while_made: bool = False,
    inherited: bool = False,
) -> Frame:
    """Run a function with arguments of which only the identity is known; record its facts.

    `known` are the conditions under which it was defined. `while_made`: only a constructor calls
    it, so its arguments are on the host. `inherited`: it is a base's, and notes where it uses what
    this class keeps, and what it calls of it.
    """
    function = closure.node
    own = {each.name for each in function.params}
    defined = {key: holds for key, holds in (known or {}).items() if own.isdisjoint(roots(key))}
    settled = {**around.known_in(closure.file, own), **defined, **before(around, closure)}
    around.world.step(len(around.state.heap))
    state = State({}, Heap(around.state.heap), settled, around.state.default)
    outer = closure.owner.guard if closure.owner is not None else around.guard
    frame = Frame(
        around.world, closure.file, state, function, closure.qualname,
        role_of(closure.name, closure.owner, around.of_role, closure.file), closure.owner,
        closure.around, guard=guard_of(around, outer, function.decorators),
        recording=around.recording and (inherited or closure.file is around.world.home),
        inherited=inherited,
    )  # fmt: skip
    if frame.guard is Guard.NONE and (
        function.name == "cuda"  # who calls `.cuda()` asks for it
        or is_asked_for(frame, function)
        or starts_on_cuda(frame, function)
    ):
        frame.guard = Guard.CHOSEN
    assume_parameters(frame, function, receiver, while_made)
    _record_parameters(frame, function)
    mark = len(frame.world.facts)
    _run(frame)
    _tell(frame, mark)
    return frame


def _record_parameters(frame: Frame, function: ir.Function) -> None:
    """Write down what the parameters are, if somebody asks."""
    record = frame.world.record
    if record is None or not frame.recording:
        return
    for parameter in function.params:
        if record.covers(parameter):
            name = ir.Name(parameter.name, parameter.origin)
            operand = frame.operand(name, frame.state.env[parameter.name])
            record.bind(parameter, operand, frame.site)


def _tell(frame: Frame, mark: int) -> None:
    """What a whole function tells, by what was written down in it."""
    assert frame.function is not None
    ignored.tell(frame, frame.function, mark)
    precision.tell(frame, mark)
