"""Calls on the way back from a value: of the program's functions, of containers, of others."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from types import ModuleType
from typing import TYPE_CHECKING, Any

from devlint.runtime.explaining.flow import results_of
from devlint.runtime.explaining.found import Origin, is_again, is_sure
from devlint.runtime.explaining.given import ANY, Given, Path, Point
from devlint.runtime.explaining.lookup import MISSING, modules_below, own_tensors
from devlint.runtime.explaining.places import (
    can_be,
    keyword,
    loaded_to,
    made_on,
    moved_to,
    name_of,
)
from devlint.runtime.explaining.scopes import Scope
from devlint.runtime.explaining.stack import as_module
from devlint.runtime.operands import is_tensor

if TYPE_CHECKING:
    from devlint.runtime.explaining.slicing import Walk

_ITEMS = ("get", "pop", "popleft", "setdefault", "__getitem__", "popitem")
_PARTS = ("parameters", "buffers", "modules", "children", "state_dict")
_NO_TENSOR = frozenset("numpy item tolist size dim numel".split())
_SUMS = (builtins.sum, builtins.max, builtins.min)


class Calls:
    """The cases of a walk that are calls."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def origins(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin]:
        found = self._placed(scope, call, path)
        if found is not None:
            return found
        callee = self.walk.callees.callee(scope, call.func, Given.of(scope, call))
        if callee.scope is not None:
            results = self.results(callee.scope, path)
            return results if results or path else [Origin(scope, call)]
        by_name = self._of_containers(scope, call, path)
        if by_name is not None:
            return by_name
        if callee.kind is not None:
            return self.walk.keepers.made(scope, call, callee.kind, path)
        return self._of_others(scope, call, callee.value, path)

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
        if self.walk.callees.callee(scope, call.func, Given.of(scope, call)).scope is not None:
            return None  # a method of the program's own
        if can_be(place, device) and (place or not path):
            return [Origin(scope, call, "moved")]
        return self.walk.origins(scope, call.func.value, path) if path else []

    def results(self, inner: Scope, path: Path) -> list[Origin]:
        """Where a part of what a function gives comes from."""
        walk = self.walk
        if isinstance(inner.node, ast.Lambda):
            return walk.origins(inner, inner.node.body, path)
        found = list[Origin]()
        for node in results_of(inner.node):
            if node.value is None:
                continue
            if isinstance(node, ast.YieldFrom):
                found += walk.origins(inner, node.value, path)
            elif isinstance(node, ast.Return):
                part = walk.origins(inner, node.value, path)
                found += walk.handed_on(part, inner, node, node.value, path)
            elif path:
                part = walk.origins(inner, node.value, path[1:])
                at = inner.text.statement(node) or node
                found += walk.handed_on(part, inner, at, node.value)
        return found

    def loaded(self, scope: Scope, call: ast.Call, path: Path) -> list[Origin]:
        """Batches of a loader."""
        collate = keyword(call, "collate_fn")
        if collate is not None:
            callee = self.walk.callees.callee(scope, collate, Given(()))
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
            elif name == "values":
                return walk.origins(scope, owner, (ANY, *rest))
            elif name == "copy":
                return walk.origins(scope, owner, path)
            elif name in _ITEMS:
                key = scope.value(args[0]) if args else MISSING
                step = ("item", key if type(key) in (str, int) and name != "popleft" else None)
                found = walk.origins(scope, owner, (step, *path))
                for other in args[1:2]:
                    found = found + walk.origins(scope, other, path)
                return found
            elif name == "children" and any(kind == "attr" for kind, _ in rest):
                return walk.origins(scope, owner, (ANY, *rest))
            elif name.removeprefix("named_") in _PARTS:
                return self._of_module(scope, call, owner)
        if name in ("_replace", "replace") and path and path[0][0] == "attr":
            point = Given.of(scope, call).named(path[0][1], rest)
            if point is not None or (name == "replace" and not args):
                return walk.given(point)
            kept = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            return walk.origins(scope, args[0] if name == "replace" else kept, path)
        if value is next and args:
            return walk.origins(scope, args[0], (ANY, *path))
        if value is zip and path and len(args) == 1 and isinstance(args[0], ast.Starred):
            turned = (rest[0] if rest else ANY, path[0], *rest[1:])
            return walk.origins(scope, args[0].value, turned)
        if value is zip and path:
            if rest and type(rest[0][1]) is int and 0 <= rest[0][1] < len(args):
                return walk.origins(scope, args[rest[0][1]], (ANY, *rest[1:]))
            return [o for each in args for o in walk.origins(scope, each, (ANY, *rest[1:]))]
        if value is enumerate and path:
            is_value = rest[:1] == (("item", 1),)
            return walk.origins(scope, args[0], (ANY, *rest[1:])) if is_value and args else []
        if value is map and path and args:
            given = Given([Point(scope, each, (ANY,)) for each in args[1:]])
            callee = self.walk.callees.callee(scope, args[0], given)
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
        if value is functools.reduce and len(args) > 1:
            return walk.origins(scope, args[1], (ANY,))
        if any(value is each for each in _SUMS) and args:
            return walk.origins(scope, args[0], (ANY,))
        return None

    def _of_module(self, scope: Scope, call: ast.Call, owner: ast.expr) -> list[Origin]:
        """The parameters of a module are where it is; a copy stays where they were."""
        module = as_module(scope.value(owner))
        parts = () if module is None else modules_below(module)
        first = next((t for _, part in parts for _, t in own_tensors(part)), None)
        if first is not None and self.walk.running.where(first) != self.walk.device:
            return [Origin(scope, call)]
        return self.walk.origins(scope, owner) or [Origin(scope, call)]

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
                if found := self.through(given, way):
                    return found
        if is_tensor(held) or is_of_torch:
            points = [Point(scope, owner)] if owner is not None and is_tensor(held) else []
            points += given.each()
            return walk.first(points, scope, call) or ([] if points else [Origin(scope, call)])
        if path and value is not MISSING and (found := self.through(given, path)):
            return found
        if owner is not None and held is MISSING and as_module(value) is None:
            found = walk.origins(scope, owner)
            if not found or is_sure(found) or is_again(found):
                return found
        return [Origin(scope, call)]

    def through(self, given: Given, path: Path) -> list[Origin]:
        """What goes through others unchanged, as far as an argument is known to have it."""
        for point in given.each() if path and path[0][0] == "item" else ():
            found = self.walk.follow(point, path)
            if any(each.is_decided for each in found) or is_again(found):
                return found
        return []


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
