"""What is left after a choice: of states, of values, of devices."""

from __future__ import annotations

from typing import TypeVar

from devlint.flow.conditions.implications import has_keys, key_of, parting
from devlint.flow.conditions.predicates import meaning
from devlint.flow.domain.keys import Literal
from devlint.flow.domain.lattice import UNKNOWN, Device, Guarded, choose
from devlint.flow.domain.state import State
from devlint.flow.domain.state_joins import either, join_states
from devlint.flow.domain.value_joins import join_values
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
        return _one_by_one(frame, yes, no, test)
    return _by_key(yes, no, test, key)


def _by_key(yes: State, no: State, test: ir.Expr, key: Literal | None) -> State:
    if key is not None:
        return join_states(*_in_order(yes, no, key))
    test, holds = positive(test)
    return join_states(*((yes, no) if holds else (no, yes)), test=test)


def positive(test: ir.Expr) -> tuple[ir.Expr, bool]:
    """`not x.any()`: what is asked, and whether the condition holds where that does. `not x` asks
    whether there is one."""
    match test:
        case ir.Unary(op="not", operand=ir.Call() | ir.Compare() | ir.Boolean() as operand):
            return operand, False
    return test, True


def _one_by_one(frame: Frame, yes: State, no: State, test: ir.Expr) -> State:
    """What is left of a choice by several conditions: a choice by one after the other."""
    match test:
        case ir.Unary(op="not", operand=operand):
            return _one_by_one(frame, no, yes, operand)
        case ir.Boolean(op="and", left=left, right=right):
            return _one_by_one(frame, _one_by_one(frame, yes, no, right), no, left)
        case ir.Boolean(op="or", left=left, right=right):
            return _one_by_one(frame, yes, _one_by_one(frame, yes, no, right), left)
    return _by_key(yes, no, test, parting(frame, test))


def defaulted(frame: Frame, node: ir.Boolean, given: Value, default: Value) -> Value:
    """`mask or torch.ones(3)`: what stands in for an argument which was left out."""
    names = default.device != UNKNOWN and default.kind in NAMED
    if (names or default.kind is Kind.TENSOR) and isinstance(node.left, ir.Name):
        key = key_of(frame, ir.Compare("is", node.left, ir.Constant(None)))
        if key is not None and isinstance(given.device, Guarded) and given.kind in NAMED:
            return given.but(device=_left_out(given.device, default.device, key), data=None)
        if key is not None:
            return join_values(*_in_order(default, given, key))
    return either(frame.state, given, default)


def _left_out(given: Device, default: Device, key: Literal) -> Device:
    """The device that is chosen where one is given on some paths: on these it is none that was left
    out."""
    if isinstance(given, Guarded):
        yes, no = _left_out(given.yes, default, key), _left_out(given.no, default, key)
        return choose(given.key, yes, no)
    if given != UNKNOWN:
        return given
    return choose(key[0], *((default, given) if key[1] else (given, default)))
