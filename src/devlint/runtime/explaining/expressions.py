"""What an expression of the program works on: tensors by name, what it computes, and numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import BuiltinFunctionType

from devlint.runtime.explaining.lookup import MISSING, Named, getter_of, read, tensors_of
from devlint.runtime.explaining.objects import is_movable
from devlint.runtime.explaining.source import Source, head
from devlint.runtime.explaining.stack import Spot, own_name


def operands_of(node: ast.AST, source: Source) -> Iterator[Named]:
    """The tensors that an expression works on, as far as they can be told by name."""
    for part in head(node):
        if isinstance(node, ast.Call) and part is node.func and not isinstance(part, ast.Attribute):
            continue  # what is called is no operand
        is_target = isinstance(node, ast.Assign) and part is not node.value
        if not (is_target and isinstance(part, (ast.Name, ast.Tuple))):
            yield from _visit(part, source)


def _visit(node: ast.AST, source: Source) -> Iterator[Named]:
    value = read(node, source.spot) if isinstance(node, ast.expr) else MISSING
    if value is not MISSING and not isinstance(node, ast.Constant):
        found = list(tensors_of(source.text_of(node), value))
        if found:
            yield from (Named(each.text, each.tensor, node) for each in found)
            return
    if isinstance(node, ast.Attribute):
        if value is MISSING and getter_of(read(node.value, source.spot), node.attr) is not None:
            yield Named(source.text_of(node), None, node)
        elif value is MISSING:
            yield from _visit(node.value, source)
    elif isinstance(node, _COMPUTED):
        if not is_number(node, source.spot):
            yield Named(source.text_of(node), None, node)
    else:
        for part in head(node):
            yield from _visit(part, source)


def is_number(node: ast.AST, spot: Spot) -> bool:
    """Whether an expression gives a number, or is made of numbers and their operators only."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left, spot) and is_number(node.right, spot)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand, spot)
    if isinstance(node, ast.Call):
        called = read(node.func, spot)
        if called is MISSING and isinstance(node.func, ast.Attribute):
            return node.func.attr in _NUMBERS
        is_of_math = type(called) is BuiltinFunctionType and called.__module__ == "math"
        return is_of_math or any(called is each for each in _TO_NUMBERS)
    return isinstance(node, ast.expr) and type(read(node, spot)) in (int, float, bool, complex)


_NUMBERS = frozenset("size dim ndimension numel nelement stride item tolist".split())
"""Methods of a tensor that give numbers of Python."""
_TO_NUMBERS = (int, float, bool, complex, len)


def holder_of(node: ast.AST | None, source: Source) -> str:
    """The object with a `to` of its own that a part is taken from, as the program writes it."""
    found = ""
    while isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        if source.text_of(node) == own_name(source.spot):
            break
        if not isinstance(node, ast.Subscript) and is_movable(read(node, source.spot)):
            found = source.text_of(node)
        node = None if isinstance(node, ast.Name) else node.value
    return found


_COMPUTED = (
    ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Await, ast.NamedExpr,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Subscript,
)  # fmt: skip
"""Expressions whose parts aren't operands of the expression around them."""
