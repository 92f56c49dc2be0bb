"""Statements that branch or enter: where paths part, and where they join again."""

from __future__ import annotations

from collections.abc import Callable

from devlint.flow.bodies import returns
from devlint.flow.conditions import choices, implications, narrow, questions
from devlint.flow.conditions.settled import settled, undecided
from devlint.flow.devices.named import use_device
from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE
from devlint.flow.domain.lattice import CPU, Device, Known
from devlint.flow.domain.paths import Path
from devlint.flow.domain.state import State
from devlint.flow.domain.state_joins import join_states
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_values
from devlint.flow.domain.values import NAMED, NOTHING, Kind, Value
from devlint.flow.frames import library
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.missing import note_partly
from devlint.flow.syntax.walk import names_assigned, nodes_of, statements_of
from devlint.model import ir
from devlint.model.trees import called, dotted_name, last_name, one_or_several
from devlint.policy import means


def branch(frame: Frame, node: ir.If) -> None:
    """`if`: one branch where its test is settled, else both, and what is known after either."""
    tested = questions.test(frame, node.test)
    holds = frame.world.classes.reused.get(node)
    if holds is None:
        holds = settled(frame, node.test, tested)
    if holds is not None:
        frame.run(node.body if holds else node.orelse)
        return
    test = undecided(frame, node.test)
    key = implications.parting(frame, test)
    loop, frame.loop = frame.loop, None
    arm, frame.arm = frame.arm, node
    before, (asked, holds) = frame.state, choices.positive(test)
    frame.state = frame.fork(before)
    parts = key is None and frame.file.once(_returns, node)
    if parts:
        frame.state.parted = _parted(before, asked, holds)
    narrow.assume(frame, test, True)
    frame.run(node.body)
    yes, frame.state = frame.state, frame.fork(before)
    questions.note_built(frame, test, *map(yes.env.get, names_assigned(node.body)))
    _keep_stored(frame, node, yes)
    if parts:
        frame.state.parted = _parted(before, asked, not holds)
    narrow.assume(frame, test, False)
    frame.run(node.orelse)
    no, frame.state = frame.state, before
    frame.state = choices.merge_states(frame, yes, no, key, test)
    frame.loop, frame.arm = loop, arm
    if key is not None and not node.orelse:
        note_partly(frame, node, key, yes, no)


def _returns(node: ir.If) -> bool:
    """Whether a way out of a function stands in a branch."""
    return any(isinstance(each, ir.Return) for each in statements_of((node,)))


def _parted(before: State, asked: ir.Expr, holds: bool) -> dict[ir.Expr, bool]:
    """How tests came out, the last ones: where more than that part a function, nobody asks."""
    last = [*before.parted.items()][1 - _MOST_TESTS :]
    return {**dict(last), asked: holds}


_MOST_TESTS = 16


def _keep_stored(frame: Frame, node: ir.If, taken: State) -> None:
    """`if self.first: ...; self.first = False`: only the first call takes that branch. Where it
    isn't taken, an earlier one has stored what it stores."""
    flag = _flag(node)
    if flag is None:
        return
    owner = frame.evaluate(flag.value)
    stored = taken.heap.get(owner.data) if taken.alive and owner.trait is Trait.SELF else None
    if stored is not None:
        frame.update(owner, stored)


def _flag(node: ir.If) -> ir.Attribute | None:
    """The attribute that is asked for, and that the branch sets so that it isn't taken again."""
    test, ends = node.test, False
    if isinstance(test, ir.Unary) and test.op == "not":
        test, ends = test.operand, True
    if not isinstance(test, ir.Attribute) or not isinstance(test.value, ir.Name):
        return None
    for statement in node.body:
        match statement:
            case ir.Assign(targets=(ir.Attribute() as target,), value=ir.Constant(value=value)):
                if value is ends and dotted_name(target) == dotted_name(test):
                    return test
    return None


_EXPECTS = ("pytest.raises", "pytest.warns", "contextlib.suppress")


def _expects_error(frame: Frame, node: ir.Expr) -> bool:
    """`with pytest.raises(...)`, `with self.assertRaises(...)`."""
    match node:
        case ir.Call(func=ir.Attribute(attr=attr)) if attr.startswith("assertRaises"):
            return True
        case ir.Call(func=func):
            return library.dotted(frame, func) in _EXPECTS
    return False


