"""What the source of a module's class does with one attribute.

Whatever may be more than it seems counts as the harmless case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from devlint.runtime.explaining.source import MOVES
from devlint.runtime.guard.sources import Method

MOVERS = MOVES | {"mps", "npu", "hpu", "ipu", "to_empty", "_apply", "apply", "pin_memory"}
"""Methods after which a tensor or a module may be elsewhere."""

_HARMLESS = frozenset(
    "all any dict enumerate isinstance iter len list max min next print range repr reversed set"
    " sorted str sum tuple type zip".split()
)
"""Built-in functions that move nothing they are given."""

_SAME_THINGS = frozenset("dict enumerate iter list next reversed set sorted tuple zip".split())
"""Those of them whose result holds the things that they are given."""

_VIEWS = frozenset(
    "items values get copy pop parameters named_parameters buffers named_buffers modules"
    " named_modules children named_children __getitem__ __iter__".split()
)
"""Methods of containers and modules that give what is in them."""


@dataclass(frozen=True)
class Binding:
    """The one place that stores an attribute."""

    method: Method
    statement: ast.Assign | ast.AnnAssign
    value: ast.expr

    @property
    def me(self) -> str:
        """What the class calls its objects there: `self`."""
        return self.method.me

    @property
    def file(self) -> str:
        return self.method.file

    @property
    def line(self) -> int:
        return self.statement.lineno


def binding(methods: tuple[Method, ...], name: str) -> Binding | None:
    """The statement that stores an attribute, if there is one only and setting up runs it."""
    found: list[Binding] = []
    for method in methods:
        for node in method.nodes:
            if _changes_by_name(method, node):
                return None
            if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Load):
                continue
            if not method.is_attribute(node, name):
                continue
            statement = _plain_statement(method, node)
            if statement is None or statement.value is None:
                return None
            found.append(Binding(method, statement, statement.value))
    return found[0] if len(found) == 1 and found[0].method.name in setup(methods) else None


def _plain_statement(method: Method, target: ast.Attribute) -> ast.Assign | ast.AnnAssign | None:
    """`self.name = value`, with nothing else on the left."""
    for node in method.nodes:
        if isinstance(node, ast.Assign) and node.targets == [target]:
            return node
        if isinstance(node, ast.AnnAssign) and node.target is target:
            return node
    return None


def _changes_by_name(method: Method, node: ast.AST) -> bool:
    """Whether something may be stored or moved whose name isn't written there."""
    if method.is_attribute(node, "__dict__"):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    is_me = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == method.me
    if not is_me:
        return False
    if node.func.id in ("getattr", "setattr", "delattr"):
        return len(node.args) < 2 or not isinstance(node.args[1], ast.Constant)
    return node.func.id in ("vars", "dir")


def setup(methods: tuple[Method, ...]) -> frozenset[str]:
    """`__init__`, and the methods that it calls, or those that they call, outside of `with`."""
    found = {"__init__"}
    size = 0
    while size < len(found):
        size = len(found)
        found |= {
            other.name
            for method in methods
            if method.name in found
            for node in method.nodes
            if isinstance(node, ast.Call)
            for other in methods
            if method.is_attribute(node.func, other.name) and not method.is_under_with(node)
        }
    return frozenset(found)


def reads(methods: tuple[Method, ...], name: str) -> tuple[str, int] | None:
    """The first line that reads an attribute when a module is at work."""
    unused = setup(methods) | {"__repr__", "extra_repr"}
    for method in methods:
        if method.name in unused:
            continue
        for node in method.nodes:
            if method.is_attribute(node, name) and isinstance(getattr(node, "ctx", 0), ast.Load):
                return method.file, node.lineno  # type: ignore[attr-defined]
    return None


