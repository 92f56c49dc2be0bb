"""The frames of an error as scopes, and where a walk back through them ends."""

from __future__ import annotations

import ast
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from torch import Tensor

from devlint.runtime.explaining.given import Given, Point
from devlint.runtime.explaining.kinds import Classes
from devlint.runtime.explaining.lookup import MISSING
from devlint.runtime.explaining.scopes import (
    FUNCTIONS,
    Scope,
    definition,
    text_of_file,
    unwrapped,
)
from devlint.runtime.explaining.source import parameters
from devlint.runtime.explaining.stack import has_method, own_name, owner_of

if TYPE_CHECKING:
    from devlint.runtime.explaining.scene import Scene


class Running:
    """The scopes of the frames of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.classes = Classes(self.is_users, self._files())
        self._scopes: dict[int, Scope | None] = {}
        self._given: dict[int, Given | None] = {}

    def where(self, tensor: Tensor) -> str:
        return self.scene.device(tensor)

    def is_users(self, file: str) -> bool:
        return owner_of(file) == self.scene.user

    def _files(self) -> list[str]:
        """The user's files that have a part in what runs."""
        return list(dict.fromkeys(s.file for s in self.scene.stack if s.owner == self.scene.user))

    def module(self, name: str) -> ModuleType | None:
        found = sys.modules.get(name)
        return found if type(found) is ModuleType else None

    def scope(self, index: int) -> Scope | None:
        """The scope of a frame."""
        if index not in self._scopes:
            self._scopes[index] = self._scope(index) if 0 <= index < len(self.scene.stack) else None
        return self._scopes[index]

    def _scope(self, index: int) -> Scope | None:
        spot = self.scene.stack[index]
        text = text_of_file(spot.file)
        if text is None or spot.owner != self.scene.user:
            return None
        names = dict(spot.names)
        place = index
        if spot.code.co_name in _COMPREHENSIONS:  # up to Python 3.11, and generators
            around = [
                i
                for i in range(index - 1, -1, -1)
                if spot.code in self.scene.stack[i].code.co_consts
            ]
            if not around:
                return None
            place = around[0]
            spot = self.scene.stack[place]
            names = {**spot.names, **names}
        code = spot.code
        if code.co_name == "<module>":
            return Scope(text, text.tree, names, spot.globals, None, None, place, spot.line)
        node = definition(text, code)
        if node is None:
            return None
        outer = None
        around_it = text.function(node)
        if isinstance(around_it, FUNCTIONS):
            free = {name: names[name] for name in code.co_freevars if name in names}
            outer = Scope(text, around_it, free, spot.globals)
        return Scope(text, node, names, spot.globals, outer, None, place, spot.line)

    def live(self, inner: Scope) -> Scope | None:
        """The frame that runs a function, if one does."""
        for index in range(len(self.scene.stack) - 1, -1, -1):
            spot = self.scene.stack[index]
            if spot.file == inner.text.file and spot.code.co_name == getattr(inner.node, "name", 0):
                scope = self.scope(index)
                if scope is not None and scope.node is inner.node:
                    return scope
        return None

    def file_of(self, scope: Scope) -> Scope | None:
        """The file that a function is written in."""
        if isinstance(scope.node, ast.Module):
            return None
        for index, spot in enumerate(self.scene.stack):
            if spot.code.co_name == "<module>" and spot.file == scope.text.file:
                return self.scope(index)
        return Scope(scope.text, scope.text.tree, scope.globals, scope.globals)

    # --- what a frame was called with

    def given_to(self, scope: Scope) -> Given | None:
        """What the function of a frame was called with, by the line that called it."""
        if scope.index not in self._given:
            self._given[scope.index] = self._given_to(scope) if scope.index >= 0 else None
        return self._given[scope.index]

    def _given_to(self, scope: Scope) -> Given | None:
        stack, code = self.scene.stack, self.scene.stack[scope.index].code
        outer = scope.index - 1
        while outer >= 0 and stack[outer].owner != self.scene.user:
            held = stack[outer].code
            if "args" not in (*held.co_varnames, *held.co_freevars):
                return None  # it doesn't hand on what it was given
            outer -= 1
        above = self.scope(outer)
        failing = self.scene.failing_call(outer) if above is not None else None
        call = None if failing is None or above is None else above.text.same(failing)
        if above is None or not isinstance(call, ast.Call):
            return None
        takes_own = bool(own_name(stack[scope.index]))
        return self._of_call(above, call, code, outer == scope.index - 1, takes_own)

    def _of_call(
        self, scope: Scope, call: ast.Call, code: Any, is_direct: bool, takes_own: bool
    ) -> Given | None:
        given, value = Given.of(scope, call), scope.value(call.func)
        own = None
        runs_object = code.co_name in ("__call__", "forward")
        if isinstance(call.func, ast.Attribute) and call.func.attr == code.co_name:
            runs_object = False  # `super().forward(x)`
        if runs_object or (isinstance(value, type) and isinstance(call.func, ast.Name)):
            own = Point(scope, call.func)
        elif isinstance(call.func, ast.Attribute):
            owner = scope.value(call.func.value)
            if type(owner) is not ModuleType and _takes_own(owner, code, value):
                own = Point(scope, call.func.value)
        given = Given(given.args, given.keywords, own)
        if not is_direct:
            own = own or Point(scope, call.func)
            return Given(given.args, given.keywords, own if takes_own else None)
        if _runs(value, code) or value is MISSING or isinstance(value, type) or own is not None:
            return given
        inner = getattr(value, "func", None) if type(value).__name__ == "partial" else None
        if inner is not None and _runs(inner, code):
            return self._of_partial(scope, call.func, given)
        return None

    def _of_partial(self, scope: Scope, func: ast.expr, given: Given) -> Given | None:
        from devlint.runtime.explaining.slicing import Walk

        made = Walk(self, "").callees.partial_of(scope, func)
        return None if made is None else given.behind(made)


_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def _runs(value: Any, code: Any) -> bool:
    """Whether a function, or one that a decorator has put around it, has a code."""
    if type(value) is FunctionType and value.__code__ is code:
        return True
    function = unwrapped(value)
    return type(function) is FunctionType and function.__code__ is code


def _takes_own(owner: Any, code: Any, value: Any) -> bool:
    """Whether a function gets the object that it is called on as its first argument."""
    if owner is MISSING:
        return parameters(code)[:1] in (("self",), ("cls",))
    if type(value) is FunctionType:
        return False
    kind = owner if isinstance(owner, type) else type(owner)
    return has_method(kind, code) or code.co_name in ("__call__", "forward", "__init__")
