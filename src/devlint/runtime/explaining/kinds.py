"""Classes of the program: their methods, and what they are made of by name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from devlint.runtime.explaining.given import Given
from devlint.runtime.explaining.lookup import MISSING
from devlint.runtime.explaining.objects import fields_of
from devlint.runtime.explaining.scopes import (
    Scope,
    Text,
    scope_of,
    text_of_file,
    unwrapped,
)


@dataclass(frozen=True)
class Kind:
    """A class, as far as it is known: as an object, as text, or both."""

    value: type | None
    node: ast.ClassDef | None = None
    scope: Scope | None = None
    """Where the text is."""

    def method(self, name: str, given: Given | None, own: Any = MISSING) -> Scope | None:
        """The run of a method."""
        return next((inner for found, inner in self.methods(given, own) if found == name), None)

    def methods(
        self, given: Given | None = None, own: Any = MISSING
    ) -> Iterator[tuple[str, Scope]]:
        """The methods that are written, those of the class itself before those of its bases."""
        if self.value is None:
            for part in self.node.body if self.node is not None else ():
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.scope:
                    outer = self.scope
                    yield part.name, Scope(outer.text, part, {}, outer.globals, outer, given)
            return
        for base in self.value.__mro__:
            for name, found in list(vars(base).items()):
                function = unwrapped(found.fget if type(found) is property else found)
                if type(function) is FunctionType:
                    inner = scope_of(function, given, own)
                    if inner is not None:
                        yield name, inner

    def bodies(self, users: Any) -> Iterator[tuple[Scope, ast.ClassDef]]:
        """The text of the class and of its bases, where it can be found."""
        if self.value is None:
            if self.node is not None and self.scope is not None:
                yield self.scope, self.node
            return
        for base in self.value.__mro__:
            if base is object:
                continue
            found = _definition(base, users)
            if found is not None:
                text, node = found
                names = vars(sys.modules.get(base.__module__, ast))
                yield Scope(text, text.tree, {}, names), node

    def fields(self) -> tuple[str, ...]:
        """The names of what a data class or a named tuple is made of, in their order."""
        if self.value is None:
            return ()
        for base in self.value.__mro__:
            held = vars(base).get("__dataclass_fields__")
            if type(held) is dict:
                return tuple(held)
        return fields_of(self.value)

    @property
    def is_tuple(self) -> bool:
        return self.value is not None and issubclass(self.value, tuple)

    @property
    def is_generated(self) -> bool:
        """Whether `__init__` was made of the fields."""
        code = self.constructor
        return self.is_tuple or (code is not None and code.co_filename == "<string>")

    @property
    def constructor(self) -> CodeType | None:
        """The code of `__init__`."""
        kinds = () if self.value is None else self.value.__mro__
        found = next((vars(kind)["__init__"] for kind in kinds if "__init__" in vars(kind)), None)
        return found.__code__ if type(found) is FunctionType else None


def _definition(kind: type, users: Any) -> tuple[Text, ast.ClassDef] | None:
    lines = [
        function.__code__.co_filename
        for value in vars(kind).values()
        if type(function := unwrapped(value)) is FunctionType
    ]
    for file in dict.fromkeys([*lines, *users]):
        text = text_of_file(file)
        found = [
            node
            for node in (() if text is None else text.parents)
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__
        ]
        if text is not None and len(found) == 1:
            return text, found[0]
    return None
