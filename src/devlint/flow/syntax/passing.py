"""What becomes of a name or a value after a call: whether a loop reads its name again in the same
round, whether something is sent to an accelerator later, whether what a move gives is used."""

from __future__ import annotations

from devlint.flow.syntax.walk import (
    descendants,
    inner_statements,
    mentions,
    nodes_of,
    statements_of,
)
from devlint.model import ir
from devlint.policy import means


def passing(body: ir.Body, call: ir.Call, name: str) -> ir.For | None:
    """The loop that binds a name, where nothing in it reads the name after a call: what is assigned
    to it there is gone with the round."""
    for loop in statements_of(body):
        if isinstance(loop, ir.For) and mentions(loop.target, name):
            rest = _after(loop.body, call)
            if rest is not None:
                read = any(mentions(statement, name) for statement in rest)
                return None if read else loop
    return None


def is_sent_after(body: ir.Body, call: ir.Call, name: str) -> bool:
    """Whether what a name stands for is sent to an accelerator in a later statement, so that it
    isn't there yet: `x.cuda()`, `x.to(device)`."""
    rest = _after(body, call) or ()
    return any(isinstance(node, ir.Call) and _sends(node, name) for node in nodes_of(rest))


def _sends(call: ir.Call, name: str) -> bool:
    match call:
        case ir.Call(func=ir.Attribute(value=ir.Name(id=sent), attr="cuda")) if sent == name:
            return True
        case ir.Call(func=ir.Attribute(value=ir.Name(id=sent), attr="to"), args=(to, *_)):
            return sent == name and _names_accelerator(to.value)
    return False


def _names_accelerator(node: ir.Expr) -> bool:
    match node:
        case ir.Constant(value=str(text)):
            return text.startswith("cuda")
        case ir.Name(id=name) | ir.Attribute(value=ir.Name(id="self" | "args"), attr=name):
            return bool(means("device", name, "variable"))
    return False


def _after(body: ir.Body, call: ir.Call) -> ir.Body | None:
    """The statements after the one that a call stands in, those around that one too; None where
    the call stands in none of them."""
    for place, statement in enumerate(body):
        if any(node is call for node in descendants(statement)):
            inside = _after(tuple(inner_statements(statement)), call)
            return (*(inside or ()), *body[place + 1 :])
    return None


def is_thrown_away(thrown: ir.Expr | None, call: ir.Call) -> bool:
    """Whether a statement does no more with what a move gives than to copy or to convert it:
    `x.to(device).float()`."""
    while isinstance(thrown, ir.Call) and isinstance(thrown.func, ir.Attribute):
        if thrown is call:
            return True
        if thrown.func.attr not in _COPIES:
            return False
        thrown = thrown.func.value
    return False


_COPIES = frozenset("float double half long int bool to type clone contiguous detach".split())
"""Methods that change nothing."""
