"""Functions and files as scopes: what is written in them, and what is known of their names.

A scope is one run of a function, that of a frame or one that has ended, or a file. Values are
those of a frame's names, of closures and of the file; nothing of the program is run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any

from devlint.runtime.explaining.definitions import Lines, parsed
from devlint.runtime.explaining.given import Given
from devlint.runtime.explaining.lookup import MISSING, read

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LONGEST = 10_000
"""Lines of a file that is read as a whole."""
_TEXTS = 32
"""Files that are remembered."""


@dataclass(frozen=True, eq=False)
class Text:
    """A file, parsed, with what is around each of its parts."""

    file: str
    tree: ast.Module
    parents: MutableMapping[ast.AST, ast.AST]

    def around(self, node: ast.AST) -> list[ast.AST]:
        """What is around a part, the innermost first."""
        found = []
        while (outer := self.parents.get(node)) is not None:
            found.append(node := outer)
        return found

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that a part is in."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.parents.get(at)
        return at

    def statement_at(self, line: int) -> ast.stmt | None:
        """The innermost statement that a line is in."""
        statements = _parts_of(self.tree).statements
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
        return None if place is None else _parts_of(self.tree).places.get((type(node), place))

    def classes(self, name: str) -> Sequence[ast.ClassDef]:
        """The classes of a name."""
        return [node for node in _parts_of(self.tree).classes if node.name == name]


def _inside(function: Function) -> Sequence[ast.AST]:
    """The parts of a function that run where it is called."""
    return [function.body] if isinstance(function, ast.Lambda) else function.body


_Place = tuple[int, int, int | None, int | None]


def _place(node: ast.AST) -> _Place | None:
    if not isinstance(node, (ast.expr, ast.stmt)):
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


@dataclass(frozen=True)
class _Parts:
    """The parts of a file by what is asked of them."""

    statements: list[ast.stmt] = field(default_factory=list)
    classes: list[ast.ClassDef] = field(default_factory=list)
    functions: dict[tuple[str, int], list[Function]] = field(default_factory=dict)
    """By the name and the first line of their code."""
    places: dict[tuple[type, _Place], ast.AST] = field(default_factory=dict)


@lru_cache(maxsize=_TEXTS)
def _parts_of(tree: ast.Module) -> _Parts:
    found = _Parts()
    for node in ast.walk(tree):
        if (place := _place(node)) is not None:
            found.places.setdefault((type(node), place), node)
        if isinstance(node, ast.stmt):
            found.statements.append(node)
        if isinstance(node, ast.ClassDef):
            found.classes.append(node)
        elif isinstance(node, ast.Lambda):
            found.functions.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for line in {node.lineno, *(each.lineno for each in node.decorator_list)}:
                found.functions.setdefault((node.name, line), []).append(node)
    return found


def text_of_file(file: str) -> Text | None:
    """A file's text; nothing where there is none, or where it is very long."""
    held = Lines.of(file)
    return _parsed(held) if 0 < len(held.lines) <= LONGEST else None


@lru_cache(maxsize=_TEXTS)
def _parsed(held: Lines) -> Text | None:
    tree = parsed("".join(held.lines))
    if tree is None:
        return None
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return Text(held.file, tree, around)


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
    found = _parts_of(text.tree).functions.get((code.co_name, code.co_firstlineno), ())
    is_sure = len(found) == 1 or not any(isinstance(node, ast.Lambda) for node in found)
    return next(iter(found), None) if is_sure else None


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
