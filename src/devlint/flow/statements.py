"""Statements: one function for each kind, over the state of the frame."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from devlint import ir
from devlint.flow import attributes, containers, library, meet, narrow, operations
from devlint.flow.annotations import annotated
from devlint.flow.classes import declare_class
from devlint.flow.devices import use_device
from devlint.flow.facts import BareReference
from devlint.flow.guards import guard_of
from devlint.flow.frame import ACCELERATOR_CHOSEN, ClassInfo, Closure, Frame
from devlint.flow.lattice import CPU, CUDA_AVAILABLE, Device
from devlint.flow.moves import METHODS
from devlint.flow.state import Path, State, join_states
from devlint.flow.values import NONE, NOTHING, Kind, Value

_MOST_ROUNDS = 4


def run(frame: Frame, body: ir.Body) -> None:
    """Run statements one after the other, as long as the path goes on."""
    for statement in body:
        if not frame.state.alive:
            return
        if frame.site:
            frame.world.budget -= 1
        _STATEMENTS[type(statement)](frame, statement)


def _evaluate(frame: Frame, node: ir.Evaluate) -> None:
    before = frame.discarded
    frame.discarded = node.value
    value = frame.evaluate(node.value)
    frame.discarded = before
    if isinstance(node.value, ir.Attribute) and node.value.attr in METHODS and frame.tells:
        base = frame.evaluate(node.value.value)
        operand = frame.operand(node.value.value, base)
        frame.record(BareReference(node.value, frame.context(), operand, node.value.attr))
    if value.note == "exits":
        frame.state.alive = False


def _assign(frame: Frame, node: ir.Assign) -> None:
    if node.value is None:
        return
    value = frame.evaluate(node.value)
    if node.annotation is not None and value.kind is Kind.UNKNOWN:
        value = annotated(frame, node.annotation, value)
    if value.kind is Kind.UNKNOWN and value.note == "shape" and len(node.targets) == 1:
        value = NOTHING if isinstance(node.targets[0], ir.Display) else value
    for target in node.targets:
        store(frame, target, value, node)
        if isinstance(target, ir.Name) and target.id == "pytestmark" and frame.function is None:
            frame.guard = guard_of(frame.guard, (node.value,), frame)


def store(frame: Frame, target: ir.Expr, value: Value, statement: ir.Stmt | None = None) -> None:
    """Write a value into a target."""
    if isinstance(target, ir.Name):
        operations.bind(frame, target, value)
    elif isinstance(target, ir.Attribute):
        attributes.store(frame, target, value, statement or ir.Evaluate(target))
    elif isinstance(target, ir.Subscript):
        _store_item(frame, target, value)
    elif isinstance(target, ir.Display) and statement is not None:
        for item, part in zip(target.items, operations.unpack(frame, value, target.items)):
            store(frame, item, part, statement)
    else:
        operations.bind(frame, target, value)


def _store_item(frame: Frame, target: ir.Subscript, value: Value) -> None:
    """`base[index] = value`. A copy into a slice may cross devices, an index may not."""
    base, index = frame.evaluate(target.value), frame.evaluate(target.index)
    if base.kind in (Kind.TENSOR, Kind.PLACED):
        parts = operations.index_parts(frame, target.index, index)
        meet.index(frame, target, (target.value, base), parts)
    elif base.kind is Kind.BATCH and isinstance(target.value, ir.Name):
        frame.state.env[target.value.id] = NOTHING
    elif base.kind is Kind.UNKNOWN and isinstance(base.data, Path):
        if isinstance(index.data, str):
            frame.state.paths[f'{base.data.text}["{index.data}"]'] = value
    else:
        containers.store_item(frame, base, index, value)


def _augment(frame: Frame, node: ir.Augment) -> None:
    left, right = frame.evaluate(node.target), frame.evaluate(node.value)
    value = operations.binary(frame, node, left, right)
    store(frame, node.target, value, node)


def _delete(frame: Frame, node: ir.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ir.Name):
            frame.state.env.pop(target.id, None)


def _return(frame: Frame, node: ir.Return) -> None:
    value = NONE if node.value is None else frame.evaluate(node.value)
    frame.returns.append((value, frame.state))
    _stop(frame)


def _stop(frame: Frame) -> None:
    frame.state = frame.state.fork()
    frame.state.alive = False


def _raise(frame: Frame, node: ir.Raise) -> None:
    if node.value is not None:
        frame.evaluate(node.value)
    _stop(frame)


def _break(frame: Frame, node: ir.Break) -> None:
    frame.breaks.append(frame.state)
    _stop(frame)


def _continue(frame: Frame, node: ir.Continue) -> None:
    frame.continues.append(frame.state)
    _stop(frame)


def _assert(frame: Frame, node: ir.Assert) -> None:
    frame.test(node.test)
    narrow.assume(frame, node.test, True)


def _if(frame: Frame, node: ir.If) -> None:
    frame.test(node.test)
    settled = narrow.settled(frame, node.test)
    if settled is not None:
        run(frame, node.body if settled else node.orelse)
        return
    key = narrow.key_of(frame, node.test)
    before = frame.state
    yes = before.fork()
    no = before.fork()
    frame.state = yes
    narrow.assume(frame, node.test, True)
    run(frame, node.body)
    yes = frame.state
    frame.state = no
    narrow.assume(frame, node.test, False)
    run(frame, node.orelse)
    frame.state = narrow.merge_states(yes, frame.state, key)


def _while(frame: Frame, node: ir.While) -> None:
    def enter() -> None:
        frame.test(node.test)
        narrow.assume(frame, node.test, True)

    _loop(frame, enter, node.body)
    run(frame, node.orelse)


def _for(frame: Frame, node: ir.For) -> None:
    source = frame.evaluate(node.iter)
    element = operations.element_of(frame, source, node.iter)

    def enter() -> None:
        store(frame, node.target, element, ir.Evaluate(node.iter))
        if source.note == "devices":
            frame.state.known[CUDA_AVAILABLE] = True

    _loop(frame, enter, node.body)
    run(frame, node.orelse)


def _loop(frame: Frame, enter: Callable[[], None], body: ir.Body) -> None:
    """Run a body until nothing changes; the facts are those of the first round, which meets
    what stood before the loop, and of the last."""
    entry = frame.state
    outer = (frame.breaks, frame.continues)
    facts, mark = frame.world.facts, len(frame.world.facts)
    done = entry
    for number in range(_MOST_ROUNDS):
        if number == 1:
            mark = len(facts)
        del facts[mark:]
        frame.breaks, frame.continues = [], []
        frame.state = entry.fork()
        enter()
        run(frame, body)
        end = frame.state
        for state in frame.continues:
            end = join_states(end, state)
        done = join_states(entry, end) if end.alive else entry
        stable = done.same_as(entry)
        exits = frame.breaks
        entry = done
        if stable:
            break
    frame.state = done.fork()
    frame.state.alive = True
    for state in exits:
        frame.state = join_states(frame.state, state)
    frame.breaks, frame.continues = outer


_EXPECTS = ("pytest.raises", "pytest.warns", "contextlib.suppress")


def _expects_error(frame: Frame, node: ir.Expr) -> bool:
    """`with pytest.raises(...)`, `with self.assertRaises(...)`."""
    if not isinstance(node, ir.Call):
        return False
    if isinstance(node.func, ir.Attribute) and node.func.attr.startswith("assertRaises"):
        return True
    return library.dotted(frame, node.func) in _EXPECTS


def _with(frame: Frame, node: ir.With) -> None:
    default, changed = frame.state.default, False
    expecting = frame.expecting
    frame.expecting |= any(_expects_error(frame, item) for item, _ in node.items)
    for expression, target in node.items:
        before = frame.context_expr
        frame.context_expr = expression
        value = frame.evaluate(expression)
        frame.context_expr = before
        device = _entered_device(frame, expression, value)
        if device is not None:
            frame.state.default, changed = device, True
        if target is not None:
            store(frame, target, NOTHING if value.kind is Kind.DEVICE else value, node)
    run(frame, node.body)
    frame.expecting = expecting
    if changed:
        frame.state.default = default


def _entered_device(frame: Frame, node: ir.Expr, value: Value) -> Device | None:
    """`with torch.device(d):` makes tensors there; `with device:` does so too."""
    if value.kind is Kind.DEVICE:
        return value.device
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path) and "device" in value.data.text:
        return use_device(frame, node, value, via="with")
    return None


def _try(frame: Frame, node: ir.Try) -> None:
    before = frame.state.fork()
    _attempt(frame, node)
    run(frame, node.orelse)
    ended = frame.state
    for handler in node.handlers:
        frame.state = join_states(before.fork(), ended.fork()) if ended.alive else before.fork()
        frame.state.known = dict(before.known)
        if handler.name:
            frame.state.bind(handler.name, NOTHING)
        run(frame, handler.body)
        ended = join_states(ended, frame.state)
    frame.state = ended
    if node.final:
        alive = frame.state.alive
        frame.state = frame.state.fork()
        frame.state.alive = True
        run(frame, node.final)
        frame.state.alive = frame.state.alive and alive


def _attempt(frame: Frame, node: ir.Try) -> None:
    """The body of a `try`. What a handler is there for is no surprise: the absence of CUDA, or
    an attribute that isn't there."""
    caught = {name for handler in node.handlers for name in _caught(frame, handler)}
    known, expecting = frame.state.known.get(ACCELERATOR_CHOSEN), frame.expecting
    if caught & _CATCHES_ABSENCE:
        frame.state.known[ACCELERATOR_CHOSEN] = True
    frame.expecting |= bool(caught & {"AttributeError", "TypeError"}) and len(node.body) <= 2
    run(frame, node.body)
    frame.expecting = expecting
    if known is None:
        frame.state.known.pop(ACCELERATOR_CHOSEN, None)


