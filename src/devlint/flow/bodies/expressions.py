"""What an expression is: one function for each kind of node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devlint.flow.bodies import comprehensions
from devlint.flow.bodies.definitions import run_defaults
from devlint.flow.calls import calls
from devlint.flow.conditions import choices, fallbacks, implications, narrow, questions
from devlint.flow.conditions.settled import settled, undecided
from devlint.flow.devices.named import string_value
from devlint.flow.domain.paths import path_value
from devlint.flow.domain.state_joins import join_states
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NONE, NOTHING, TENSORS, Condition, Kind, Value
from devlint.flow.effects import ranks
from devlint.flow.frames import library, missing
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import BUILTINS, library_value
from devlint.flow.frames.record import Record
from devlint.flow.operations import (
    arrivals,
    attributes,
    dimensions,
    operators,
    subscripts,
    unpacking,
)
from devlint.model import ir


def _constant(frame: Frame, node: ir.Constant) -> Value:
    value = node.value
    if value is None:
        return NONE
    if isinstance(value, str):
        return string_value(frame, value, node)
    if isinstance(value, bool):
        return Value(Kind.BOOL, data=value)
    if isinstance(value, (int, float, complex)):
        return Value(Kind.NUMBER, data=value)
    return NOTHING


def _name(frame: Frame, node: ir.Name) -> Value:
    value = frame.look_up(node.id)
    if value is not None:
        if frame.testing:
            value = dimensions.asked(frame, node, value)
        return library.followed(frame, value, node) if value.kind is Kind.LIBRARY else value
    if node.id in BUILTINS:
        return library_value(f"builtins.{node.id}")
    found = library.from_star(frame, node)
    if found is None and missing.is_unbound(frame, node):
        frame.state.alive = False
    return found or path_value(node.id)


def _attribute(frame: Frame, node: ir.Attribute) -> Value:
    missing.note_asked(frame, node)
    value = attributes.read(frame, node, frame.evaluate(node.value))
    asks = value.trait is Trait.ANSWER and value.data is None  # `x.is_cuda`
    return implications.truth(frame, node, value).but(trait=Trait.ANSWER) if asks else value


def _subscript(frame: Frame, node: ir.Subscript) -> Value:
    base = frame.evaluate(node.value)
    if base.kind is Kind.LIBRARY:
        if base.data == "os.environ":
            return ranks.of_variable(frame, node, frame.evaluate(node.index))
        namespace, _, held = str(base.data).rpartition(".")
        if held == "__dict__":  # `models.__dict__[name]`
            return library.member(frame, namespace, frame.evaluate(node.index).data, node)
        frame.ask(node.index)  # `Union[torch.FloatTensor, ...]` uses no device
        return NOTHING
    if isinstance(base.data, ClassInfo) and _is_generic(base.data):  # `C[int]` makes what `C` does
        frame.ask(node.index)
        return base
    return subscripts.subscript(frame, node, base, frame.evaluate(node.index))


def _is_generic(info: ClassInfo) -> bool:
    return any(name.startswith("typing.") for name in info.library_bases())


def _slice(frame: Frame, node: ir.Slice) -> Value:
    parts = (node.lower, node.upper, node.step)
    bounds = tuple(None if part is None else frame.evaluate(part).data for part in parts)
    each = zip(bounds, parts, strict=True)
    known = all(part is None or type(bound) is int for bound, part in each) and bounds[2] != 0
    return Value(Kind.UNKNOWN, data=bounds if known else None, trait=Trait.SLICE)


def _call(frame: Frame, node: ir.Call) -> Value:
    value = calls.call(frame, node)
    if value.trait is Trait.EXITS:
        frame.state.alive = False
    return value


def _binary(frame: Frame, node: ir.Binary) -> Value:
    # Long sums lean to the left: their spine is walked without recursion.
    spine: list[ir.Binary] = [node]
    while isinstance(spine[-1].left, ir.Binary):
        spine.append(spine[-1].left)
    value = frame.evaluate(spine[-1].left)
    for link in reversed(spine):
        value = operators.binary(frame, link, value, frame.evaluate(link.right))
    return value


def _unary(frame: Frame, node: ir.Unary) -> Value:
    value = frame.evaluate(node.operand)
    if node.op == "not":
        questions.note_uncalled(frame, node.operand, value)
        return implications.truth(frame, node, value)
    if value.kind in (Kind.TENSOR, Kind.BATCH, Kind.NDARRAY):
        arrivals.read(frame, node, (node.operand, value))
        return value.but(trait=None, data=None)
    if value.kind is Kind.NUMBER and isinstance(value.data, (int, float)):
        return value.but(data=-value.data if node.op == "-" else None)
    return Value(Kind.NUMBER) if value.kind is Kind.NUMBER else NOTHING


def _boolean(frame: Frame, node: ir.Boolean) -> Value:
    # `a and b and c` leans to the left: its terms are taken one by one, each knowing those before.
    terms: list[ir.Expr] = []
    rest: ir.Expr = node
    while isinstance(rest, ir.Boolean) and rest.op == node.op:
        terms.append(rest.right)
        rest = rest.left
    values = [frame.evaluate(rest)]
    outside = frame.state
    frame.state = frame.fork(outside)
    for term in reversed(terms):
        spelled = any(
            isinstance(each, ir.Constant) and isinstance(each.value, str) for each in (rest, term)
        )
        if not spelled and settled(frame, rest) is (node.op == "or"):
            break  # what follows never runs; with a string it is a slip that rules tell of
        questions.note_uncalled(frame, rest, values[-1])
        narrow.assume(frame, rest, node.op == "and")
        values.append(frame.evaluate(term))
        rest = term
    frame.state = join_states(outside, frame.state)
    if frame.testing:
        questions.note_uncalled(frame, rest, values[-1])
    if node.op == "or" and frame.tells and len(values) > len(terms):
        fallbacks.look_at(frame, node, values)
    if any(isinstance(value.data, Condition) for value in values):
        same = all(value.kind is values[0].kind for value in values)
        return implications.truth(frame, node, values[0] if same else NOTHING)
    if node.op == "or" and len(values) == 2:
        return choices.defaulted(frame, node, values[0], values[1])
    return join_all(values) if node.op == "or" else values[-1]


def _compare(frame: Frame, node: ir.Compare) -> Value:
    before, frame.comparing = frame.comparing, True
    left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    frame.comparing = before
    return operators.compare(frame, node, left, right)


def _conditional(frame: Frame, node: ir.Conditional) -> Value:
    tested = questions.test(frame, node.test)
    if frame.tells:
        fallbacks.look_at_choice(frame, node)
    known = settled(frame, node.test, tested)
    if known is not None:
        return frame.evaluate(node.body if known else node.orelse)
    test = undecided(frame, node.test)
    key = implications.parting(frame, test)
    outside = frame.state
    ends = []
    for holds, branch in ((True, node.body), (False, node.orelse)):
        frame.state = frame.fork(outside)
        narrow.assume(frame, test, holds)
        value = frame.evaluate(branch)
        frame.state.env[_CHOSEN] = value
        ends.append((value, frame.state))
    (yes, after_yes), (_, after_no) = ends
    frame.state = outside
    frame.state = choices.merge_states(frame, after_yes, after_no, key, test)
    frame.state.known = outside.known.copy()
    questions.note_built(frame, test, yes)
    chosen = frame.state.env.pop(_CHOSEN)
    rest = yes.kind in TENSORS and narrow.leaves_the_rest(frame, test, node.orelse)
    return yes if rest else chosen


_CHOSEN = "<chosen>"
"""The name by which the value of a choice is joined: what is chosen is one of the two objects."""


def _lambda(frame: Frame, node: ir.Lambda) -> Value:
    function = frame.file.once(_as_function, node)
    run_defaults(frame, function)
    qualname = f"{frame.qualname}.<lambda>".lstrip(".")
    closure = Closure(function, frame.file, frame.inner(), frame.owner, qualname)
    if frame.tells:  # once on its own, as functions are
        outside, frame.state = frame.state, frame.fork()
        for parameter in node.params:
            frame.state.bind(parameter.name, path_value(parameter.name))
        frame.evaluate(node.body)
        frame.state = outside
    return Value(Kind.FUNCTION, data=closure)


def _as_function(node: ir.Lambda) -> ir.Function:
    """A lambda is a function that returns."""
    body = (ir.Return(node.body, node.origin),)
    return ir.Function("<lambda>", node.params, body, origin=node.origin)


def _walrus(frame: Frame, node: ir.Walrus) -> Value:
    value = frame.evaluate(node.value)
    frame.state.bind(node.target.id, value)
    return value


def _starred(frame: Frame, node: ir.Starred) -> Value:
    return unpacking.element_of(frame, frame.evaluate(node.value))


def _await(frame: Frame, node: ir.Await) -> Value:
    frame.evaluate(node.value)
    frame.state.wait()
    return NOTHING


def _yield(frame: Frame, node: ir.Yield) -> Value:
    value = NONE if node.value is None else frame.evaluate(node.value)
    value = unpacking.element_of(frame, value) if node.delegate else value
    frame.yielded.append((value, frame.fork()))
    frame.state.wait()  # what gets it may wait
    return NOTHING


def _text(frame: Frame, node: ir.Text) -> Value:
    values = [(part, frame.evaluate(part)) for part in node.parts]
    return operators.formatted(frame, values)


EVALUATORS: dict[type, Callable[[Frame, Any], Value]] = {
    ir.Constant: _constant,
    ir.Name: _name,
    ir.Attribute: _attribute,
    ir.Subscript: _subscript,
    ir.Slice: _slice,
    ir.Call: _call,
    ir.Binary: _binary,
    ir.Unary: _unary,
    ir.Boolean: _boolean,
    ir.Compare: _compare,
    ir.Conditional: _conditional,
    ir.Display: comprehensions.display,
    ir.Mapping: comprehensions.mapping,
    ir.Comprehension: comprehensions.comprehension,
    ir.Lambda: _lambda,
    ir.Walrus: _walrus,
    ir.Starred: _starred,
    ir.Await: _await,
    ir.Yield: _yield,
    ir.Text: _text,
}


def watched(record: Record) -> dict[type, Callable[[Frame, Any], Value]]:
    """The same functions, which also write down what stands at the lines of a record."""
    return {kind: _watched(evaluator, record) for kind, evaluator in EVALUATORS.items()}


def _watched(
    evaluator: Callable[[Frame, Any], Value], record: Record
) -> Callable[[Frame, Any], Value]:
    def watch(frame: Frame, node: ir.Expr) -> Value:
        value = evaluator(frame, node)
        if frame.recording and record.covers(node):
            record.see(frame.operand(node, value), frame.site)
        return value

    return watch
