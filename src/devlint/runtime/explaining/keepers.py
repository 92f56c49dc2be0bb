"""What objects keep, and give as items: where that was put into them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from devlint.runtime.explaining.flow import own_nodes
from devlint.runtime.explaining.found import Origin, distinct, is_again
from devlint.runtime.explaining.given import Given, Path, Point, own_name_of
from devlint.runtime.explaining.kinds import Kind
from devlint.runtime.explaining.places import keyword, name_of
from devlint.runtime.explaining.puts import about, puts
from devlint.runtime.explaining.scopes import Scope

if TYPE_CHECKING:
    from devlint.runtime.explaining.slicing import Walk

_PARAMETERS = tuple(
    kind for kind in (nn.Parameter, getattr(nn, "Buffer", None)) if kind is not None
)
_CONTAINERS = ("builtins", "collections", "types")
"""Modules whose classes keep what they are given, and nothing else."""


class Keepers:
    """The cases of a walk that go through objects."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def made(self, scope: Scope, call: ast.Call, kind: Kind, path: Path) -> list[Origin]:
        given = replace(Given.of(scope, call), own=Point(scope, call))
        if kind.value is not None and issubclass(kind.value, _PARAMETERS) and given.args:
            return self.walk.follow(given.args[0])
        if not path:
            if kind.value is not None and issubclass(kind.value, nn.Module):
                return [Origin(scope, call)]
            return [Origin(scope, call)]
        is_users = self._is_users(kind)
        if kind.value is not None and not is_users:
            if issubclass(kind.value, DataLoader):
                return self.walk.calls.loaded(scope, call, path)
            if issubclass(kind.value, TensorDataset) and len(path) > 1:
                return self.walk.follow(given.at(path[1][1] or 0, path[:1] + path[2:]))
        found = self.kept(kind, given, path, scope, call)
        is_filled_later = path[0][0] == "item" and not call.args and not call.keywords
        if found or is_users or is_filled_later or self._field(kind, given, path[0][1], ()):
            return found
        return [Origin(scope, call)]

    def _is_users(self, kind: Kind) -> bool:
        if any(True for _ in self._methods(kind)) or kind.fields():
            return True
        if kind.value is not None and kind.value.__module__ in _CONTAINERS:
            return True
        users = self.walk.running.is_users
        return any(users(at.text.file) for at, _ in kind.bodies(self.walk.running.classes))

    def _methods(self, kind: Kind) -> Iterator[tuple[str, Scope]]:
        return kind.methods(self.walk.running.classes)

    def kept(
        self, kind: Kind, given: Given | None, path: Path, scope: Scope, call: ast.AST
    ) -> list[Origin]:
        """Where what an object keeps, or gives as an item, comes from."""
        (step, key), rest = path[0], path[1:]
        fields = kind.fields()
        if (
            kind.is_tuple
            and step == "item"
            and type(key) is int
            and -len(fields) <= key < len(fields)
        ):
            step, key = "attr", fields[key]
        if step == "attr":
            own = Point(scope, call) if isinstance(call, ast.expr) else None
            found = self._stored(kind, given, key, rest, own)
            if given is not None and (kind.is_generated or not self._has_init(kind)):
                found += self.walk.given(self._field(kind, given, key, rest))
            return found
        names = ("__enter__",) if step == "enter" else ("__getitem__", "__iter__", "__next__")
        methods = dict(reversed(list(self._methods(kind))))
        for name in (each for each in names if each in methods):
            own = Point(scope, call) if isinstance(call, ast.expr) else None
            inner = replace(methods[name], given=Given((), (), own))
            found = self.walk.calls.results(inner, path if name == "__iter__" else rest)
            if found and not is_again(distinct(found)):
                return found
        if given is None:
            return []
        if kind.value is defaultdict and given.args and isinstance(given.args[0].node, ast.expr):
            callee = self.walk.callees.callee(scope, given.args[0].node, Given(()))
            return [] if callee.scope is None else self.walk.calls.results(callee.scope, rest)
        if step == "item" and isinstance(key, str):
            named = given.named(key, rest)
            if named is not None:
                return self.walk.follow(named)
        return self.walk.calls.through(given, path)

    def _has_init(self, kind: Kind) -> bool:
        return any(name == "__init__" for name, _ in self._methods(kind))

    def _field(self, kind: Kind, given: Given, name: str, rest: Path) -> Point | None:
        """What a class is given for an attribute of the same name."""
        point = given.named(name, rest)
        fields = kind.fields()
        if point is None and name in fields:
            point = given.at(fields.index(name), rest)
        if point is None and kind.value is not None and not fields:
            code = kind.constructor
            names = code.co_varnames[1 : code.co_argcount] if code is not None else ()
            point = given.at(names.index(name), rest) if name in names else None
        return point

    def _stored(
        self, kind: Kind, given: Given | None, name: str, rest: Path, at: Point | None
    ) -> list[Origin]:
        walk, found = self.walk, list[Any]()
        for method, inner in self._methods(kind):
            if inner.node in walk.seen_methods:
                continue
            own = own_name_of(inner)
            here = self.walk.running.live(inner) or replace(
                inner, given=Given((), (), at, is_whole=False)
            )
            if method == "__init__" and given is not None:
                here = replace(inner, given=given)
                made = self._constructor(kind, inner, given)
                here = made or here
            found += self._put_in(here, own, name, rest)
        for outer, body in kind.bodies(walk.running.classes):
            for statement in body.body:
                if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                    targets = (
                        statement.targets
                        if isinstance(statement, ast.Assign)
                        else [statement.target]
                    )
                    if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                        found += self._of_class(outer, statement, rest)
        return found

    def of_attribute(self, kind: Kind, name: str) -> list[Origin]:
        """Where the objects of a class get an attribute from, as far as the class tells."""
        return distinct(self._stored(kind, None, name, (), None))

    def _constructor(self, kind: Kind, inner: Scope, given: Given) -> Scope | None:
        """The run of a base's `__init__`, with what `super().__init__(...)` gives it."""
        first = next((s for n, s in self._methods(kind) if n == "__init__"), None)
        if first is None or first.node is inner.node:
            return None
        above = replace(first, given=given)
        for node in own_nodes(above.node):
            if isinstance(node, ast.Call) and name_of(node) == "__init__":
                return replace(inner, given=replace(Given.of(above, node), own=given.own))
        return None

    def _of_class(self, outer: Scope, statement: Any, rest: Path) -> list[Origin]:
        value = statement.value
        if isinstance(value, ast.Call) and name_of(value) == "field":
            made = keyword(value, "default_factory")
            if made is not None:
                callee = self.walk.callees.callee(outer, made, Given(()))
                return [] if callee.scope is None else self.walk.calls.results(callee.scope, rest)
            value = keyword(value, "default")
        if value is None:
            return []
        found = self.walk.origins(outer, value, rest)
        return self.walk.handed_on(found, outer, statement, value)

    def _put_in(self, inner: Scope, own: str, name: str, rest: Path) -> list[Origin]:
        walk, found = self.walk, list[Any]()
        ways = [(own, (("attr", name), *rest))] if own else []
        if rest and own:
            ways.append((f"{own}.{name}", rest))
        if own:
            ways.append((f"{own}.__dict__", (("item", name), *rest)))
        for text, path in ways:
            for put in puts(inner, text, path, 0):
                part = walk.origins(inner, put.value, put.path)
                found += walk.handed_on(part, inner, put.at, put.value)
        return found

    def kept_by(self, scope: Scope, node: ast.expr, path: Path) -> list[Origin]:
        """What an object that is there, or a class, keeps, by the text of its class."""
        value = scope.value(node)
        kind = Kind(value) if isinstance(value, type) else self.walk.callees.kind_of(scope, node)
        if kind is None or kind.value is ModuleType:
            return []
        return self.kept(kind, None, path, scope, node)

    def put_by_methods(self, scope: Scope, node: ast.expr, owner: str, path: Path) -> list[Origin]:
        """What methods have put into an object that were called on it here."""
        found = list[Any]()
        calls = [each for each in about(scope.node, owner) if isinstance(each, ast.Call)]
        kind = self.walk.callees.kind_of(scope, node) if calls else None
        methods = {} if kind is None else dict(reversed(list(self._methods(kind))))
        name, rest = path[0][1], path[1:]
        for call in calls:
            inner = methods.get(getattr(call.func, "attr", ""))
            if inner is not None:
                given = replace(Given.of(scope, call), own=Point(scope, node))
                part = self._put_in(replace(inner, given=given), own_name_of(inner), name, rest)
                if part:
                    self.walk.seen_methods.add(inner.node)
                found += part
        return found
