"""Which names can be typed at a place of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_bound(tree: ast.Module, name: str, row: int) -> bool:
    """Whether a name is bound on a row for sure, or by what stands above it in its function: as a
    parameter, or by a statement. What the functions and the file around bind is bound when their
    functions run."""
    *outer, inner = _scopes(tree, row)
    rows = list(_rows(inner, name))
    if rows:
        return min(rows) < row
    return any(True for scope in outer for _ in _rows(scope, name))


def binds(tree: ast.Module, row: int, name: str) -> bool:
    """Whether a statement that begins on a row assigns to a name, or is a loop over it."""
    targets: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.For(target=target) | ast.AsyncFor(target=target) if node.lineno == row:
                targets.append(target)
            case ast.Assign() if node.lineno == row:
                targets += node.targets
    names = (each for target in targets for each in ast.walk(target))
    return any(isinstance(each, ast.Name) and each.id == name for each in names)


def is_header(tree: ast.Module, row: int) -> bool:
    """Whether a compound statement begins on a row."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return any(each.lineno == row and hasattr(each, "body") for each in statements)


def is_move(tree: ast.Module, row: int, indent: str) -> bool:
    """Whether all of a row is `x = x.to(...)`, as deep as it is indented."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to")),
            ) if node.lineno == node.end_lineno == row and node.col_offset == len(indent.encode()):
                return name == moved
    return False


def _scopes(tree: ast.Module, row: int) -> list[Scope]:
    """The file, and the functions around a row, outermost first."""
    found: list[Scope] = [tree]
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            first, last = node.body[0].lineno, node.end_lineno or 0
            if first <= row <= last:
                found.append(node)
    return sorted(found, key=lambda scope: getattr(scope, "lineno", 0))


def _rows(scope: Scope, name: str) -> Iterator[int]:
    """The rows on which a scope binds a name; 0 for a parameter."""
    if not isinstance(scope, ast.Module):
        given = scope.args
        params = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        if any(each is not None and each.arg == name for each in params):
            yield 0
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if node.name == name:
                    yield node.lineno
                continue
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp():
                continue
            case ast.GeneratorExp():
                continue
            case ast.Name(id=bound, ctx=ast.Store()) if bound == name:
                yield node.lineno
            case ast.ExceptHandler(name=bound) if bound == name:
                yield node.lineno
            case ast.alias() if (node.asname or node.name.partition(".")[0]) == name:
                yield node.lineno
        waiting.extend(ast.iter_child_nodes(node))
