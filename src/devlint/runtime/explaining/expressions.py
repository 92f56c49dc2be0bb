"""What an expression of the program works on: tensors by name, what it computes, and numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType

from torch import Tensor

from devlint.runtime.explaining.lookup import MISSING, Named, getter_of, read, tensors_of
from devlint.runtime.explaining.objects import is_movable
from devlint.runtime.explaining.source import Source, head
from devlint.runtime.explaining.stack import ModuleFrame, Spot, own_name


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


# --- what a module was called with, and how the line that called it writes that


def arguments(call: ModuleFrame) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a module was called with, and where they stand."""
    for index, value in enumerate(call.args):
        for named in tensors_of(f"args[{index}]", value, objects=True):
            if named.tensor is not None:
                yield named.text, named.tensor
    for name, value in (call.kwargs or {}).items():
        for named in tensors_of(name, value, objects=True):
            if named.tensor is not None:
                yield named.text, named.tensor


def written_argument(node: ast.Call, position: str, source: Source) -> tuple[str, ast.AST | None]:
    """What a call's source has for an argument: its text, and its node if it is one of its own."""
    head, number, inner = _taken_apart(position)
    if head == "args" and number:
        index = int(number)
        before = node.args[: index + 1]
        starred = next((i for i, arg in enumerate(before) if isinstance(arg, ast.Starred)), None)
        if starred is not None:
            part = before[starred]
            assert isinstance(part, ast.Starred)
            return f"{source.text_of(part.value)}[{index - starred}]{inner}", None
        if index >= len(node.args):
            return "", None
        return _part(node.args[index], inner, source)
    for keyword in node.keywords:
        if keyword.arg == head:
            return _part(keyword.value, inner, source)
    unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
    if len(unpacked) == 1:
        return f'{source.text_of(unpacked[0])}["{head}"]{inner}', None
    return "", None


def _part(node: ast.expr, inner: str, source: Source) -> tuple[str, ast.AST | None]:
    """A part of an argument; of a tuple or a list that the line writes out, the item itself."""
    step = re.match(r"\[(\d+)\]", inner)
    while step is not None and isinstance(node, (ast.Tuple, ast.List)):
        if any(isinstance(item, ast.Starred) for item in node.elts):
            break
        node, inner = node.elts[int(step[1])], inner[step.end() :]
        step = re.match(r"\[(\d+)\]", inner)
    return source.text_of(node) + inner, None if inner else node


def _taken_apart(position: str) -> tuple[str, str, str]:
    """The name of a keyword or `args`, the number of the argument, and the way to the tensor."""
    match = re.fullmatch(r"(?s)(?:args\[(\d+)\]|(\w+))(.*)", position)
    assert match is not None
    return match[2] or "args", match[1] or "", match[3]


def whole_argument(node: ast.Call, position: str, source: Source) -> str:
    """The argument that a tensor is in, as the program writes it, if it can be moved as a whole."""
    head, number, inner = _taken_apart(position)
    if number and not inner:
        return ""
    parts = [keyword.value for keyword in node.keywords if keyword.arg in (head, None)]
    if number:
        parts = node.args[int(number) : int(number) + 1]
    return holder_of(parts[0], source) if len(parts) == 1 else ""


def argument_for(call: ast.Call, names: Sequence[str], name: str) -> ast.expr | None:
    """What a call has for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    index = list(names).index(name)
    given = call.args[: index + 1]
    is_plain = len(given) == index + 1 and not any(isinstance(a, ast.Starred) for a in given)
    return given[index] if is_plain else None
