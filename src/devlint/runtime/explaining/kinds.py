"""Classes of the program: their methods, and what they are made of by name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType

from devlint.runtime.explaining.lookup import declared
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

    def _of(self, kind: type) -> Sequence[tuple[str, FunctionType]]:
        """The methods of one class that are the users' own."""
        if kind not in self._functions:
            found = self._functions[kind] = []
            for name, value in list(vars(kind).items()):
                function = unwrapped(value.fget if type(value) is property else value)
                if type(function) is FunctionType:
                    if self._is_users(function.__code__.co_filename):
                        found.append((name, function))
        return self._functions[kind]

    def methods(self, kind: type) -> Iterator[tuple[str, Scope]]:
        """The methods that users have written, those of the class before those of its bases."""
        for base in kind.__mro__:
            for name, function in self._of(base):
                inner = scope_of(function)
                if inner is not None:
                    yield name, inner

    def bodies(self, kind: type) -> Iterator[tuple[Scope, ast.ClassDef]]:
        """The text of the class and of its bases, where it can be found."""
        for base in kind.__mro__:
            if base not in self._bodies:
                self._bodies[base] = self._body(base)
            if (found := self._bodies[base]) is not None:
                text, node = found
                names = vars(sys.modules.get(base.__module__, ast))
                yield Scope(text, text.tree, {}, names), node

    def _body(self, kind: type) -> tuple[Text, ast.ClassDef] | None:
        """The text of one class, where there is one definition that it can be."""
        own = [function.__code__.co_filename for _, function in self._of(kind)]
        if not own and owner_of_class(kind) != "program":
            return None
        for file in dict.fromkeys([*own, *self._files]):
            text = text_of_file(file)
            found = () if text is None else text.classes(kind.__name__)
            if text is not None and len(found) == 1:
                return text, found[0]
        return None


def fields(kind: type) -> tuple[str, ...]:
    """The names of what a data class or a named tuple is made of, in their order."""
    held = declared(kind, "__dataclass_fields__")
    return tuple(held) if type(held) is dict else fields_of(kind)


def constructor(kind: type) -> CodeType | None:
    """The code of `__init__`."""
    found = declared(kind, "__init__")
    return found.__code__ if type(found) is FunctionType else None


def is_generated(kind: type) -> bool:
    """Whether `__init__` was made of the fields."""
    code = constructor(kind)
    return issubclass(kind, tuple) or (code is not None and code.co_filename == "<string>")
