"""DEV307: the result of `register_buffer`, which is None, is assigned."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import AttributeWrite, Trait
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Anchor, Change, Report, Rewrite
from devlint.rules import rule


@rule("assigned-register-buffer", on=AttributeWrite)
def assigned_register_buffer(write: AttributeWrite) -> Iterator[Report]:
    call = write.value.node
    if write.value.value.trait is not Trait.REGISTERS_BUFFER or not isinstance(call, ir.Call):
        return
    method = call.func.attr if isinstance(call.func, ir.Attribute) else "register_buffer"
    registered = _registered_name(call)
    target = f"{write.receiver}.{write.attr}"
    if registered == write.attr:
        message = f"`{method}` returns None, which takes the place of the buffer `{target}`"
    else:
        message = f"`{method}` returns None, so `{target}` is None"
    yield Report(
        at=write.node,
        message=message,
        fix=_bare_call(write.node, call) if registered == write.attr else None,
        help="call it as a statement of its own; it sets the attribute itself",
    )


def _registered_name(call: ir.Call) -> object:
    """The name that a buffer is registered under, where the source spells it."""
    for position, argument in enumerate(call.args):
        named = argument.keyword == "name" or (position == 0 and argument.keyword is None)
        if named and isinstance(argument.value, ir.Constant):
            return argument.value.value
    return None


def _bare_call(statement: ir.Node, call: ir.Call) -> Change | None:
    """Drop the assignment, where it has one target only."""
    if isinstance(statement, ir.Assign) and len(statement.targets) > 1:
        return None
    drop = Rewrite(Anchor(statement, "start"), Anchor(call, "start"), "")
    return Change("Drop the assignment", (drop,), Safety.SAFE)