_CATCHES_ABSENCE = frozenset(("AssertionError", "RuntimeError", "Exception", "BaseException", ""))


def _caught(frame: Frame, handler: ir.Handler) -> list[str]:
    """The names of the exceptions that a handler catches; "" for a bare `except:`."""
    if handler.type is None:
        return [""]
    types = handler.type.items if isinstance(handler.type, ir.Display) else (handler.type,)
    return [ir.render(each).rpartition(".")[2] for each in types]


def _match(frame: Frame, node: ir.Match) -> None:
    frame.evaluate(node.subject)
    before = frame.state
    ends: list[State] = []
    complete = False
    for case in node.cases:
        frame.state = before.fork()
        for name in case.binds:
            frame.state.bind(name, NOTHING)
        for value in case.values:
            frame.evaluate(value)
        if len(case.values) == 1 and isinstance(case.values[0], ir.Constant):
            narrow.assume(frame, ir.Compare("==", node.subject, case.values[0]), True)
        if case.guard is not None:
            frame.evaluate(case.guard)
            narrow.assume(frame, case.guard, True)
        run(frame, case.body)
        ends.append(frame.state)
        complete = complete or case.irrefutable
    frame.state = ends[0] if complete and ends else before
    for end in ends:
        frame.state = join_states(frame.state, end)


