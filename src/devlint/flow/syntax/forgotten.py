"""Devices that a function asks for, settles, and then forgets: a parameter that is filled in where
it is left out and goes nowhere, an attribute that is chosen a second time before anything reads it.
"""

from __future__ import annotations

from devlint.flow.syntax.walk import mentions, self_attribute
from devlint.model import ir
from devlint.policy import means


def parameter_like(function: ir.Function) -> ir.Parameter | None:
    """The parameter that asks for a device by another name than `device`: `target_device`, `gpu`.
    None where there are several: one of them may stand for the others."""
    found = [p for p in function.params if means("about-devices", p.name, "parameter")]
    alone = len(found) == 1 and found[0].kind in ("positional", "keyword")
    return found[0] if alone and means("a-device", found[0].name, "parameter") else None


def goes_nowhere(function: ir.Function, name: str) -> bool:
    """Whether a parameter is looked at only in order to fill it in, and used by nothing."""
    others = [statement for statement in function.body if not _fills_in(statement, name)]
    is_filled_in = len(others) < len(function.body)
    return is_filled_in and not any(mentions(statement, name) for statement in others)


def _fills_in(statement: ir.Stmt, name: str) -> bool:
    """`device = torch.device(device)`, `if device is None: device = ...` (`self.device = ...`)."""
    match statement:
        case ir.Assign(targets=(ir.Name(id=target),)):
            return target == name
        case ir.Assign(targets=(ir.Attribute(value=ir.Name(), attr=attr),), value=value):
            return attr == name and (value is None or not mentions(value, name))
        case ir.If(body=body, orelse=orelse):
            filled = [_fills_in(each, name) for each in (*body, *orelse)]
            return any(filled) and all(filled)
    return False


def chosen_twice(function: ir.Function) -> tuple[ir.Parameter, ir.Assign, ir.Assign] | None:
    """`self.device = f(device)` and then `self.device = ...` anew, with nothing in between that
    could have read it; and the parameter that is forgotten."""
    named = [p for p in function.params[1:] if means("about-devices", p.name, "parameter")]
    if not named:
        return None
    this, stored = function.params[0].name, dict[str, tuple[ir.Parameter, ir.Assign]]()
    for statement in function.body:
        attr = _stored(statement, this)
        if not attr:
            if mentions(statement, this):
                stored.clear()
            continue
        assert isinstance(statement, ir.Assign)
        if attr in stored:
            return *stored[attr], statement
        given = next((p for p in named if mentions(statement, p.name)), None)
        if given is not None and means("about-devices", attr, "variable"):
            stored[attr] = given, statement
    return None


def _stored(statement: ir.Stmt, this: str) -> str:
    """The attribute of `self` that a statement stores, whose value asks `self` for nothing."""
    match statement:
        case ir.Assign(targets=(target,), value=value) if value is not None:
            return "" if mentions(value, this) else self_attribute(target, this)
    return ""
