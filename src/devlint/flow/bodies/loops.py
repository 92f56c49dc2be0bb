"""Loops: a body runs until nothing changes, or once for each of a few items that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from devlint.flow.conditions import narrow, questions
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.paths import Ref, Turn
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.state_joins import join_states, widened
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.operations import unpacking
from devlint.flow.operations.dimensions import note_length
from devlint.flow.operations.siblings import beside_moved
from devlint.flow.syntax import rounds
from devlint.model import ir

_MOST_ROUNDS = 4


def while_loop(frame: Frame, node: ir.While) -> None:
    if isinstance(node.test, ir.Constant) and not node.test.value:
        frame.run(node.orelse)
        return

    def enter() -> None:
        questions.test(frame, node.test)
        narrow.assume(frame, node.test, True)

    _loop(frame, enter, node)


def for_loop(frame: Frame, node: ir.For) -> None:
    source = frame.evaluate(node.iter)
    note_length(frame, source)
    items = unpacking.known_items(frame, source)
    if unpacking.are_one_by_one(frame, items):
        _run_each(frame, node, items)
        return
    element = unpacking.element_of(frame, source, node.iter)
    element = beside_moved(frame, node.iter, node.target, element, node.body)
    parts = _parts(frame, element)

    def enter() -> None:
        for ref, found in parts.items():
            if frame.state.heap[ref] is not found:
                frame.state.heap[ref] = found
        frame.world.store(frame, node.target, element)
        if source.trait is Trait.DEVICE_INDICES:
            frame.state.known[CUDA_AVAILABLE] = True

    _loop(frame, enter, node, runs=bool(items))


def _parts(frame: Frame, element: Value) -> dict[Ref, Object]:
    """The object that stands for each of a loop's items, and the containers in it, as they are
    before the loop: each round has another item, of which no earlier round has changed anything."""
    parts: dict[Ref, Object] = {}
    waiting = [element]
    for value in waiting:
        found = frame.state.heap.get(value.data)
        owned = value.kind.is_container or (value is element and value.kind is Kind.INSTANCE)
        if found is not None and owned and value.data not in parts:
            parts[value.data] = found
            waiting += found.inside
    return parts


def _run_each(frame: Frame, node: ir.For, items: Sequence[Value]) -> None:
    """Run a body for each of the items that are known, one after the other."""
    state, exits, turns = frame.state, list[State](), frame.turns
    for number, item in enumerate(items):
        frame.turns = (*turns, Turn(node, number))
        enter = partial(frame.world.store, frame, node.target, item)
        state, left = _round(frame, enter, node, state)
        exits += left
        if not state.alive:
            break
    frame.state, frame.turns = state, turns
    frame.run(node.orelse)
    frame.state = reduce(join_states, exits, frame.state)


def _loop(
    frame: Frame, enter: Callable[[], None], node: ir.For | ir.While, runs: bool = False
) -> None:
    """Run a body until nothing changes; `runs`: at least once. The facts are those of the first
    round, which meets what stood before the loop, and of the last. Later rounds meet what a round
    has left and nothing else: not what stood before. What hasn't settled after a few rounds is
    unknown."""
    before = frame.state
    head, first = _round(frame, enter, node, before)
    exits = first
    facts, mark = frame.world.facts, len(frame.world.facts)
    for number in range(1, _MOST_ROUNDS):
        if not head.alive or head.same_as(before):
            break
        if number == 1 and rounds.tells_all(frame.file.once(rounds.reads, node), before, head):
            break
        del facts[mark:]
        head.known = head.known.common(before.known)
        end, later = _round(frame, enter, node, head)
        exits = [*first, *later]
        done = join_states(head, end)
        stable = done.same_as(head)
        head = done if number < _MOST_ROUNDS - 2 else widened(head, done)
        if stable:
            break
    frame.state = frame.fork(head if runs else before)
    if isinstance(node, ir.While) and isinstance(node.test, ir.Constant):
        frame.state.alive = False  # nothing but a `break` leads out of it
    else:
        frame.state = join_states(frame.state, head)
        frame.run(node.orelse)
    frame.state = reduce(join_states, exits, frame.state)


def _round(
    frame: Frame, enter: Callable[[], None], node: ir.For | ir.While, head: State
) -> tuple[State, list[State]]:
    """Run a loop's body once: the state that the next round meets, and those that leave it."""
    around = frame.breaks, frame.continues, frame.loop
    frame.breaks, frame.continues, frame.loop = [], [], node
    frame.state = frame.fork(head)
    enter()
    frame.run(node.body)
    end, left = reduce(join_states, frame.continues, frame.state), frame.breaks
    frame.breaks, frame.continues, frame.loop = around
    return end, left
