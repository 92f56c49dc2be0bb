"""Which names can be typed at a place of a file, and what its statements bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | Function


class Scopes:
    """The functions of a file and its statements, by their rows."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._functions: list[tuple[int, int, Function]] = []
        self._statements: dict[int, list[ast.stmt]] = {}
        self._bound: dict[Scope, dict[str, int]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt):
                self._statements.setdefault(node.lineno, []).append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._functions.append((node.body[0].lineno, node.end_lineno or 0, node))

    def is_bound(self, name: str, row: int) -> bool:
        """Whether a name is bound on a row, by what stands above it in its function: as a
        parameter, or by a statement. What the functions and the file around bind is bound when
        their functions run."""
        around = (each for first, last, each in self._functions if first <= row <= last)
        *outer, inner = self._tree, *sorted(around, key=lambda each: each.lineno)
        own = self._rows(inner).get(name)
        if own is not None:
            return own < row
        return any(name in self._rows(scope) for scope in outer)

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

    def is_move(self, row: int, indent: str) -> bool:
        """Whether all of a row is `x = x.to(...)`, as deep as it is indented."""
        match self._statements.get(row):
            case [
                ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to")),
                    end_lineno=last,
                    col_offset=column,
                )
            ]:
                return name == moved and last == row and column == len(indent.encode())
        return False

    def _rows(self, scope: Scope) -> dict[str, int]:
        """The names that a scope binds, with the first row that does so; 0 for a parameter."""
        found = self._bound.get(scope)
        if found is None:
            found = self._bound[scope] = {}
            for name, row in _bindings(scope):
                found[name] = min(row, found.get(name, row))
        return found


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
