"""Modules that a module keeps in a plain list, tuple or dict, where `.to()` doesn't find them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torch import nn

from devlint.runtime.guard.attributes import MOVERS, Binding, Uses, binding, reads
from devlint.runtime.guard.sources import Method, methods_of

_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Container:
    """Where a class keeps modules, as its source has it."""

    file: str
    line: int
    """Where the attribute is set."""
    used: tuple[str, int]
    """File and line where a method reads it."""


@lru_cache(maxsize=512)
def container(kind: type, name: str) -> Container | None:
    """What the source of a class says of an attribute with modules in it.

    Nothing unless `__init__` fills it with modules that are made right there, another method uses
    it, and nothing moves what is in it or gives it away.
    """
    methods = methods_of(kind)
    if methods is None:
        return None
    bound = binding(methods, name)
    used = reads(methods, name)
    if bound is None or used is None or bound.method.is_under_with(bound.statement):
        return None
    made = _Made(bound, name)
    if not made.is_all_made_here:
        return None
    for method in methods:
        local = made.local if method is bound.method else ""
        uses = Uses(method, name, local)
        if uses.moves or uses.gives_away:
            return None
        if method is not bound.method and any(_fills(method, name, "")):
            return None
    return Container(bound.method.file, bound.statement.lineno, used)


@dataclass(frozen=True)
class _Made:
    """What `__init__` puts into a container."""

    bound: Binding
    name: str

    @property
    def local(self) -> str:
        """The local name of the container, where it has one."""
        value = self.bound.value
        return value.id if isinstance(value, ast.Name) else ""

    @property
    def is_all_made_here(self) -> bool:
        method, value = self.bound.method, self.bound.value
        if isinstance(value, ast.Name):
            values = method.assigned(value.id)
            if len(values) != 1 or values[0] is None:
                return False
            value = values[0]
        filled = list(_fills(method, self.name, self.local))
        if not _is_container_of_modules(method, value):
            return False
        if not filled and _holds_one(value):
            return False  # how a module is hidden on purpose
        return all(_is_made(method, item) for item in filled)


def _holds_one(value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return len(value.elts) <= 1
    return isinstance(value, ast.Dict) and len(value.values) <= 1


def _is_container_of_modules(method: Method, value: ast.expr) -> bool:
    """Whether an expression makes a container, and all the modules in it."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return all(_is_made(method, item) for item in value.elts)
    if isinstance(value, ast.Dict):
        return all(_is_made(method, item) for item in value.values)
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        return _is_made(method, value.elt)
    if isinstance(value, ast.DictComp):
        return _is_made(method, value.value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _is_container_of_modules(method, value.left)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return all(_is_container_of_modules(method, side) for side in (value.left, value.right))
    if isinstance(value, ast.Call) and method.value_of(value.func) in (list, tuple, dict):
        items = (*value.args, *(keyword.value for keyword in value.keywords))
        if all(isinstance(item, _DISPLAYS) for item in value.args):
            return all(
                _is_container_of_modules(method, item)
                if isinstance(item, _DISPLAYS)
                else _is_made(method, item)
                for item in items
            )
    return False


def _is_made(method: Method, value: ast.expr | None) -> bool:
    """Whether an expression calls the class of a module, or is a container of such calls."""
    if value is None:
        return False
    if isinstance(value, ast.Call):
        return _constructs(method, value) or _is_container_of_modules(method, value)
    if isinstance(value, ast.Name):
        values = method.assigned(value.id)
        return bool(values) and all(
            isinstance(each, ast.Call) and _constructs(method, each) for each in values
        )
    return isinstance(value, _DISPLAYS) and _is_container_of_modules(method, value)


def _fills(method: Method, name: str, local: str) -> Iterator[ast.expr | None]:
    """What is put into a container after it was made; nothing for what can't be told."""

    def is_it(node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):
            return is_it(node.value)
        is_local = isinstance(node, ast.Name) and bool(local) and node.id == local
        return is_local or method.is_attribute(node, name)

    for node in method.nodes:
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
    """Whether a call makes a module, and says nothing of a device."""
    kind = method.value_of(call.func)
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
