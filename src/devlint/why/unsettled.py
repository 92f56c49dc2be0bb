"""What would settle a meeting of which devlint doesn't know enough."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import UNKNOWN, Kind, Operand
from devlint.flow.frames.record import Record
from devlint.flow.syntax.imports import imported, spelled
from devlint.flow.syntax.walk import descendants, first_row, function_around
from devlint.model import ir


def advice(record: Record, module: ir.Module, follows: bool) -> Iterator[str]:
    """An annotation, a row or a setting for each operand that isn't known. `follows`: imports are
    followed into other files of the project."""
    names = imported(module)
    for meeting in record.meetings.values():
        for operand in meeting.operands if meeting.outcome == "unknown" else ():
            if operand.kind is Kind.UNKNOWN or operand.device == UNKNOWN:
                yield from _of_operand(operand, module, names, follows)


def _of_operand(
    operand: Operand, module: ir.Module, names: dict[str, str], follows: bool
) -> Iterator[str]:
    function = function_around(module.body, first_row(operand.node))
    origin = _made(operand.node, function or module)
    name = spelled(origin.func, names.get) if isinstance(origin, ir.Call) else ""
    if name and not name.startswith("torch."):
        if not follows:
            yield f"if `{name}` is part of the project, let devlint read it: follow-imports = true"
        row = f'"{name}" = {{ effect = "create", device = "device" }}'
        yield f"say what `{name}` returns in [tool.devlint.torchapi], for example: {row}"
    elif operand.kind is Kind.UNKNOWN and isinstance(operand.node, ir.Name):
        yield from _annotation(operand.node, function)


def _annotation(node: ir.Name, function: ir.Function | None) -> Iterator[str]:
    """A type for a parameter, or for a name that is bound in a function."""
    parameters = {} if function is None else {each.name: each for each in function.params}
    parameter = parameters.get(node.id)
    if parameter is None:
        yield f"annotate `{node.id}` where it is assigned: {node.id}: torch.Tensor = ..."
    elif parameter.annotation is None:
        yield f"annotate the parameter: {node.id}: torch.Tensor"


def _made(node: ir.Expr, inside: ir.Function | ir.Module) -> ir.Expr:
    """What a name was last assigned above the line where it is read; else the node itself."""
    if not isinstance(node, ir.Name):
        return node
    above = [
        each
        for statement in inside.body
        for each in descendants(statement)
        if isinstance(each, ir.Assign)
        and each.value is not None
        and first_row(each) < first_row(node)
        and any(isinstance(target, ir.Name) and target.id == node.id for target in each.targets)
    ]
    last = max(above, key=lambda each: first_row(each), default=None)
    return node if last is None or last.value is None else last.value
