"""What a call calls: a function or a class of the program, or another one."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from devlint.runtime.explaining.flow import Definition, all_definitions, definitions
from devlint.runtime.explaining.given import ANY, Given, Point, own_name_of
from devlint.runtime.explaining.lookup import MISSING, declared
from devlint.runtime.explaining.places import name_of
from devlint.runtime.explaining.scopes import Scope, scope_of, unwrapped
from devlint.runtime.explaining.stack import as_module
from devlint.runtime.operands import is_tensor

if TYPE_CHECKING:
    from devlint.runtime.explaining.slicing import Walk


@dataclass(frozen=True)
class Callee:
    """What a call calls."""

    scope: Scope | None = None
    """The run of a function of the program."""
    kind: type | None = None
    """A class."""
    value: Any = MISSING


class Callees:
    """What is called, as values or as the text tells it."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def callee(self, scope: Scope, func: ast.expr, given: Given) -> Callee:
        value = scope.value(func)
        own: Point | None = None
        own_value: Any = MISSING
        if isinstance(func, ast.Attribute):
            owner = scope.value(func.value)
            if type(owner) is not ModuleType and owner is not MISSING:
                kind = owner if isinstance(owner, type) else type(owner)
                raw = declared(kind, func.attr)
                is_held = value is not MISSING and type(value) is not FunctionType
                if not is_held and raw is not None and type(raw) is not property:
                    value = raw
                    is_class = isinstance(owner, type)
                    if type(raw) is classmethod or not (type(raw) is staticmethod or is_class):
                        own, own_value = Point(scope, func.value), owner
            elif owner is MISSING:
                kind_of = self.kind_of(scope, func.value)
                written = () if kind_of is None else self.walk.running.classes.methods(kind_of)
                inner = next((run for name, run in written if name == func.attr), None)
                if inner is not None:
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
            return Callee(kind=value, value=value)
        method = declared(type(value), "__call__")
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
        if not isinstance(func, ast.Name):
            return Callee()
        found, is_outside = definitions(scope, func, func.id)
        made = found[0] if len(found) == 1 and not is_outside else None
        if made is not None and isinstance(made.at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return Callee(Scope(scope.text, made.at, {}, scope.globals, scope, given))
        if made is not None and (item := _item_of(scope, made)) is not MISSING:
            return self._known(item, given, None, MISSING, Point(scope, func))
        return Callee()

    def partial_of(self, scope: Scope, func: ast.expr) -> Given | None:
        """What `functools.partial` was given where it made a function."""
        for _ in range(4):
            if not isinstance(func, ast.Name):
                break
            found, _ = definitions(scope, func, func.id)
            if not found and (outer := scope.outer or self.walk.running.file_of(scope)):
                found, scope = [*all_definitions(outer.node, func.id)], outer
            if len(found) != 1 or found[0].value is None:
                return None
            func = found[0].value
        if not isinstance(func, ast.Call) or name_of(func) != "partial" or not func.args:
            return None
        return Given.of(scope, ast.Call(func.func, func.args[1:], func.keywords))

    def kind_of(self, scope: Scope, node: ast.expr) -> type | None:
        """The class of what an expression gives."""
        value = scope.value(node)
        if value is not MISSING:
            return None if is_tensor(value) else type(value)
        if isinstance(node, ast.Call):
            return self.callee(scope, node.func, Given.of(scope, node)).kind
        if isinstance(node, ast.Name):
            found, is_outside = definitions(scope, node, node.id)
            made = found[0] if len(found) == 1 and not is_outside else None
            if made is not None and (item := _item_of(scope, made)) is not MISSING:
                return type(item)
            own = None if scope.given is None or found else scope.given.own
            if own is not None and not own.path and node.id == own_name_of(scope):
                return self.kind_of(own.scope, own.node)
            if made is not None and isinstance(made.value, ast.Call):
                return self.kind_of(scope, made.value)
        return None


def _item_of(scope: Scope, made: Definition) -> Any:
    """What a loop goes through, where that is a list that is there."""
    items = scope.value(made.value) if made.value is not None and made.path == (ANY,) else None
    return items[0] if type(items) in (list, tuple) and items else MISSING