def enter(frame: Frame, node: ir.With) -> None:
    """`with`: it may lend a default device, make somebody wait, or expect an error."""
    default, changed = frame.state.default, False
    expecting, lent = frame.expecting, frame.default_is_lent
    catches = any(_expects_error(frame, item) for item, _ in node.items)
    frame.expecting |= catches
    for expression, target in node.items:
        value = frame.evaluate(expression)
        device = _entered_device(frame, expression, value)
        if device is not None:
            frame.state.default, changed = device, True
            frame.default_is_lent = True
        if value.kind is Kind.INSTANCE:
            value = returns.entered(frame, expression, value)
        if target is not None:
            frame.world.store(frame, target, NOTHING if value.kind is Kind.DEVICE else value)
    outside = frame.fork() if catches else None
    ends = _ends(frame)
    frame.run(node.body)
    if outside is not None and not frame.state.alive:
        frame.state = outside
    waits = not all(library.dotted(frame, called(item)) for item, _ in node.items)

    def leave() -> None:
        if waits:
            frame.state.wait()  # leaving it may wait
        if changed:
            frame.state.default = default

    leave()
    _on_ways_out(frame, ends, leave)
    frame.expecting, frame.default_is_lent = expecting, lent


def _ends(frame: Frame) -> tuple[int, int, int]:
    """How many ways out were taken by now: by `return`, `break` and `continue`."""
    return len(frame.returns), len(frame.breaks), len(frame.continues)


def _on_ways_out(frame: Frame, before: tuple[int, int, int], last: Callable[[], None]) -> None:
    """Do what is done at last on each way out that was taken since."""
    after = frame.state

    def done(state: State) -> State:
        frame.state = state
        last()
        return frame.state

    returns, breaks, continues = before
    frame.returns[returns:] = [(value, done(state)) for value, state in frame.returns[returns:]]
    frame.breaks[breaks:] = map(done, frame.breaks[breaks:])
    frame.continues[continues:] = map(done, frame.continues[continues:])
    frame.state = after


def _entered_device(frame: Frame, node: ir.Expr, value: Value) -> Device | None:
    """`with torch.device(d):` makes tensors there; `with device:` does so too."""
    if value.kind is Kind.DEVICE:
        return value.device
    if value.kind is Kind.UNKNOWN and isinstance(value.data, Path):
        if means("about-devices", value.data.text, "variable"):
            return use_device(frame, node, value, via="with")
    return None


def attempt(frame: Frame, node: ir.Try) -> None:
    before, ends = frame.fork(), _ends(frame)
    raised = _attempt(frame, node)
    frame.run(node.orelse)
    ended = frame.state
    for handler in node.handlers:
        frame.state = frame.fork(raised)
        frame.state.known = before.known.copy()
        if handler.name:
            frame.state.bind(handler.name, NOTHING)
        frame.run(handler.body)
        joined = join_states(ended, frame.state)
        if _catches_absence(handler) and ended.alive and frame.state.alive:
            _choose_devices(ended, frame.state, joined)
        ended = joined
    frame.state = ended
    if node.final:
        # It runs on every way out; what comes after it, only where nothing was raised.
        with frame.silently():
            _on_ways_out(frame, ends, lambda: frame.run(node.final))
        frame.state = join_states(frame.fork(raised), ended)
        frame.run(node.final)
        frame.state = frame.fork(ended)
        with frame.silently():
            frame.run(node.final)


def _attempt(frame: Frame, node: ir.Try) -> State:
    """The body of a `try`; what holds wherever it may raise. What a handler is there for is no
    surprise: the absence of CUDA, or an attribute that isn't there."""
    caught = {name for handler in node.handlers for name in _caught(handler)}
    known, expecting = frame.state.known.told(ACCELERATOR_CHOSEN), frame.expecting
    if any(_catches_absence(handler) for handler in node.handlers):
        frame.state.known[ACCELERATOR_CHOSEN] = True
    frame.expecting |= bool(caught & {"AttributeError", "TypeError"}) and len(node.body) <= 2
    frame.expecting |= any(
        _goes_on(handler) or _tries_again(node, handler) for handler in node.handlers
    )
    raised = frame.fork()
    for statement in node.body:
        frame.run((statement,))
        if frame.state.alive:
            raised = join_states(raised, frame.fork())
    frame.expecting = expecting
    if known is None:
        frame.state.known.pop(ACCELERATOR_CHOSEN)
    return raised


