"""Classes of the program: their methods, and what they are made of by name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType

from devlint.runtime.explaining.given import Given
from devlint.runtime.explaining.objects import fields_of
from devlint.runtime.explaining.scopes import (
    Scope,
    Text,
    scope_of,
    text_of_file,
    unwrapped,
)
from devlint.runtime.explaining.stack import owner_of_class


class Classes:
    """What users have written of the classes that are there."""

    def __init__(self, is_users: Callable[[str], bool], files: Sequence[str]) -> None:
        self._is_users = is_users
        self._files = files
        """Where a class is looked for that has no functions."""
        self._functions = dict[type, list[tuple[str, FunctionType]]]()
        self._bodies = dict[type, tuple[Text, ast.ClassDef] | None]()

    def functions(self, kind: type) -> Sequence[tuple[str, FunctionType]]:
        """The methods of one class that are the users' own."""
        if kind not in self._functions:
            found = self._functions[kind] = []
            for name, value in list(vars(kind).items()):
                function = unwrapped(value.fget if type(value) is property else value)
                if type(function) is FunctionType:
                    if self._is_users(function.__code__.co_filename):
                        found.append((name, function))
        return self._functions[kind]

    def body(self, kind: type) -> tuple[Text, ast.ClassDef] | None:
        """The text of one class, where there is one definition that it can be."""
        if kind not in self._bodies:
            self._bodies[kind] = self._body(kind)
        return self._bodies[kind]

    def _body(self, kind: type) -> tuple[Text, ast.ClassDef] | None:
        own = [function.__code__.co_filename for _, function in self.functions(kind)]
        if not own and owner_of_class(kind) != "program":
            return None
        for file in dict.fromkeys([*own, *self._files]):
            text = text_of_file(file)
            found = () if text is None else text.classes(kind.__name__)
            if text is not None and len(found) == 1:
                return text, found[0]
        return None


@dataclass(frozen=True)
class Kind:
    """A class, as far as it is known: as an object, as text, or both."""

    value: type | None
    node: ast.ClassDef | None = None
    scope: Scope | None = None
    """Where the text is."""

    def methods(self, classes: Classes, given: Given | None = None) -> Iterator[tuple[str, Scope]]:
        """The methods that users have written, those of the class before those of its bases."""
        if self.value is None:
            for part in self.node.body if self.node is not None else ():
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.scope:
                    outer = self.scope
                    yield part.name, Scope(outer.text, part, {}, outer.globals, outer, given)
            return
        for base in self.value.__mro__:
            for name, function in classes.functions(base):
                inner = scope_of(function, given)
                if inner is not None:
                    yield name, inner

    def bodies(self, classes: Classes) -> Iterator[tuple[Scope, ast.ClassDef]]:
        """The text of the class and of its bases, where it can be found."""
        if self.value is None:
            if self.node is not None and self.scope is not None:
                yield self.scope, self.node
            return
        for base in self.value.__mro__:
            found = classes.body(base)
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
