"""What a repair can be written for: the whole tensor, or the whole tuple, that a part is of."""

from __future__ import annotations

import ast
import re

from devlint.runtime.explaining.expressions import is_number
from devlint.runtime.explaining.lookup import MISSING, SAME_PLACE, Named, read
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import Source
from devlint.runtime.explaining.stack import Spot
from devlint.runtime.operands import is_tensor


def whole(named: Named, source: Source) -> Named:
    """The tensor that a view of it, or what was computed from it alone, was taken from."""
    node = named.node
    while (inner := _taken_from(node, source.spot)) is not None:
        node = inner
    if node is named.node or node is None:
        return named
    value = read(node, source.spot)
    return Named(source.text_of(node), value if is_tensor(value) else None, node)


def _taken_from(node: ast.AST | None, spot: Spot) -> ast.expr | None:
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _VIEWS):
        return node.value if is_tensor(read(node.value, spot)) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name, owner = node.func.attr, read(node.func.value, spot)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_alone = not any(_works_with(part, spot) for part in given)
        if is_tensor(owner) and is_alone and (name in SAME_PLACE or _works_in_place(name)):
            return node.func.value
    return None


def _works_with(node: ast.expr, spot: Spot) -> bool:
    """Whether an argument may be another tensor."""
    value = read(node, spot)
    return is_tensor(value) or (value is MISSING and not is_number(node, spot))


_VIEWS = ("T", "mT", "H", "mH", "real", "imag")


def _works_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")


def tuple_of(scene: Scene, named: Named, index: int) -> str:
    """The tuple that a tensor is an item of: nothing can be assigned to its items."""
    match = re.fullmatch(r"(.+)\[\d+\]", named.text)
    if match is None or index < 0:
        return ""
    value = scene.value(match[1], index)
    is_result = value is MISSING and named.node is None and match[1].endswith(")")
    return match[1] if is_result or type(value) is tuple else ""