_PARTS: Mapping[type, tuple[str, ...]] = {
    **dict.fromkeys((ast.Attribute, ast.Subscript, ast.Starred, ast.NamedExpr), ("value",)),
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), ("elts",)),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp), ("elt",)),
    ast.BoolOp: ("values",),
    ast.Dict: ("values",),
    ast.DictComp: ("value",),
    ast.IfExp: ("body", "orelse"),
}


def parts_of(node: ast.AST | None) -> list[ast.expr]:
    """The expressions whose value the value of an expression is, or is a part of, or holds."""
    found: list[ast.expr] = []
    for name in _PARTS.get(type(node), ()):
        part = getattr(node, name)
        found += part if isinstance(part, list) else [part]
    return found


@dataclass(frozen=True)
class Uses:
    """What one method does with an attribute, or with a local name that it is bound to."""

    method: Method
    name: str
    local: str = ""
    holds: Literal["modules", "tensor", "tensors"] = "modules"
    """What it is, or is a container of. An operator with a tensor makes a third, and holds none;
    one with a container holds what is in that."""

    @cached_property
    def _names(self) -> frozenset[str]:
        """Local names that hold it, or something in it."""
        names = {self.local} if self.local else set()
        size = -1
        while size < len(names):
            size = len(names)
            for node in self.method.nodes:
                for target, value in _bound(node):
                    if self.refers(value, names):
                        names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        return frozenset(names)

    def refers(self, node: ast.AST | None, names: set[str] | frozenset[str] | None = None) -> bool:
        """Whether the value of an expression is the attribute's, or holds something of it."""
        names = self._names if names is None else names
        if isinstance(node, ast.Name):
            return node.id in names
        if node is not None and self.method.is_attribute(node, self.name):
            return True
        if isinstance(node, ast.BinOp):
            sides = node.left, node.right
            found = [self.refers(side, names) for side in sides]
            if self.holds == "modules":
                return any(found)
            if self.holds == "tensors" and any(map(self.is_it, sides)):
                return True
            return any(found) and all(
                is_it or isinstance(side, ast.Constant)
                for is_it, side in zip(found, sides, strict=True)
            )
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in _SAME_THINGS:
                return any(self.refers(arg, names) for arg in node.args)
            if isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
                return self.refers(node.func.value, names)
        return any(self.refers(part, names) for part in parts_of(node))

    def is_it(self, node: ast.AST) -> bool:
        """Whether a node is the attribute, or the local name of it."""
        is_local = isinstance(node, ast.Name) and bool(self.local) and node.id == self.local
        return is_local or self.method.is_attribute(node, self.name)

    @cached_property
    def moves(self) -> bool:
        """Whether the method may move it, or something in it."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in MOVERS
            and (self.refers(node.func.value) or any(map(self.refers, node.args)))
            for node in self.method.nodes
        )

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """The calls that are given it, but for those of harmless built-in functions."""
        return tuple(
            node
            for node in self.method.nodes
            if isinstance(node, ast.Call)
            and not self._is_harmless(node)
            and any(map(self.refers, (*node.args, *(word.value for word in node.keywords))))
        )

    @cached_property
    def gives_away(self) -> bool:
        """Whether the method hands it to something that may move it, or keeps it elsewhere."""
        for node in self.method.nodes:
            if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and self.refers(node.value):
                return True
            if isinstance(node, ast.Assign) and self.refers(node.value):
                if any(not self._may_hold(target) for target in node.targets):
                    return True
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                return True
        return bool(self.calls)

    def _may_hold(self, target: ast.AST) -> bool:
        """Whether a target is a local name, or the attribute itself."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(map(self._may_hold, target.elts))
        return isinstance(target, ast.Name) or self.method.is_attribute(target, self.name)

    def _is_harmless(self, call: ast.Call) -> bool:
        return isinstance(call.func, ast.Name) and call.func.id in _HARMLESS


def _bound(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The targets of a node that binds names, each with its value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, (ast.Name, ast.Tuple, ast.List)):
                yield target, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        if isinstance(node.target, ast.Name):
            yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.NamedExpr):
        yield node.target, node.value