def _function(frame: Frame, node: ir.Function) -> None:
    for decorator in node.decorators:
        frame.evaluate(decorator)
    _defaults(frame, node)
    qualname = f"{frame.qualname}.{node.name}".lstrip(".")
    scopes = (frame.state.env, *frame.scopes) if frame.function is not None else ()
    closure = Closure(node, scopes, frame.owner, qualname)
    if not frame.site and frame.recording:
        frame.world.pending.append((closure, frame, dict(frame.state.known)))
    opaque = any(not _transparent(frame, decorator) for decorator in node.decorators)
    value = NOTHING if opaque else Value(Kind.FUNCTION, data=closure)
    frame.state.bind(node.name, value)
    if node.name in frame.globals:
        frame.world.globals[node.name] = value


def _defaults(frame: Frame, node: ir.Function) -> None:
    for parameter in node.params:
        if parameter.default is None:
            continue
        value = frame.evaluate(parameter.default)
        text = value.data if value.kind is Kind.STRING else None
        if isinstance(text, str) and value.device != CPU and frame.tells:
            if _DEVICE_PARAMETER.search(parameter.name):
                use_device(frame, parameter.default, value, via="default")


_DEVICE_PARAMETER = re.compile(r"device(?!_?types?$)|^(gpu|dev|map_location)$")
_TRANSPARENT = frozenset(
    ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.jit.script",
     "torch.compile", "functools.wraps", "functools.lru_cache", "functools.cache",
     "builtins.staticmethod", "builtins.classmethod", "torch.jit.ignore", "torch.jit.export",
     "typing.overload", "torch.jit.unused")
)  # fmt: skip


def _transparent(frame: Frame, decorator: ir.Expr) -> bool:
    """Whether a decorated function does what its body says."""
    func = decorator.func if isinstance(decorator, ir.Call) else decorator
    return library.dotted(frame, func) in _TRANSPARENT


def _class(frame: Frame, node: ir.Class) -> None:
    for decorator in node.decorators:
        frame.evaluate(decorator)
    info: ClassInfo = declare_class(frame, node)
    info.guard = guard_of(frame.guard, node.decorators, frame)
    info.known = dict(frame.state.known)
    inner = Frame(
        frame.world, State(), qualname=f"{frame.qualname}.{node.name}".lstrip("."),
        scopes=(frame.state.env, *frame.scopes) if frame.function is not None else (),
        recording=frame.recording, owner=info, role=info.role, site=frame.site,
    )  # fmt: skip
    inner.state.heap, inner.state.known = frame.state.heap, dict(frame.state.known)
    for statement in node.body:
        if isinstance(statement, ir.Function):
            for decorator in statement.decorators:
                inner.evaluate(decorator)
            _defaults(inner, statement)
        else:
            _STATEMENTS[type(statement)](inner, statement)
    info.env.update(inner.state.env)
    frame.state.bind(node.name, Value(Kind.CLASS, data=info))


def _import(frame: Frame, node: ir.Import) -> None:
    library.import_names(frame, node)


def _import_from(frame: Frame, node: ir.ImportFrom) -> None:
    library.import_from(frame, node)


def _scope(frame: Frame, node: ir.Scope) -> None:
    if node.kind == "global":
        frame.globals = frame.globals | frozenset(node.names)


_STATEMENTS: dict[type, Callable[[Frame, Any], None]] = {
    ir.Evaluate: _evaluate,
    ir.Assign: _assign,
    ir.Augment: _augment,
    ir.Delete: _delete,
    ir.Return: _return,
    ir.Raise: _raise,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Assert: _assert,
    ir.If: _if,
    ir.While: _while,
    ir.For: _for,
    ir.With: _with,
    ir.Try: _try,
    ir.Match: _match,
    ir.Function: _function,
    ir.Class: _class,
    ir.Import: _import,
    ir.ImportFrom: _import_from,
    ir.Scope: _scope,
}
