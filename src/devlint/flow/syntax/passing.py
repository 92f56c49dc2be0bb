"""Names of loops that are read no more in their round."""

from __future__ import annotations

from devlint import ir
from devlint.flow.syntax.walk import descendants, inner_statements, mentions


def is_passing(body: ir.Body, call: ir.Call, name: str) -> bool:
    """Whether a name is a loop's, and nothing reads it after a call in the loop: what is assigned
    to it there is gone with the round."""
    loops = (each for statement in body for each in descendants(statement))
    for loop in loops:
        if isinstance(loop, ir.For) and mentions(loop.target, name):
            rest = _after(loop.body, call)
            if rest is not None:
                return not any(mentions(statement, name) for statement in rest)
    return False


def _after(body: ir.Body, call: ir.Call) -> ir.Body | None:
    """The statements after the one that a call stands in, those around that one too; None where
    the call stands in none of them."""
    for place, statement in enumerate(body):
        if any(node is call for node in descendants(statement)):
            inside = _after(tuple(inner_statements(statement)), call)
            return (*(inside or ()), *body[place + 1 :])
    return None
