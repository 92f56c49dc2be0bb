"""What an expression is made of: the nodes below it, the names in it, and whether it is the same as
another one. Nothing is decided by its text: `ir.render` writes it for users, and `written` for
programs."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from devlint.model import ir


def _fields(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The fields of a node type that hold a node, a tuple of nodes, or a tuple of pairs."""
    types = {f.name: str(f.type) for f in fields(kind) if f.name != "origin"}
    pairs = tuple(name for name, text in types.items() if text.startswith("tuple[tuple["))
    many = tuple(
        name
        for name, text in types.items()
        if name not in pairs and "str" not in text and (text.startswith("tuple") or text == "Body")
    )
    one = tuple(n for n, t in types.items() if t in ("Expr", "Expr | None", "Name", "Stmt"))
    return one, many, pairs


_KINDS: list[Any] = [kind for kind in vars(ir).values() if is_dataclass(kind)]


_FIELDS = {kind: found if any(found := _fields(kind)) else None for kind in _KINDS}
"""None for what has nothing below it: names and constants, half of all nodes."""
_ALL_FIELDS = {kind: tuple(f.name for f in fields(kind) if f.name != "origin") for kind in _KINDS}


def descendants(node: ir.Node) -> Iterator[ir.Node]:
    """A node and all nodes below it, in no particular order."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        below = _FIELDS[type(found)]
        if below is None:
            continue
        one, many, pairs = below
        for name in one:
            value = getattr(found, name)
            if value is not None:
                stack.append(value)
        for name in many:
            stack.extend(getattr(found, name))
        for name in pairs:
            for pair in getattr(found, name):
                stack.extend(part for part in pair if part is not None)


def children(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes right below a node."""
    below = _FIELDS[type(node)]
    if below is None:
        return
    one, many, pairs = below
    for name in one:
        value = getattr(node, name)
        if value is not None:
            yield value
    for name in many:
        yield from getattr(node, name)
    for name in pairs:
        for pair in getattr(node, name):
            yield from (part for part in pair if part is not None)


def key(node: ir.Node) -> Hashable:
    """The same for two expressions that say the same, wherever they stand."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        return (key(node.value), node.attr)
    if isinstance(node, ir.Constant):
        return (ir.Constant, type(node.value), repr(node.value))
    if isinstance(node, ir.Text):
        return (ir.Text, id(node))  # of what is put together only the shape is known
    kind = type(node)
    return (kind, *(_part(getattr(node, name)) for name in _ALL_FIELDS[kind]))


def _part(value: object) -> Hashable:
    if isinstance(value, ir.Node):
        return key(value)
    return tuple(map(_part, value)) if isinstance(value, tuple) else value


def dotted_name(node: ir.Node) -> str:
    """`a.b.c` as it is written: a name, or attributes of one; "" for all else."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        owner = dotted_name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def is_named(node: ir.Node) -> bool:
    """Whether an expression can be written twice without doing anything twice: `x`, `self.x`,
    `batch.x`, `rows[name]`."""
    while True:
        match node:
            case ir.Name():
                return True
            case ir.Attribute(value=inner):
                node = inner
            case ir.Subscript(value=inner, index=ir.Constant() | ir.Name()):
                node = inner
            case _:
                return False


CASTS = frozenset({"bfloat16", "bool", "byte", "float", "half", "int", "long", "short"})
"""Methods that cast a tensor to another dtype."""


def is_cast(node: ir.Node) -> bool:
    """Whether an expression casts a tensor, before other methods of it or after them:
    `x.float().view(-1)`."""
    while isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute):
        if node.func.attr in CASTS and not node.args:
            return True
        node = node.func.value
    return False


_SHAPES = (ir.Lambda, ir.Text, ir.Yield)
"""What a tree doesn't have all of."""


def written(node: ir.Node) -> str:
    """The source of an expression, to be put into a program; "" where not all of it is known."""
    if any(isinstance(each, _SHAPES) for each in descendants(node)):
        return ""
    return ir.render(node, sys.maxsize)


def last_name(node: ir.Node) -> str:
    """`c` of `c`, `b.c` and `b["c"]`."""
    if isinstance(node, ir.Name):
        return node.id
    if isinstance(node, ir.Attribute):
        return node.attr
    if isinstance(node, ir.Subscript) and isinstance(node.index, ir.Constant):
        return str(node.index.value)
    return ""


def integer(node: ir.Node) -> int | None:
    """The number that is spelled out: `3`, `-1`."""
    match node:
        case ir.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ir.Unary(op="-", operand=ir.Constant(value=int(value))):
            return -value
    return None


def root_name(node: ir.Node) -> str:
    """`a` of `a`, `a.b`, `a[0].b` and `a.b()`; "" of what begins with no name, as `f(a)`."""
    while True:
        match node:
            case ir.Name(id=name):
                return name
            case ir.Attribute(value=inner) | ir.Subscript(value=inner):
                node = inner
            case ir.Call(func=ir.Attribute(value=inner)):
                node = inner
            case _:
                return ""


def terms(node: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of a condition whose truth decides it."""
    if isinstance(node, ir.Boolean):
        yield from terms(node.left)
        yield from terms(node.right)
    elif isinstance(node, ir.Unary) and node.op == "not":
        yield from terms(node.operand)
    else:
        yield node


def called(node: ir.Expr) -> ir.Expr:
    """`f` of `f(x)`, as decorators are written; the expression itself where it is no call."""
    return node.func if isinstance(node, ir.Call) else node


def one_or_several(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """The items of a tuple, a list or a set that is spelled out; of anything else itself."""
    return node.items if isinstance(node, ir.Display) else (node,)


def words(node: ir.Node) -> Iterator[str]:
    """The names, attributes, keywords and texts that stand in an expression."""
    for each in descendants(node):
        match each:
            case ir.Name(id=word) | ir.Attribute(attr=word) | ir.Constant(value=str(word)):
                yield word
            case ir.Argument(keyword=str(word)):
                yield word


def device_argument(node: ir.Node) -> ir.Expr | None:
    """The device in `x.to(device)` and `torch.rand(3, device=device)`."""
    match node:
        case ir.Call(func=ir.Attribute(attr="to"), args=(argument,)) if not argument.star:
            return argument.value
        case ir.Call(args=args):
            return next((each.value for each in args if each.keyword == "device"), None)
    return None
