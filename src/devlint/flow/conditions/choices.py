"""What is left after a choice: of states, of values, of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from devlint.flow.conditions.implications import has_keys, key_of, parting
from devlint.flow.conditions.predicates import meaning
from devlint.flow.domain.keys import Literal
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.state import State
from devlint.flow.domain.state_joins import join_states
from devlint.flow.domain.value_joins import join_placed, join_values
from devlint.flow.domain.values import NAMED, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.model import ir

_T = TypeVar("_T", State, Value)


def _in_order(yes: _T, no: _T, key: Literal | None) -> tuple[_T, _T, str | None]:
    """What is so where a key holds, and where it doesn't, and the key."""
    if key is None:
        return yes, no, None
    return (yes, no, key[0]) if key[1] else (no, yes, key[0])


def merge_states(frame: Frame, yes: State, no: State, key: Literal | None, test: ir.Expr) -> State:
    """The state after the two branches of a condition that is tested in the frame's state."""
    test = meaning(frame, test)
    if key is None and yes.alive and no.alive and has_keys(frame, test):
        return _one_by_one(
            yes, no, test, lambda yes, no, part: _by_key(yes, no, part, parting(frame, part))
        )
    return _by_key(yes, no, test, key)


def _by_key(yes: State, no: State, test: ir.Expr, key: Literal | None) -> State:
    return join_states(*_in_order(yes, no, key), test if key is None else None)


def merge_values(yes: Value, no: Value, key: Literal | None) -> Value:
    """The value of a choice between two."""
    return join_values(*_in_order(yes, no, key))


def merge_placed(yes: Value, no: Value, key: Literal | None, test: ir.Expr) -> Value:
    """One of two tensors that are in two places."""
    return join_placed(*_in_order(yes, no, key), test)


def merge_devices(frame: Frame, test: ir.Expr, yes: Value, no: Value) -> Value:
    """The device that is chosen where several conditions hold (`"cuda" if a and b else "cpu"`)."""
    return _one_by_one(
        yes, no, test, lambda yes, no, part: merge_values(yes, no, key_of(frame, part))
    )


def _one_by_one(yes: _T, no: _T, test: ir.Expr, merge: Callable[[_T, _T, ir.Expr], _T]) -> _T:
    """What is left of a choice by several conditions: a choice by one after the other."""
    match test:
        case ir.Unary(op="not", operand=operand):
            return _one_by_one(no, yes, operand, merge)
        case ir.Boolean(op="and", left=left, right=right):
            return _one_by_one(_one_by_one(yes, no, right, merge), no, left, merge)
        case ir.Boolean(op="or", left=left, right=right):
            return _one_by_one(yes, _one_by_one(yes, no, right, merge), left, merge)
    return merge(yes, no, test)


def defaulted(frame: Frame, node: ir.Boolean, given: Value, default: Value) -> Value:
    """`mask or torch.ones(3)`: what stands in for an argument which was left out."""
    names = default.device != UNKNOWN and default.kind in NAMED
    if (names or default.kind is Kind.TENSOR) and isinstance(node.left, ir.Name):
        key = key_of(frame, ir.Compare("is", node.left, ir.Constant(None)))
        if key is not None:
            return merge_values(default, given, key)
    return join_values(given, default)
