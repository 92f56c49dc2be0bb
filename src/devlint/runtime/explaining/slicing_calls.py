"""Calls on the way back from a value: of the program's functions and classes, and of others."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from devlint.runtime.explaining.flow import definitions, given_by, own_nodes, puts
from devlint.runtime.explaining.found import Origin, distinct, is_again, is_sure
from devlint.runtime.explaining.given import ANY, Given, Path, Point, bound, parameter_names
from devlint.runtime.explaining.kinds import Kind
from devlint.runtime.explaining.lookup import MISSING, modules_below, own_tensors
from devlint.runtime.explaining.places import (
    can_be,
    keyword,
    loaded_to,
    made_on,
    moved_to,
    name_of,
)
from devlint.runtime.explaining.scopes import FUNCTIONS, Scope, scope_of, unwrapped
from devlint.runtime.explaining.stack import as_module
from devlint.runtime.operands import is_tensor

if TYPE_CHECKING:
    from devlint.runtime.explaining.slicing import Walk

_ITEMS = ("get", "pop", "popleft", "setdefault", "__getitem__", "popitem")
_PARTS = ("parameters", "buffers", "modules", "children", "state_dict")
_NO_TENSOR = frozenset("numpy item tolist size dim numel".split())
_PARAMETERS = tuple(
    kind for kind in (nn.Parameter, getattr(nn, "Buffer", None)) if kind is not None
)
_CONTAINERS = ("builtins", "collections", "types")
"""Modules whose classes keep what they are given, and nothing else."""
_SUMS = (builtins.sum, builtins.max, builtins.min)


@dataclass(frozen=True)
class Callee:
    """What a call calls."""

    scope: Scope | None = None
    """The run of a function of the program."""
    kind: Kind | None = None
    """A class."""
    value: Any = MISSING


class Calls:
    """The cases of a walk that are calls."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def origins(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin]:
        found = self._placed(scope, call, path)
        if found is not None:
            return found
        callee = self.callee(scope, call.func, Given.of(scope, call))
        if callee.scope is not None:
            results = self.results(callee.scope, path)
            return results if results or path else [self._end(scope, call)]
        by_name = self._of_containers(scope, call, path)
        if by_name is not None:
            return by_name
        if callee.kind is not None:
            return self._made_object(scope, call, callee.kind, path)
        return self._of_others(scope, call, callee.value, path)

    def _end(self, scope: Scope, node: ast.AST) -> Origin:
        return Origin(scope, node)

    def _placed(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin] | None:
        """What makes, loads or moves a tensor itself."""
        where, device = self.walk.running.where, self.walk.device
        for kind, place in (
            ("loaded", loaded_to(scope, call, where)),
            ("made", made_on(scope, call, where)),
        ):
            if place is not None:
                return [Origin(scope, call, kind)] if can_be(place, device) else []
        place = moved_to(scope, call, where)
        if place is None or not isinstance(call.func, ast.Attribute):
            return None
        if self.callee(scope, call.func, Given.of(scope, call)).scope is not None:
            return None  # a method of the program's own
        if can_be(place, device) and (place or not path):
            return [Origin(scope, call, "moved")]
        return self.walk.origins(scope, call.func.value, path) if path else []

    # --- what is called

    def callee(self, scope: Scope, func: ast.expr, given: Given) -> Callee:
        value = scope.value(func)
        own: Point | None = None
        own_value: Any = MISSING
        if isinstance(func, ast.Attribute):
            owner = scope.value(func.value)
            if type(owner) is not ModuleType and owner is not MISSING:
                kind = owner if isinstance(owner, type) else type(owner)
                raw = next((vars(b)[func.attr] for b in kind.__mro__ if func.attr in vars(b)), None)
                is_held = value is not MISSING and type(value) is not FunctionType
                if not is_held and raw is not None and type(raw) is not property:
                    value = raw
                    is_class = isinstance(owner, type)
                    if type(raw) is classmethod or not (type(raw) is staticmethod or is_class):
                        own, own_value = Point(scope, func.value), owner
            elif owner is MISSING:
                kind_of = self.kind_of(scope, func.value)
                inner = None if kind_of is None else kind_of.method(func.attr, given)
                if inner is not None and self.walk.running.is_users(inner.text.file):
                    with_own = replace(given, own=Point(scope, func.value))
                    return Callee(scope=replace(inner, given=with_own))
        if value is MISSING:
            return self._written(scope, func, given)
        return self._known(value, given, own, own_value, Point(scope, func))

    def _known(
        self, value: Any, given: Given, own: Point | None, own_value: Any, at: Point
    ) -> Callee:
        function = unwrapped(value)
        users = self.walk.running.is_users
        if type(value) is functools.partial:
            made = self.partial_of(at.scope, at.node)
            inner = given if made is None else given.behind(made)
            return self._known(value.func, inner, None, MISSING, at)
        if type(function) is FunctionType:
            if users(function.__code__.co_filename):
                inner_scope = scope_of(function, replace(given, own=own or given.own), own_value)
                return Callee(inner_scope, value=value)
            return Callee(value=value)
        if isinstance(value, type):
            return Callee(kind=Kind(value), value=value)
        method = next(
            (vars(b)["__call__"] for b in type(value).__mro__ if "__call__" in vars(b)), 0
        )
        if as_module(value) is not None:
            method = type(value).forward
        function = unwrapped(method)
        if type(function) is FunctionType and users(function.__code__.co_filename):
            inner_scope = scope_of(function, replace(given, own=at), value)
            return Callee(inner_scope, value=value)
        return Callee(value=value)

    def _written(self, scope: Scope, func: ast.expr, given: Given) -> Callee:
        """Of a function without a value: as the text defines it."""
        if isinstance(func, ast.Lambda):
            return Callee(Scope(scope.text, func, scope.names, scope.globals, scope, given))
        if isinstance(func, ast.Call) and name_of(func) == "partial" and func.args:
            inner = given.behind(Given.of(scope, ast.Call(func.func, func.args[1:], func.keywords)))
            return self.callee(scope, func.args[0], inner)
        if not isinstance(func, ast.Name):
            return Callee()
        found, is_outside = definitions(scope, func, func.id)
        if len(found) == 1 and not is_outside:
            made = found[0]
            if isinstance(made.at, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner_scope = Scope(scope.text, made.at, {}, scope.globals, scope, given)
                return Callee(inner_scope)
            if isinstance(made.at, ast.ClassDef):
                return Callee(kind=Kind(None, made.at, scope))
            if made.value is not None and not made.path:
                return self.callee(scope, made.value, given)
        if is_outside and not found:
            if scope.given is not None and isinstance(scope.node, FUNCTIONS):
                if func.id in parameter_names(scope.node):
                    point = bound(scope.node, scope.given, func.id, ())
                    if point is not None and not point.path:
                        return self.callee(point.scope, point.node, given)
                    return Callee()
            outer = scope.outer or self.walk.running.file_of(scope)
            if outer is not None and not isinstance(outer.node, ast.Lambda):
                return self._written_in(outer, outer.node.body, func.id, given)
        return Callee()

    def _written_in(
        self, scope: Scope, suite: Sequence[ast.stmt], name: str, given: Given
    ) -> Callee:
        for node in suite:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                return Callee(Scope(scope.text, node, {}, scope.globals, scope, given))
            if isinstance(node, ast.ClassDef) and node.name == name:
                return Callee(kind=Kind(None, node, scope))
        return Callee()

    def partial_of(self, scope: Scope, func: ast.expr) -> Given | None:
        """What `functools.partial` was given where it made a function."""
        for _ in range(4):
            if isinstance(func, ast.Call):
                is_partial = name_of(func) == "partial" and bool(func.args)
                rest = ast.Call(func.func, func.args[1:], func.keywords)
                return Given.of(scope, rest) if is_partial else None
            if not isinstance(func, ast.Name):
                return None
            found, _ = definitions(scope, func, func.id)
            if not found and (outer := scope.outer or self.walk.running.file_of(scope)):
                found = [
                    d
                    for node in own_nodes(outer)
                    if isinstance(node, ast.stmt)
                    for d in given_by(node, func.id)
                ]
                scope = outer
            if len(found) != 1 or found[0].value is None:
                return None
            func = found[0].value
        return None

    def kind_of(self, scope: Scope, node: ast.expr) -> Kind | None:
        """The class of what an expression gives."""
        value = scope.value(node)
        if value is not MISSING:
            return None if is_tensor(value) else Kind(type(value))
        if isinstance(node, ast.Call):
            return self.callee(scope, node.func, Given.of(scope, node)).kind
        if isinstance(node, ast.Name):
            found, is_outside = definitions(scope, node, node.id)
            if len(found) == 1 and not is_outside and isinstance(found[0].value, ast.Call):
                return self.kind_of(scope, found[0].value)
        return None

    # --- functions

    def results(self, inner: Scope, path: Path) -> list[Origin]:
        """Where a part of what a function gives comes from."""
        walk = self.walk
        if isinstance(inner.node, ast.Lambda):
            return walk.origins(inner, inner.node.body, path)
        found, yields = list[Any](), False
        for node in own_nodes(inner):
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                yields = True
        for node in own_nodes(inner):
            if isinstance(node, ast.Yield) and node.value is not None and path:
                part = walk.origins(inner, node.value, path[1:])
                at = inner.text.statement(node) or node
                found += walk.handed_on(part, inner, at, node.value)
            elif isinstance(node, ast.YieldFrom):
                found += walk.origins(inner, node.value, path)
            elif isinstance(node, ast.Return) and node.value is not None and not yields:
                part = walk.origins(inner, node.value, path)
                found += walk.handed_on(part, inner, node, node.value, path)
        return found

    # --- objects

    def _made_object(self, scope: Scope, call: ast.Call, kind: Kind, path: Path) -> list[Origin]:
        given = replace(Given.of(scope, call), own=Point(scope, call))
        if kind.value is not None and issubclass(kind.value, _PARAMETERS) and given.args:
            return self.walk.follow(given.args[0])
        if not path:
            if kind.value is not None and issubclass(kind.value, nn.Module):
                return [self._end(scope, call)]
            return [self._end(scope, call)]
        is_users = self._is_users(kind)
        if kind.value is not None and not is_users:
            if issubclass(kind.value, DataLoader):
                return self._loaded(scope, call, path)
            if issubclass(kind.value, TensorDataset) and len(path) > 1:
                return self.walk.follow(given.at(path[1][1] or 0, path[:1] + path[2:]))
        found = self.kept(kind, given, path, scope, call)
        is_filled_later = path[0][0] == "item" and not call.args and not call.keywords
        if found or is_users or is_filled_later or self._field(kind, given, path[0][1], ()):
            return found
        return [self._end(scope, call)]

    def _is_users(self, kind: Kind) -> bool:
        if any(True for _ in self._methods(kind, None)) or kind.fields():
            return True
        if kind.value is not None and kind.value.__module__ in _CONTAINERS:
            return True
        users = self.walk.running.is_users
        return any(users(at.text.file) for at, _ in kind.bodies(self.walk.running.files))

    def _methods(self, kind: Kind, given: Given | None, own: Any = MISSING) -> Iterator[Any]:
        for name, inner in kind.methods(given, own):
            if self.walk.running.is_users(inner.text.file):
                yield name, inner

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
                found += self.walk.follow(self._field(kind, given, key, rest))
            return found
        names = ("__enter__",) if step == "enter" else ("__getitem__", "__iter__", "__next__")
        methods = dict(reversed(list(self._methods(kind, None))))
        for name in (each for each in names if each in methods):
            own = Point(scope, call) if isinstance(call, ast.expr) else None
            inner = replace(methods[name], given=Given((), (), own))
            found = self.results(inner, path if name == "__iter__" else rest)
            if found and not is_again(distinct(found)):
                return found
        if given is None:
            return []
        if kind.value is defaultdict and given.args and isinstance(given.args[0].node, ast.expr):
            callee = self.callee(scope, given.args[0].node, Given(()))
            return [] if callee.scope is None else self.results(callee.scope, rest)
        if step == "item" and isinstance(key, str):
            named = given.named(key, rest)
            if named is not None:
                return self.walk.follow(named)
        return self._through(given, path)

    def _has_init(self, kind: Kind) -> bool:
        return any(name == "__init__" for name, _ in self._methods(kind, None))

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
        for method, inner in self._methods(kind, None):
            if inner.node in walk.seen_methods:
                continue
            own = _own_name(inner)
            here = self.walk.running.live(inner) or replace(
                inner, given=Given((), (), at, is_whole=False)
            )
            if method == "__init__" and given is not None:
                here = replace(inner, given=given)
                made = self._constructor(kind, inner, given)
                here = made or here
            found += self._put_in(here, own, name, rest)
        for outer, body in kind.bodies(walk.running.files):
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
        first = next((s for n, s in self._methods(kind, None) if n == "__init__"), None)
        if first is None or first.node is inner.node:
            return None
        above = replace(first, given=given)
        for node in own_nodes(above):
            if isinstance(node, ast.Call) and name_of(node) == "__init__":
                return replace(inner, given=replace(Given.of(above, node), own=given.own))
        return None

    def _of_class(self, outer: Scope, statement: Any, rest: Path) -> list[Origin]:
        value = statement.value
        if isinstance(value, ast.Call) and name_of(value) == "field":
            made = keyword(value, "default_factory")
            if made is not None:
                callee = self.callee(outer, made, Given(()))
                return [] if callee.scope is None else self.results(callee.scope, rest)
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
        kind = Kind(value) if isinstance(value, type) else self.kind_of(scope, node)
        if kind is None or kind.value is ModuleType:
            return []
        return self.kept(kind, None, path, scope, node)

    def put_by_methods(self, scope: Scope, node: ast.expr, owner: str, path: Path) -> list[Origin]:
        """What methods have put into an object that were called on it here."""
        found = list[Any]()
        calls = [
            each
            for each in own_nodes(scope)
            if isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and ast.unparse(each.func.value) == owner
        ]
        kind = self.kind_of(scope, node) if calls else None
        methods = [] if kind is None else list(self._methods(kind, None))
        name, rest = path[0][1], path[1:]
        for call in calls:
            for method, inner in methods:
                if method == call.func.attr:  # type: ignore[attr-defined]
                    given = replace(Given.of(scope, call), own=Point(scope, node))
                    here = replace(inner, given=given)
                    part = self._put_in(here, _own_name(inner), name, rest)
                    if part:
                        self.walk.seen_methods.add(inner.node)
                    found += part
                    break
        return found

    # --- what others give

    def _loaded(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin]:
        """Batches of a loader."""
        collate = keyword(call, "collate_fn")
        if collate is not None:
            callee = self.callee(scope, collate, Given(()))
            if callee.scope is not None:
                return self.results(callee.scope, path[1:])
        data = keyword(call, "dataset") or (call.args[0] if call.args else None)
        return [] if data is None else self.walk.origins(scope, data, path)

    def _of_containers(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin] | None:
        """What containers, iterators and `getattr` give; nothing for other calls."""
        walk, name, args = self.walk, name_of(call), call.args
        value = scope.value(call.func)
        rest = path[1:]
        if isinstance(call.func, ast.Attribute):
            owner = call.func.value
            held = scope.value(owner)
            if is_tensor(held) or type(held) is ModuleType or isinstance(held, type):
                pass
            elif name == "items" and path:
                is_value = rest[:1] == (("item", 1),)
                return walk.origins(scope, owner, (ANY, *rest[1:])) if is_value else []
            elif name in ("values", "copy"):
                return walk.origins(scope, owner, path)
            elif name in _ITEMS:
                key = scope.value(args[0]) if args else MISSING
                step = ("item", key if type(key) in (str, int) and name != "popleft" else None)
                found = walk.origins(scope, owner, (step, *path))
                for other in args[1:2]:
                    found = found + walk.origins(scope, other, path)
                return found
            elif name.removeprefix("named_") in _PARTS:
                return self._of_module(scope, call, owner)
        if value is next and args:
            return walk.origins(scope, args[0], (ANY, *path))
        if value is zip and path:
            if rest and type(rest[0][1]) is int and 0 <= rest[0][1] < len(args):
                return walk.origins(scope, args[rest[0][1]], (ANY, *rest[1:]))
            return [o for each in args for o in walk.origins(scope, each, (ANY, *rest[1:]))]
        if value is enumerate and path:
            is_value = rest[:1] == (("item", 1),)
            return walk.origins(scope, args[0], (ANY, *rest[1:])) if is_value and args else []
        if value is map and path and args:
            given = Given([Point(scope, each, (ANY,)) for each in args[1:]])
            callee = self.callee(scope, args[0], given)
            return self.results(callee.scope, rest) if callee.scope is not None else None
        if value is getattr and len(args) > 1:
            key = _text(scope, args[1])
            if key is None:
                return None
            found = walk.origins(scope, ast.copy_location(ast.Attribute(args[0], key), call), path)
            return found or walk.origins(scope, args[0], (("attr", key), *path))
        if value is dict and path:
            key = path[0][1]
            named = Given.of(scope, call).named(key, rest) if type(key) is str else None
            found = walk.follow(named)
            for each in args:
                found = found + walk.origins(scope, each, path)
                found = found + walk.origins(scope, each, (ANY, ("item", 1), *rest))
            return found
        if value in (copy.copy, copy.deepcopy) and args:
            return walk.origins(scope, args[0], path)
        if any(value is each for each in _SUMS) and args:
            return walk.origins(scope, args[0], (ANY,))
        return None

    def _of_module(self, scope: Scope, call: ast.Call, owner: ast.expr) -> list[Origin]:
        """The parameters of a module are where it is; a copy stays where they were."""
        module = as_module(scope.value(owner))
        parts = () if module is None else modules_below(module)
        first = next((t for _, part in parts for _, t in own_tensors(part)), None)
        if first is not None and self.walk.running.where(first) != self.walk.device:
            return [self._end(scope, call)]
        return self.walk.origins(scope, owner) or [self._end(scope, call)]

    def _of_others(self, scope: Scope, call: ast.Call, value: Any, path: Path) -> list[Origin]:
        """What torch and other packages give."""
        walk, given = self.walk, Given.of(scope, call)
        name = name_of(call)
        if name in _NO_TENSOR and not path:
            return []
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        held = MISSING if owner is None else scope.value(owner)
        is_of_torch = (type(held) is ModuleType and held.__name__.startswith("torch")) or str(
            getattr(value, "__module__", "")
        ).startswith("torch")
        if path and is_of_torch:
            for way in (path, path[1:]):
                if found := self._through(given, way):
                    return found
        if is_tensor(held) or is_of_torch:
            points = [*([] if owner is None or not is_tensor(held) else [Point(scope, owner)])]
            points += [_whole(each) for each in given.each()]
            return walk.first(points, scope, call) or ([] if points else [self._end(scope, call)])
        if path and (found := self._through(given, path)):
            return found
        if owner is not None and held is MISSING and as_module(value) is None:
            found = walk.origins(scope, owner)
            if not found or is_sure(found) or is_again(found):
                return found
        return [self._end(scope, call)]

    def _through(self, given: Given, path: Path) -> list[Origin]:
        """What goes through others unchanged, as far as an argument is known to have it."""
        for point in given.each():
            found = self.walk.follow(point, path)
            if any(each.is_decided for each in found) or is_again(found):
                return found
        return []


def _whole(point: Point) -> Point:
    return point


def _own_name(inner: Scope) -> str:
    names = parameter_names(inner.node)
    return names[0] if names else ""


def _text(scope: Scope, node: ast.expr) -> str | None:
    """A string that is written out, or put together of what is known."""
    if isinstance(node, ast.JoinedStr):
        parts = [
            part.value if isinstance(part, ast.Constant) else scope.value(part.value)
            for part in node.values
            if isinstance(part, (ast.Constant, ast.FormattedValue))
        ]
        if all(type(part) in (str, int) for part in parts):
            return "".join(str(part) for part in parts)
        return None
    value = scope.value(node)
    return value if type(value) is str else None
