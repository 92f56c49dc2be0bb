"""Where a value comes from: a walk from an expression back to what decided the place of its tensor.

One case for each way in which a program hands on values. What may have been the one is followed,
and left out where it can't be on the device that the tensor is on.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from torch import nn

from devlint.runtime.explaining.callees import Callees
from devlint.runtime.explaining.flow import written
from devlint.runtime.explaining.found import Origin, distinct, is_again, is_sure
from devlint.runtime.explaining.given import (
    ANY,
    Given,
    Path,
    Point,
)
from devlint.runtime.explaining.keepers import Keepers
from devlint.runtime.explaining.lookup import MISSING, getter_of
from devlint.runtime.explaining.names import Names
from devlint.runtime.explaining.puts import Put, puts
from devlint.runtime.explaining.scopes import Scope, scope_of
from devlint.runtime.explaining.slicing_calls import Calls
from devlint.runtime.operands import is_tensor

if TYPE_CHECKING:
    from devlint.runtime.explaining.running import Running

_STEPS = 200
"""Expressions that are looked at: an error shouldn't wait for more."""
_DEEP = 5
"""Steps from a value to a part of it."""


class Walk:
    """One walk back, for a tensor on a device."""

    def __init__(self, running: Running, device: str) -> None:
        self.running = running
        self.device = device
        self.calls, self.callees = Calls(self), Callees(self)
        self.keepers, self.names = Keepers(self), Names(self)
        self.seen_methods = set[ast.AST]()
        self._active = set[tuple[ast.AST, Path, int]]()
        self._steps = 0
        self.is_cut = False
        """Whether it has ended before all was looked at, so that nothing is sure."""

    def follow(self, point: Point | None, path: Path = ()) -> list[Origin]:
        """Where a part of what an expression gives may come from; empty where that can't be."""
        return [] if point is None else self.origins(point.scope, point.node, point.path + path)

    def given(self, point: Point | None) -> list[Origin]:
        """The same of an argument: the line that calls hands on what it computes for it."""
        found = self.follow(point)
        at = None if point is None else point.scope.text.statement(point.node)
        if point is None or at is None:
            return found
        return self.handed_on(found, point.scope, at, point.node, point.path)

    def origins(self, scope: Scope, node: ast.expr, path: Path = ()) -> list[Origin]:
        key = (node, path, id(scope.node))
        self._steps += 1
        if key in self._active:
            return [Origin(scope, node, "again")]
        if self._steps > _STEPS:
            self.is_cut = True
        if self.is_cut or len(path) > _DEEP:
            return []
        self._active.add(key)
        try:
            return distinct(self._origins(scope, node, path))
        finally:
            self._active.discard(key)

    def _origins(self, scope: Scope, node: ast.expr, path: Path) -> list[Origin]:
        if isinstance(node, ast.Name):
            return self.names.origins(scope, node, path)
        if isinstance(node, ast.Attribute):
            return self._attribute(scope, node, path)
        if isinstance(node, ast.Subscript):
            return self._item(scope, node, path)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return self._sequence(scope, node.elts, path)
        if isinstance(node, ast.Dict):
            return self._dict(scope, node, path)
        if isinstance(node, ast.Call):
            return self.calls.origins(scope, node, path)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            return (
                self.origins(scope, node.elt, path[1:])
                if path
                else self.first([Point(scope, node.elt)])
            )
        if isinstance(node, ast.DictComp):
            is_key = path[:1] == (ANY,) and path[1:2] == (("item", 0),)
            return [] if is_key else self.origins(scope, node.value, path[1:])
        if isinstance(node, ast.IfExp):
            return self._either(scope, [node.body, node.orelse], path)
        if isinstance(node, ast.BoolOp):
            return self._either(scope, node.values, path)
        if isinstance(node, (ast.NamedExpr, ast.Starred, ast.Await, ast.YieldFrom)):
            return self.origins(scope, node.value, path)
        if isinstance(node, ast.BinOp):
            sides = [Point(scope, node.left, path), Point(scope, node.right, path)]
            is_list = bool(path) and isinstance(node.op, (ast.Add, ast.BitOr))
            if is_list:
                return [each for side in sides for each in self.follow(side)]
            return self.first([replace(side, path=()) for side in sides], scope, node)
        if isinstance(node, ast.Compare):
            return self.first(
                [Point(scope, n) for n in (node.left, *node.comparators)], scope, node
            )
        if isinstance(node, ast.UnaryOp):
            return self.origins(scope, node.operand, path)
        return []

    def handed_on(
        self, found: list[Origin], scope: Scope, at: ast.AST, value: ast.AST, path: Path = ()
    ) -> list[Origin]:
        """What one statement hands on: the statement itself where it isn't sure what that is.

        What makes an object isn't what sets its attributes.
        """
        is_loop = isinstance(at, (ast.For, ast.AsyncFor)) and not _is_plain(scope, value)
        is_object = any(kind == "attr" for kind, _ in path) and not is_loop
        if is_again(found) or is_object:
            return found
        if len({each.place for each in found}) > 1:
            found = [Origin(scope, at)]
        base = value
        while isinstance(base, (ast.Attribute, ast.Subscript, ast.Starred)):
            base = base.value
        is_computed = not isinstance(base, ast.Name)
        if isinstance(at, (ast.For, ast.AsyncFor)):
            is_computed = is_loop
        if is_computed and isinstance(at, ast.stmt):
            found = [replace(each, nearest=(scope, at)) for each in found]
        return found

    # --- parts of values

    def put_into(
        self, scope: Scope, node: ast.expr, owner: str, path: Path
    ) -> tuple[list[Origin], bool]:
        """What is put into a value where it is called so, and whether that is there in any case."""
        if not path:
            return [], False
        line = getattr(node, "lineno", 0) or scope.line
        made = list(puts(scope, owner, path, line))
        if path[0][0] == "attr":
            held = (("item", path[0][1]), *path[1:])
            made += puts(scope, f"{owner}.__dict__", held, line)
            found = self.keepers.put_by_methods(scope, node, owner, path)
        else:
            found = []
        last = [put for put in made if put.is_exact and scope.text.is_before(put.at, node)]
        is_sure = bool(last) and not found
        if is_sure:
            made = [max(last, key=lambda put: put.at.lineno)]
        return found + self.of_puts(scope, made), is_sure

    def of_puts(self, scope: Scope, made: Iterable[Put]) -> list[Origin]:
        """Where what some statements put into a value comes from."""
        found = list[Origin]()
        for put in made:
            part = self.origins(scope, put.value, put.path)
            found += self.handed_on(part, scope, put.at, put.value, put.path)
        return found

    def _attribute(self, scope: Scope, node: ast.Attribute, path: Path) -> list[Origin]:
        owner, name = scope.value(node.value), node.attr
        if is_tensor(owner):  # or what a method of it gives: `x.max(1).indices`
            is_part = isinstance(node.value, ast.Call) and name not in _ABOUT
            is_part = is_part or name in _WITH_THE_TENSOR
            return self.origins(scope, node.value) if is_part else []
        if isinstance(owner, ModuleType):
            return self.names.of_module(owner, name, path)
        getter = None if owner is MISSING else getter_of(owner, name)
        if getter is not None and self.running.is_users(getter.__code__.co_filename):
            return self.returned(getter, Point(scope, node.value), path, owner)
        put, is_sure = self.put_into(scope, node, written(node), path)
        if is_sure:
            return put
        if name in _WITH_THE_TENSOR and owner is MISSING and not path:
            return self.origins(scope, node.value)
        return put + self.origins(scope, node.value, (("attr", name), *path))

    def returned(
        self, function: FunctionType, own: Point | None, path: Path, value: Any = MISSING
    ) -> list[Origin]:
        """What a method without arguments gives."""
        inner = scope_of(function, Given((), (), own), value)
        return [] if inner is None else self.calls.results(inner, path)

    def _item(self, scope: Scope, node: ast.Subscript, path: Path) -> list[Origin]:
        if is_tensor(scope.value(node.value)):
            return self.origins(scope, node.value)
        key = scope.value(node.slice)
        step = ("item", key if type(key) in (str, int) else None)
        put, is_sure = self.put_into(scope, node, written(node), path)
        if is_sure:
            return put
        return put + self.origins(scope, node.value, (step, *path))

    def _sequence(self, scope: Scope, parts: list[ast.expr], path: Path) -> list[Origin]:
        if not path:  # what is computed of all of them
            return self.first([Point(scope, each, _spread(each)) for each in parts])
        (kind, key), rest = path[0], path[1:]
        if kind == "rest":  # what `*rest` gets of it
            index = rest[0][1] if rest else None
            moved = key + index if type(index) is int and index >= 0 else None
            return self._sequence(scope, parts, (("item", moved), *rest[1:]))
        starred = any(isinstance(each, ast.Starred) for each in parts)
        if type(key) is int and not starred and -len(parts) <= key < len(parts):
            return self.origins(scope, parts[key], rest)
        return [
            origin
            for each in parts
            for origin in self.origins(scope, each, (path if _spread(each) else rest))
        ]

    def _dict(self, scope: Scope, node: ast.Dict, path: Path) -> list[Origin]:
        found = list[Origin]()
        key = path[0][1] if path else None
        for name, value in zip(node.keys, node.values, strict=True):
            if name is None:
                found += self.origins(scope, value, path)
            elif key is None or not isinstance(name, ast.Constant) or name.value == key:
                found += self.origins(scope, value, path[1:])
        return found

    def _either(self, scope: Scope, choices: list[ast.expr], path: Path) -> list[Origin]:
        return [each for choice in choices for each in self.origins(scope, choice, path)]

    def first(
        self, points: list[Point], scope: Scope | None = None, node: ast.AST | None = None
    ) -> list[Origin]:
        """Of tensors that meet, which are all in one place: the first of which it is known."""
        points = [point for point in points if not self._is_number(point)]
        found = [self.follow(point) or self._each_of(point) for point in points]
        again = next((each for each in found if is_again(each)), None)
        if again is not None:  # an update: it is where it was before, if that was a tensor
            others = [each[0] for each in found if is_sure(each)]
            return [replace(again[0], instead=tuple(others[:1]))]
        sure = [each for each in found if len({o.place for o in each}) == 1]
        for each in sure:
            if each[0].is_decided:
                return each[:1]
        if scope is not None and node is not None and any(found):
            return [Origin(scope, node)]
        return sure[0][:1] if sure else []

    def _each_of(self, point: Point) -> list[Origin]:
        """The items of what isn't a tensor: `torch.stack(rows)`."""
        return [] if is_tensor(point.scope.value(point.node)) else self.follow(point, (ANY,))

    def _is_number(self, point: Point) -> bool:
        value = point.scope.value(point.node)
        return type(value) in (int, float, bool, complex, str, type(None))


_ABOUT = ("shape", "dtype", "device", "ndim", "layout", "names")
_WITH_THE_TENSOR = ("grad", "T", "mT", "H", "mH", "real", "imag", "data")


def _is_plain(scope: Scope, node: ast.AST) -> bool:
    """Whether a loop goes through what containers hold, and nothing is made for it."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GIVES_KEPT:
            return True
        function = scope.value(node.func)
        is_builtin = isinstance(function, type) or function is sorted
        is_builtin = is_builtin and function.__module__ == "builtins"
        return is_builtin and all(_is_plain(scope, each) for each in node.args)
    held = scope.value(node)
    is_kept = type(held) in _CONTAINERS or isinstance(held, _MODULES)
    return is_kept or isinstance(node, (ast.List, ast.Tuple))


_CONTAINERS = (list, tuple, dict, set, deque)
_MODULES = (nn.ModuleList, nn.Sequential, nn.ModuleDict)
_GIVES_KEPT = ("items", "values", "children", "named_children", "modules", "named_modules")


def _spread(node: ast.expr) -> Path:
    return (ANY,) if isinstance(node, ast.Starred) else ()
