"""Modules and parameters in a plain list, tuple or dict of a module: `.to()` leaves them behind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torch import nn

from devlint.runtime.guard.attributes import MOVERS, Binding, Uses, binding, parts_of, reads, setup
from devlint.runtime.guard.sources import Method, methods_of
from devlint.runtime.guard.tensors import makes

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Container:
    """Where a class keeps modules or parameters, as its source has it."""

    stored: Binding
    used: tuple[str, int]
    """File and line where a method reads it."""


@lru_cache(maxsize=512)
def container(kind: type, name: str, holds_tensors: bool) -> Container | None:
    """What the source of a class says of an attribute with modules or parameters in it.

    Nothing unless `__init__`, or what that calls, fills it with things that are made right there,
    another method uses it, and nothing moves what is in it or gives it away.
    """
    methods = methods_of(kind)
    if methods is None:
        return None
    bound = binding(methods, name)
    used = reads(methods, name)
    if bound is None or used is None or bound.method.is_under_with(bound.statement):
        return None
    local = bound.value.id if isinstance(bound.value, ast.Name) else ""
    filled: list[tuple[Method, ast.expr | None]] = []
    begins = setup(methods)
    for method in methods:
        its_local = local if method is bound.method else ""
        uses = Uses(method, name, its_local, "tensors" if holds_tensors else "modules")
        items = list(_fills(uses))
        if uses.moves or uses.gives_away or (items and method.name not in begins):
            return None
        filled += ((method, item) for item in items)
    value = _made_value(bound, local)
    if not _is_container(bound.method, value) or not all(_is_made(*item) for item in filled):
        return None
    if not filled and _hides_one(value, methods, name):
        return None
    return Container(bound, used)


def _made_value(bound: Binding, local: str) -> ast.expr | None:
    """The expression that makes a container."""
    values = bound.method.assigned(local) if local else [bound.value]
    return values[0] if len(values) == 1 else None


def _hides_one(value: ast.expr | None, methods: tuple[Method, ...], name: str) -> bool:
    """Whether it is a list of one that is only read as `self.name[0]`: so a module is hidden, on
    purpose, from what its owner saves and trains.
    """
    if not isinstance(value, (ast.List, ast.Tuple)) or len(value.elts) > 1:
        return False
    loads = [
        (method, node)
        for method in methods
        for node in method.nodes
        if method.is_attribute(node, name) and isinstance(getattr(node, "ctx", None), ast.Load)
    ]
    firsts = {
        id(node.value)
        for method, _ in loads
        for node in method.nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == 0
    }
    return all(id(node) in firsts for _, node in loads)


def _is_container(method: Method, value: ast.expr | None) -> bool:
    """Whether an expression makes a container, and all that is in it."""
    if isinstance(value, _DISPLAYS):
        return all(_is_made(method, item) for item in parts_of(value))
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _is_container(method, value.left)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return all(_is_container(method, side) for side in (value.left, value.right))
    if isinstance(value, ast.Call) and method.value_of(value.func) in (list, tuple, dict):
        items = (*value.args, *(keyword.value for keyword in value.keywords))
        return all(isinstance(item, _DISPLAYS) for item in value.args) and all(
            _is_made(method, item) for item in items
        )
    return False


def _is_made(method: Method, value: ast.expr | None) -> bool:
    """Whether an expression makes a module or a parameter, or is a container of such calls."""
    if value is None or method.is_under_with(value):
        return False
    if isinstance(value, ast.Call):
        return _constructs(method, value) or _is_container(method, value)
    if isinstance(value, ast.Name):
        values = method.assigned(value.id)
        return bool(values) and all(
            isinstance(each, ast.Call) and _constructs(method, each) for each in values
        )
    return isinstance(value, _DISPLAYS) and _is_container(method, value)


def _fills(uses: Uses) -> Iterator[ast.expr | None]:
    """What is put into a container after it was made; nothing for what can't be told."""

    def is_it(node: ast.AST) -> bool:
        return is_it(node.value) if isinstance(node, ast.Subscript) else uses.is_it(node)

    for node in uses.method.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if is_it(node.func.value) and node.func.attr in _FILLING:
                yield node.args[-1] if node.args and not node.keywords else None
        elif isinstance(node, ast.Assign):
            targets = [t for t in node.targets if isinstance(t, ast.Subscript) and is_it(t)]
            yield from (node.value for _ in targets)
        elif isinstance(node, ast.AugAssign) and is_it(node.target):
            yield node.value


_FILLING = frozenset({"append", "extend", "insert", "update", "setdefault"})


def _constructs(method: Method, call: ast.Call) -> bool:
    """Whether a call makes a module or a parameter, and says nothing of a device."""
    kind = method.value_of(call.func)
    if kind is nn.Parameter:
        return bool(call.args) and makes(method, call.args[0])
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        return False
    if any(keyword.arg is None or "device" in keyword.arg for keyword in call.keywords):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return not any(
        isinstance(node, ast.Starred) or "device" in getattr(node, "id", getattr(node, "attr", ""))
        for value in given
        for node in ast.walk(value)
    )


@lru_cache(maxsize=512)
def moves_itself(kind: type) -> bool:
    """Whether modules of a class may see to their place themselves; also if it can't be read."""
    methods = methods_of(kind)
    return methods is None or any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MOVERS
        and (method.name == "__init__" or _is_me(method, node.func.value))
        for method in methods
        for node in method.nodes
    )


def _is_me(method: Method, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == method.me
