"""Which names can be typed at a place of a file, and what its statements bind."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | Function


class Scopes:
    """The functions of a file and its statements, by their rows."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._functions: list[tuple[int, int, Function]] = []
        self._classes: list[tuple[int, int]] = []
        self._statements: dict[int, list[ast.stmt]] = {}
        self._bound: dict[Scope, dict[str, int]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                self._statements.setdefault(node.lineno, []).append(node)
            if isinstance(node, ast.ClassDef):
                self._classes.append((node.lineno, node.end_lineno or 0))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.append((node.body[0].lineno, node.end_lineno or 0, node))

    def class_around(self, row: int) -> int | None:
        """The row of the innermost class around a row, if any."""
        around = (row_of for row_of, last in self._classes if row_of <= row <= last)
        return max(around, default=None)

    def is_bound(self, name: str, row: int) -> bool:
        """Whether a name is bound on a row, by what stands above it in its function: as a
        parameter, or by a statement. What the functions and the file around bind is bound when
        their functions run."""
        inner, *outer = self._around(row)
        if self._is_bound_within(name, row):
            return True
        own = self._rows(inner).get(name)
        if own is not None:
            return own < row
        return any(name in self._rows(scope) for scope in outer)

    def scope_of(self, name: str, row: int) -> object:
        """The function that binds a name which stands on a row, or the file; None where none does.
        What a comprehension or a lambda binds is its function's."""
        scopes = self._around(row)
        if self._is_bound_within(name, row):
            return scopes[0]
        return next((each for each in scopes if name in self._rows(each)), None)

    def _around(self, row: int) -> list[Scope]:
        """The functions around a row, from the inside out, and the file."""
        around = (each for first, last, each in self._functions if first <= row <= last)
        return [*sorted(around, key=lambda each: -each.lineno), self._tree]

    def _is_bound_within(self, name: str, row: int) -> bool:
        """Whether a comprehension or a lambda on a row binds a name."""
        return any(first <= row <= last and name in names for first, last, names in self._inner)

    def binds(self, row: int, name: str) -> bool:
        """Whether a statement that begins on a row assigns to a name, or is a loop over it."""
        targets: list[ast.expr] = []
        for node in self._statements.get(row, ()):
            if isinstance(node, (ast.For, ast.AsyncFor)):
                targets.append(node.target)
            elif isinstance(node, ast.Assign):
                targets += node.targets
        names = (each for target in targets for each in ast.walk(target))
        return any(isinstance(each, ast.Name) and each.id == name for each in names)

    def is_header(self, row: int) -> bool:
        """Whether a compound statement begins on a row."""
        return any(hasattr(each, "body") for each in self._statements.get(row, ()))

    def is_loop(self, row: int) -> bool:
        """Whether a `for` begins on a row."""
        return any(isinstance(each, ast.For) for each in self._statements.get(row, ()))

    def binder(self, name: str, row: int) -> int | None:
        """The row of the statement that gives a name the value that it has on a row: an assignment
        to it, or the header of a loop over it. None where that isn't one statement."""
        if self._is_bound_within(name, row):
            return None
        for owner, above in _levels(self._around(row)[0], row):
            for statement in reversed(above):
                if _binds(statement, name):
                    return statement.lineno if self._is_plain(statement, name) else None
            if isinstance(owner, (ast.For, ast.AsyncFor)) and self.binds(owner.lineno, name):
                return owner.lineno
            if isinstance(owner, (ast.For, ast.AsyncFor, ast.While)) and _binds(owner, name):
                return None  # the next round has another value
        return None

    def _is_plain(self, statement: ast.stmt, name: str) -> bool:
        return isinstance(statement, ast.Assign) and self.binds(statement.lineno, name)

    @cached_property
    def _inner(self) -> list[tuple[int, int, set[str]]]:
        """The names that comprehensions and lambdas bind, with their first and last rows."""
        found = []
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Lambda):
                found.append((node.lineno, node.end_lineno or 0, {a.arg for a in node.args.args}))
            elif isinstance(node, _COMPREHENSIONS):
                names = {
                    each.id
                    for clause in node.generators
                    for each in ast.walk(clause.target)
                    if isinstance(each, ast.Name)
                }
                found.append((node.lineno, node.end_lineno or 0, names))
        return found

    def value_end(self, row: int, name: str) -> tuple[int, int] | None:
        """Where the value of `name = value` ends on a row, as Python counts: the row, and the
        bytes before its end. None where more is assigned, or `.to()` can't follow the value."""
        match self._statements.get(row):
            case [ast.Assign(targets=[ast.Name(id=target)], value=value)] if target == name:
                if isinstance(value, (ast.Call, ast.Attribute, ast.Subscript)):
                    return value.end_lineno or row, value.end_col_offset or 0
        return None

    def is_move(self, row: int, indent: str) -> bool:
        """Whether all of a row is `x, y = x.to(...), y.to(...)`, as deep as it is indented."""
        match self._statements.get(row):
            case [ast.Assign(targets=[target], value=value, end_lineno=last, col_offset=column)]:
                targets = target.elts if isinstance(target, ast.Tuple) else [target]
                values = value.elts if isinstance(value, ast.Tuple) else [value]
                moves = len(targets) == len(values) and all(map(_is_move, targets, values))
                return moves and last == row and column == len(indent.encode())
        return False

    def _rows(self, scope: Scope) -> dict[str, int]:
        """The names that a scope binds, with the first row that does so; 0 for a parameter."""
        found = self._bound.get(scope)
        if found is None:
            found = self._bound[scope] = {}
            for name, row in _bindings(scope):
                found[name] = min(row, found.get(name, row))
        return found


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _is_move(target: ast.expr, value: ast.expr) -> bool:
    match target, value:
        case ast.Name(id=name), ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to")):
            return name == moved
    return False


def _levels(scope: Scope, row: int) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """The blocks around a row, from the inside out, each with the statement whose block it is, and
    the statements in it that stand above the one with the row."""
    found: list[tuple[ast.AST, list[ast.stmt]]] = []
    owner: ast.AST = scope
    while True:
        for body in _bodies(owner):
            at = bisect_right(body, row, key=lambda each: each.lineno) - 1
            if at >= 0 and row <= (body[at].end_lineno or 0):
                found.append((owner, body[:at]))
                owner = body[at]
                break
        else:
            return reversed(found)


def _bodies(owner: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(owner, field, None)
        if isinstance(body, list):
            yield body
    for inner in (*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
        yield inner.body


def _binds(statement: ast.AST, name: str) -> bool:
    """Whether a statement, or one in it, binds a name, or changes what it stands for."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
                if found == name:
                    return True
            case (
                ast.ExceptHandler(name=found)
                | ast.alias(asname=found)
                | ast.FunctionDef(name=found)
            ):
                if found == name:
                    return True
    return False


def _bindings(scope: Scope) -> Iterator[tuple[str, int]]:
    if not isinstance(scope, ast.Module):
        given = scope.args
        params = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        yield from ((each.arg, 0) for each in params if each is not None)
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name, node.lineno
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                continue
            case ast.GeneratorExp():
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.alias(name=name, asname=known):
                yield known or name.partition(".")[0], node.lineno
        waiting.extend(ast.iter_child_nodes(node))
