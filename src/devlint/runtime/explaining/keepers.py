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

from devlint.runtime.explaining.flow import all_definitions, own_nodes
from devlint.runtime.explaining.found import Origin, distinct, is_again
from devlint.runtime.explaining.given import Given, Path, Point, own_name_of
from devlint.runtime.explaining.kinds import constructor, fields, is_generated
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

    def made(self, scope: Scope, call: ast.Call, kind: type, path: Path) -> list[Origin]:
        given = replace(Given.of(scope, call), own=Point(scope, call))
        if issubclass(kind, _PARAMETERS) and given.args:
            return self.walk.follow(given.args[0])
        if not path:
            return [Origin(scope, call)]
        is_users = self._is_users(kind)
        if not is_users:
            if issubclass(kind, DataLoader):
                return self.walk.calls.loaded(scope, call, path)
            if issubclass(kind, TensorDataset) and len(path) > 1:
                return self.walk.follow(given.at(path[1][1] or 0, path[:1] + path[2:]))
        found = self.kept(kind, given, path, scope, call)
        is_filled_later = path[0][0] == "item" and not call.args and not call.keywords
        if found or is_users or is_filled_later or self._field(kind, given, path[0][1], ()):
            return found
        return [Origin(scope, call)]

    def _is_users(self, kind: type) -> bool:
        if any(True for _ in self._methods(kind)) or fields(kind):
            return True
        if kind.__module__ in _CONTAINERS:
            return True
        users = self.walk.running.is_users
        return any(users(at.text.file) for at, _ in self.walk.running.classes.bodies(kind))

    def _methods(self, kind: type) -> Iterator[tuple[str, Scope]]:
        return self.walk.running.classes.methods(kind)

    def kept(
        self, kind: type, given: Given | None, path: Path, scope: Scope, call: ast.AST
    ) -> list[Origin]:
        """Where what an object keeps, or gives as an item, comes from."""
        (step, key), rest = path[0], path[1:]
        if issubclass(kind, tuple) and step == "item" and type(key) is int:
            names = fields(kind)
            if -len(names) <= key < len(names):
                step, key = "attr", names[key]
        if step == "attr":
            own = Point(scope, call) if isinstance(call, ast.expr) else None
            found = self._stored(kind, given, key, rest, own)
            if given is not None and (is_generated(kind) or not self._has_init(kind)):
                found += self.walk.given(self._field(kind, given, key, rest))
            return found
        ways = ("__enter__",) if step == "enter" else ("__getitem__", "__iter__", "__next__")
        methods = dict(reversed(list(self._methods(kind))))
        for name in (each for each in ways if each in methods):
            own = Point(scope, call) if isinstance(call, ast.expr) else None
            inner = replace(methods[name], given=Given((), (), own))
            found = self.walk.calls.results(inner, path if name == "__iter__" else rest)
            if found and not is_again(distinct(found)):
                return found
        if given is None:
            return []
        if issubclass(kind, nn.Sequential) and step == "item":
            parts = given.each() if key is None else filter(None, [given.at(key, ())])
            return [origin for part in parts for origin in self.walk.follow(part, rest)]
        if kind is defaultdict and given.args and isinstance(given.args[0].node, ast.expr):
            callee = self.walk.callees.callee(scope, given.args[0].node, Given(()))
            return [] if callee.scope is None else self.walk.calls.results(callee.scope, rest)
        return self.walk.calls.through(given, path)

    def _has_init(self, kind: type) -> bool:
        return any(name == "__init__" for name, _ in self._methods(kind))

    def _field(self, kind: type, given: Given, name: str, rest: Path) -> Point | None:
        """What a class is given for an attribute of the same name."""
        names, code = fields(kind), constructor(kind)
        if not names and code is not None:
            names = code.co_varnames[1 : code.co_argcount]
        point = given.named(name, rest)
        return given.at(names.index(name), rest) if point is None and name in names else point

    def _stored(
        self, kind: type, given: Given | None, name: str, rest: Path, at: Point | None
    ) -> list[Origin]:
        walk, found = self.walk, list[Any]()
        for method, inner in self._methods(kind):
            if inner.node in walk.seen_methods:
                continue
            own = own_name_of(inner)
            if method == "__init__" and given is not None:
                here = self._constructor(kind, inner, given) or replace(inner, given=given)
            else:
                unknown = Given((), (), at, is_whole=False)
                here = walk.running.live(inner) or replace(inner, given=unknown)
            found += self._put_in(here, own, name, rest)
        for outer, body in walk.running.classes.bodies(kind):
            for made in all_definitions(body, name):
                if made.value is not None:
                    found += self._of_class(outer, made.at, made.value, made.path + rest)
        return found

    def of_attribute(self, kind: type, name: str) -> list[Origin]:
        """Where the objects of a class get an attribute from, as far as the class tells."""
        return distinct(self._stored(kind, None, name, (), None))

    def _constructor(self, kind: type, inner: Scope, given: Given) -> Scope | None:
        """The run of a base's `__init__`, with what `super().__init__(...)` gives it."""
        first = next((s for n, s in self._methods(kind) if n == "__init__"), None)
        if first is None or first.node is inner.node:
            return None
        above = replace(first, given=given)
        for node in own_nodes(above.node):
            if isinstance(node, ast.Call) and name_of(node) == "__init__":
                return replace(inner, given=replace(Given.of(above, node), own=given.own))
        return None

    def _of_class(self, outer: Scope, at: ast.AST, value: ast.expr, path: Path) -> list[Origin]:
        if isinstance(value, ast.Call) and name_of(value) == "field":
            value = keyword(value, "default") or value
        found = self.walk.origins(outer, value, path)
        return self.walk.handed_on(found, outer, at, value)

    def _put_in(self, inner: Scope, own: str, name: str, rest: Path) -> list[Origin]:
        found = list[Origin]()
        ways = (own, ("attr", name)), (f"{own}.{name}",), (f"{own}.__dict__", ("item", name))
        for text, *steps in ways if own else ():
            if steps or rest:
                found += self.walk.of_puts(inner, puts(inner, text, (*steps, *rest), 0))
        return found

    def kept_by(self, scope: Scope, node: ast.expr, path: Path) -> list[Origin]:
        """What an object that is there, or a class, keeps, by the text of its class."""
        value = scope.value(node)
        kind = value if isinstance(value, type) else self.walk.callees.kind_of(scope, node)
        if kind is None or kind is ModuleType:
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