def _goes_on(handler: ir.Handler) -> bool:
    """Whether a handler takes what torch raises about devices for an answer, and goes on."""
    if "RuntimeError" not in _caught(handler) or _frees_memory(handler):
        return False
    return not any(isinstance(node, (ir.Raise, ir.Call)) for node in nodes_of(handler.body))


_CATCHES_ALL = frozenset(("RuntimeError", "TypeError", "Exception", "BaseException", ""))


def _tries_again(node: ir.Try, handler: ir.Handler) -> bool:
    """Whether a handler works out by other means what the body was to give: what it binds, or what
    it returns."""
    if not _CATCHES_ALL.intersection(_caught(handler)):
        return False
    given = _given(node.body)
    return bool(given) and given <= _given(handler.body)


def _given(body: ir.Body) -> set[str]:
    """The names that statements bind to what is no constant; "" where they return such a thing."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case ir.Assign(value=ir.Constant()) | ir.Return(value=ir.Constant() | None):
                pass
            case ir.Assign(targets=targets):
                found |= {each.id for each in targets if isinstance(each, ir.Name)}
            case ir.Return():
                found.add("")
    return found


_CATCHES_ABSENCE = frozenset(("AssertionError", "RuntimeError", "Exception", "BaseException", ""))


def _catches_absence(handler: ir.Handler) -> bool:
    """Whether a handler is there for machines without CUDA."""
    return bool(_CATCHES_ABSENCE.intersection(_caught(handler))) and not _frees_memory(handler)


def _choose_devices(tried: State, caught: State, joined: State) -> None:
    """A name for CUDA where a `try` has come through, and for the CPU where it hasn't, is a choice
    by what the machine has."""
    for name, usual in tried.env.items():
        other = caught.env.get(name)
        if other is not None and usual.kind in NAMED and other.kind in NAMED:
            cuda = isinstance(usual.device, Known) and usual.device.type == "cuda"
            if cuda and other.device == CPU:
                joined.env[name] = join_values(usual, other, CUDA_AVAILABLE)


def _frees_memory(handler: ir.Handler) -> bool:
    """Whether a handler is there for the end of the accelerator's memory, not for its absence."""
    nodes = nodes_of(handler.body)
    return any(isinstance(node, ir.Attribute) and node.attr == "empty_cache" for node in nodes)


def _caught(handler: ir.Handler) -> list[str]:
    """The names of the exceptions that a handler catches; "" for a bare `except:`."""
    return [""] if handler.type is None else list(map(last_name, one_or_several(handler.type)))


def _asked(node: ir.Match, case: ir.Case) -> ir.Expr | None:
    """The condition that a case of constants stands for."""
    if not case.values or not all(isinstance(each, ir.Constant) for each in case.values):
        return None
    if len(case.values) == 1:
        return ir.Compare("==", node.subject, case.values[0])
    return ir.Compare("in", node.subject, ir.Display("tuple", case.values))


def match(frame: Frame, node: ir.Match) -> None:
    """A chain of conditions, as far as its cases are constants."""
    frame.evaluate(node.subject)
    before = frame.state
    ends: list[State] = []
    complete = False
    for case in node.cases:
        asked = _asked(node, case)
        frame.state = before
        holds = None if asked is None else settled(frame, asked)
        if holds is False:
            continue
        frame.state = frame.fork(before)
        for name in case.binds:
            frame.state.bind(name, NOTHING)
        for value in case.values:
            frame.evaluate(value)
        if asked is not None:
            narrow.assume(frame, asked, True)
        if case.guard is not None:
            frame.evaluate(case.guard)
            narrow.assume(frame, case.guard, True)
        frame.run(case.body)
        ends.append(frame.state)
        if case.irrefutable or (holds and case.guard is None):
            complete = True
            break
        if asked is not None and case.guard is None:
            frame.state = frame.fork(before)
            narrow.assume(frame, asked, False)
            before = frame.state
    frame.state = ends[0] if complete and ends else before
    for end in ends:
        frame.state = join_states(frame.state, end)
