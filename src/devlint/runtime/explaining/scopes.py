"""Functions and files as rooms of names: what is written in them, and what is known of their names.

A scope is one run of a function, that of a frame or one that has ended, or a file. Values are
those of a frame's names, of closures and of the file; nothing of the program is run.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any

from devlint.runtime.explaining.definitions import parsed
from devlint.runtime.explaining.given import Given
from devlint.runtime.explaining.lookup import MISSING, read

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LONGEST = 10_000
"""Lines of a file that is read as a whole."""


@dataclass(frozen=True, eq=False)
class Text:
    """A file, parsed, with what is around each of its parts."""

    file: str
    tree: ast.Module
    parents: Mapping[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> list[ast.AST]:
        """What is around a part, the innermost first."""
        found = []
        while (outer := self.parents.get(node)) is not None:
            found.append(node := outer)
        return found

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a part is in."""
        around = (node, *self.around(node))
        return next((each for each in around if isinstance(each, ast.stmt)), None)

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that a line is in."""
        statements = [node for node in self.parents if isinstance(node, ast.stmt)]
        within = [n for n in statements if n.lineno <= line <= (n.end_lineno or n.lineno)]
        return max(within, key=lambda node: node.lineno, default=None)

    def is_before(self, statement: ast.stmt, node: ast.AST) -> bool:
        """Whether a statement has run in any case where a part of the same function runs."""
        suite = getattr(self.parents.get(statement), "body", None)
        if not isinstance(suite, list) or statement not in suite:
            return False
        around = (node, *self.around(node))
        return any(each in suite for each in around if each is not statement)

    def function(self, node: ast.AST) -> Function | ast.Module:
        """The function that a part belongs to, or the file."""
        inner: ast.AST = node
        for outer in self.around(node):
            if isinstance(outer, FUNCTIONS) and inner in _inside(outer):
                return outer
            inner = outer
        return self.tree

    def same(self, node: ast.AST) -> ast.AST | None:
        """The part that stands where one of another tree of the same text does."""
        place = _place(node)
        if place is None:
            return None
        kind = type(node)
        return next((n for n in self.parents if type(n) is kind and _place(n) == place), None)


def _inside(function: Function) -> Sequence[ast.AST]:
    """The parts of a function that run where it is called."""
    return [function.body] if isinstance(function, ast.Lambda) else function.body


def _place(node: ast.AST) -> tuple[int, int, int | None, int | None] | None:
    if not isinstance(node, (ast.expr, ast.stmt)):
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def text_of_file(file: str) -> Text | None:
    """A file's text; nothing where there is none, or where it is very long."""
    lines = linecache.getlines(file)
    return _parsed(file, "".join(lines)) if 0 < len(lines) <= LONGEST else None


@lru_cache(maxsize=16)
def _parsed(file: str, text: str) -> Text | None:
    tree = parsed(text)
    if tree is None:
        return None
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Text(file, tree, around)


@dataclass(frozen=True, eq=False)
class Scope:
    """One run of a function, or a file."""

    text: Text
    node: Function | ast.Module
    names: Mapping[str, Any] = field(default_factory=dict)
    """What is known of its own names, and of those of functions around."""
    globals: Mapping[str, Any] = field(default_factory=dict)
    outer: Scope | None = None
    """What it was written in, if that is a function that is known."""
    given: Given | None = None
    """What it was called with, where that is known."""
    index: int = -1
    """Of the frame that runs it; -1 where it has ended."""
    line: int = 0
    """Where the frame is."""

    def value(self, node: ast.AST) -> Any:
        """The value of an expression, or `MISSING`. Of a view it is the tensor itself."""
        return read(node, self)


def scope_of(
    function: FunctionType, given: Given | None = None, own: Any = MISSING
) -> Scope | None:
    """The run of a function that has ended."""
    code = function.__code__
    text = text_of_file(code.co_filename)
    node = None if text is None else definition(text, code)
    if text is None or node is None:
        return None
    names = closure(function)
    if own is not MISSING and code.co_argcount:
        names[code.co_varnames[0]] = own
    around = text.function(node)
    outer = None
    if not isinstance(around, ast.Module):
        outer = Scope(text, around, names, function.__globals__)
    return Scope(text, node, names, function.__globals__, outer, given)


def closure(function: FunctionType) -> dict[str, Any]:
    """What a function has of the functions around it."""
    found = dict[str, Any]()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return found


def definition(text: Text, code: CodeType) -> Function | None:
    """The definition that a code object was made from."""
    first, name = code.co_firstlineno, code.co_name
    found = []
    for node in text.parents:
        if isinstance(node, ast.Lambda):
            if name == "<lambda>" and node.lineno == first:
                found.append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            if first in (node.lineno, *(d.lineno for d in node.decorator_list)):
                return node
    return found[0] if len(found) == 1 else None


def unwrapped(value: Any) -> Any:
    """A function without what decorators have put around it, and without its object."""
    for _ in range(8):
        if type(value) in (staticmethod, classmethod, MethodType):
            value = value.__func__
        elif "__wrapped__" in (held := getattr(type(value), "__dict__", {}) and _own(value)):
            value = held["__wrapped__"]
        else:
            break
    return value


def _own(value: Any) -> Mapping[str, Any]:
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}
