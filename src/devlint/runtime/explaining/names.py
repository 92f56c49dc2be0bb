"""Names on the way back from a value: what sets them, in a function or around it."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from devlint.runtime.explaining.flow import (
    Definition,
    all_definitions,
    definitions,
    own_nodes,
    shared,
    stored_names,
)
from devlint.runtime.explaining.found import Origin, is_again
from devlint.runtime.explaining.given import (
    Given,
    Path,
    bound,
    default,
    parameter_names,
    unpacked,
)
from devlint.runtime.explaining.places import can_be
from devlint.runtime.explaining.puts import puts
from devlint.runtime.explaining.scopes import FUNCTIONS, Scope, text_of_file
from devlint.runtime.operands import is_tensor

if TYPE_CHECKING:
    from devlint.runtime.explaining.slicing import Walk


class Names:
    """The cases of a walk that are names."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def origins(self, scope: Scope, node: ast.Name, path: Path) -> list[Origin]:
        name = node.id
        found, is_outside = definitions(scope, node, name)
        value = scope.value(node)
        if not path and is_tensor(value) and self._is_stable(scope, name, is_outside):
            if not can_be(self.walk.running.where(value), self.walk.device):
                return []
        put, is_sure = self.walk.put_into(scope, node, name, path)
        if is_sure:
            return put
        if isinstance(scope.node, ast.Module):
            put += self._put_by_functions(scope, name, path)
        results = [origin for each in found for origin in self._defined(scope, name, each, path)]
        if found:
            results += self._set_inside(scope, name, path)
        if path and path[0][0] == "attr" and isinstance(value, type):
            return put + self.walk.keepers.kept_by(scope, node, path)
        if put and all(each.is_decided for each in put):
            results = [each for each in results if each.is_decided]
        if is_outside:
            results += self._from_outside(scope, node, path)
        is_lost = all(each.kind == "given" for each in [*put, *results])
        if path and path[0][0] == "attr" and is_lost:
            results = self.walk.keepers.kept_by(scope, node, path) or results
        found_in_all = put + results
        if is_again(found_in_all):
            return [o for each in found_in_all for o in each.instead] or found_in_all
        return found_in_all

    def _is_stable(self, scope: Scope, name: str, is_outside: bool) -> bool:
        """Whether a name's value in a frame is the one that it had at any other place."""
        if scope.index < 0:
            return False
        return stored_names(scope.node).get(name, 0) + is_outside <= 1

    def _defined(self, scope: Scope, name: str, made: Definition, path: Path) -> list[Origin]:
        if made.value is None:
            return self._imported(scope, made.at, name, path)
        found = self.walk.origins(scope, made.value, made.path + path)
        return self.walk.handed_on(found, scope, made.at, made.value, path)

    def _from_outside(self, scope: Scope, node: ast.Name, path: Path) -> list[Origin]:
        name = node.id
        if isinstance(scope.node, FUNCTIONS) and name in parameter_names(scope.node):
            return self._argument(scope, node, path)
        if scope.outer is not None:
            return self._at_end(scope.outer, name, path)
        whole = self.walk.running.file_of(scope)
        return [] if whole is None else self._at_end(whole, name, path)

    def _argument(self, scope: Scope, node: ast.Name, path: Path) -> list[Origin]:
        given = self.walk.running.given_to(scope) if scope.given is None else scope.given
        if given is None:
            return [Origin(scope, node, "given")]
        point = bound(scope.node, given, node.id, path)
        if point is not None:
            return self.walk.given(point)
        if not given.is_whole:
            return [Origin(scope, node, "given")]
        if node.id in unpacked(scope.node):
            return []  # it was given nothing of that name
        value = default(scope.node, node.id)
        if value is None:
            return [Origin(scope, node, "given")]
        outer = scope.outer or self.walk.running.file_of(scope) or scope
        return self.walk.origins(outer, value, path)

    def _at_end(self, scope: Scope, name: str, path: Path) -> list[Origin]:
        """Of a name of what is around: anything that sets it there, whenever that is."""
        sets = all_definitions(scope.node, name)
        inner = self._set_inside(scope, name, path)
        found = [origin for each in sets for origin in self._defined(scope, name, each, path)]
        named = ast.Name(name, ast.Load())
        put, _ = self.walk.put_into(scope, named, name, path)
        put += self._put_by_functions(scope, name, path)
        if sets or put or inner:
            return put + found + inner
        return self._from_outside(scope, named, path)

    def _put_by_functions(self, scope: Scope, name: str, path: Path) -> list[Origin]:
        """What functions put into a value that is kept around them."""
        found = list[Origin]()
        for node in scope.node.body if path and not isinstance(scope.node, ast.Lambda) else ():
            if not isinstance(node, ast.FunctionDef) or name in parameter_names(node):
                continue
            inner = Scope(scope.text, node, {}, scope.globals, scope, Given((), is_whole=False))
            if not any(True for _ in puts(inner, name, path, 0)):
                continue
            calls = [
                each
                for each in own_nodes(scope.node)
                if isinstance(each, ast.Call) and getattr(each.func, "id", "") == node.name
            ]
            runs = [replace(inner, given=Given.of(scope, call)) for call in calls] or [inner]
            live = self.walk.running.live(inner)
            for run in runs if live is None else [live, *runs]:
                found += self.walk.of_puts(run, puts(run, name, path, 0))
        return found

    def _set_inside(self, scope: Scope, name: str, path: Path) -> list[Origin]:
        """What functions inside set a name to that they say is the scope's."""
        found = list[Origin]()
        for node in shared(scope.node):
            if name in node.names:
                function = scope.text.function(node)
                inner = Scope(scope.text, function, {}, scope.globals, scope)
                for made in all_definitions(function, name):
                    found += self._defined(inner, name, made, path)
        return found

    def _imported(self, scope: Scope, at: ast.AST, name: str, path: Path) -> list[Origin]:
        """A name that an import gives: of a module, what a path asks of it."""
        if isinstance(at, ast.ImportFrom):
            for alias in at.names:
                module = self.walk.running.module(at.module or "")
                if module is not None and (alias.asname or alias.name) == name:
                    return self.of_module(module, alias.name, path)
        return [Origin(scope, at)]

    def of_module(self, module: ModuleType, name: str, path: Path) -> list[Origin]:
        """A name of another file."""
        file = vars(module).get("__file__")
        if type(file) is not str or not self.walk.running.is_users(file):
            return []
        text = text_of_file(file)
        if text is None:
            return []
        return self._at_end(Scope(text, text.tree, vars(module), vars(module)), name, path)
