"""Branches that only the first call takes: `if self.first: ...; self.first = False`."""

from __future__ import annotations

from devlint.flow.domain.state import State
from devlint.flow.domain.traits import Trait
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import key


def keep(frame: Frame, node: ir.If, taken: State) -> None:
    """Where such a branch isn't taken, an earlier call has stored what it stores."""
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
    asked = key(test)
    for statement in node.body:
        match statement:
            case ir.Assign(targets=(ir.Attribute() as target,), value=ir.Constant(value=value)):
                if value is ends and key(target) == asked:
                    return test
    return None
