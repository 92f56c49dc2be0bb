"""Which operand of a call PyTorch means by its name for an argument.

PyTorch names the parameter of its operator: `index` of `scatter__value`. The table of torch's calls
knows where a call that is written in a program takes it.
"""

from __future__ import annotations

import ast

from devlint.torchapi import table
from devlint.torchapi.effects import Arg, Effect, Row

_MODULES = {"torch": "torch.", "F": "torch.nn.functional."}
"""Names that programs give to modules of torch: a text doesn't show its imports."""


def operands_named(node: ast.expr | None, name: str, operation: str) -> tuple[str, list[str]]:
    """The operand that PyTorch calls `name`, and the others of the call, as the line writes them.

    Args:
        node: the call, if it is one.
        name: of the argument, such as `index`.
        operation: the operator that compared its operands, such as `scatter__value`.

    Empty where the line calls something else, or the table doesn't say.
    """
    row = _row(node, operation)
    if row is None or not isinstance(node, ast.Call):
        return "", []
    wanted, others = "", []
    for number, places in enumerate(row.operands):
        operand = _given(node, places)
        if operand is None or isinstance(operand, ast.Constant):
            continue
        if name in places or (name == "self" and number == 0):
            wanted = ast.unparse(operand)
        else:
            others.append(ast.unparse(operand))
    return (wanted, others) if wanted else ("", [])


def is_maker(call: ast.Call) -> bool:
    """Whether a call makes a tensor, on the CPU unless it is told another device."""
    row = table.load().get(f"torch.{ast.unparse(call.func).removeprefix('torch.')}")
    return row is not None and row.effect is Effect.CREATE


def _row(node: ast.expr | None, operation: str) -> Row | None:
    """Of the call, where it can be the one whose operator has failed."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    method, receiver = node.func.attr, node.func.value
    if method != operation and not operation.startswith(f"{method}_"):
        return None
    is_module = isinstance(receiver, ast.Name) and receiver.id in _MODULES
    prefix = _MODULES[ast.unparse(receiver)] if is_module else "torch.Tensor."
    return table.load().get(prefix + method)


def _given(call: ast.Call, places: tuple[Arg, ...]) -> ast.expr | None:
    """What a call gives for a parameter, by its keyword or its position."""
    for keyword in call.keywords:
        if keyword.arg in places:
            return keyword.value
    for place in places:
        if place == "self" and isinstance(call.func, ast.Attribute):
            return call.func.value
        if isinstance(place, int) and place < len(call.args):
            before = call.args[: place + 1]
            return None if any(isinstance(each, ast.Starred) for each in before) else before[-1]
    return None
