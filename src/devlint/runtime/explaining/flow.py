"""Which parts of a function may have given a name the value that it has at a place."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from devlint.runtime.explaining.given import ANY, Path
from devlint.runtime.explaining.scopes import FUNCTIONS, Scope, Text
from devlint.runtime.explaining.source import head

LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITHS = (ast.With, ast.AsyncWith)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SUITES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True)
class Definition:
    """What gives a name its value."""

    at: ast.AST
    """The statement, or the part of it, that does."""
    value: ast.expr | None
    """Nothing for functions, classes and imports."""
    path: Path = ()
    """From that expression to what the name gets of it."""


def definitions(scope: Scope, node: ast.AST, name: str) -> tuple[list[Definition], bool]:
    """What may have given a name its value at a part of a scope's text.

    And whether it may have it from outside: as a parameter, or as a name of what is around.
    """
    return _definitions(scope.text, scope.node, node, name)


@lru_cache(maxsize=4096)
def _definitions(
    text: Text, top: ast.AST, node: ast.AST, name: str
) -> tuple[list[Definition], bool]:
    for outer in text.around(node):
        if isinstance(outer, _COMPREHENSIONS):
            for each in outer.generators:
                if not any(part is node for part in ast.walk(each.iter)):
                    found = list(_bound(each.target, each.iter, (ANY,), name, each))
                    if found:
                        return found, False
        elif isinstance(outer, ast.stmt) or outer is top:
            break
    statement = text.statement(node)
    if statement is None or isinstance(top, ast.Lambda):
        return [], True
    early = [d for d in _in_head(statement, name) if d.at is not node]
    if early and not isinstance(statement, _DEFINITIONS):
        return early, False
    return _before(text, statement, name, top)


def _before(
    text: Text, statement: ast.stmt, name: str, top: ast.AST
) -> tuple[list[Definition], bool]:
    found = list[Definition]()
    at: ast.AST = statement
    while at is not top and at in text.parents:
        outer = text.parents[at]
        suite = _suite(outer, at)
        place = suite.index(at) if at in suite else 0
        more, is_sure = _last(suite[:place], name)
        found += more
        if is_sure:
            return found, False
        if isinstance(outer, LOOPS) and suite is outer.body:
            found += [d for d in _last(suite[place:], name)[0] if d not in found]
            if isinstance(outer, (ast.For, ast.AsyncFor)):
                target = list(_bound(outer.target, outer.iter, (ANY,), name, outer))
                if target:
                    return [*found, *target], False
        elif isinstance(outer, ast.Try) and suite is not outer.body:
            more, is_sure = _last(outer.body, name)
            found += more
            if is_sure and not isinstance(at, ast.ExceptHandler):
                return found, False
        more = list(_of_head(outer, name))
        if more:
            return [*found, *more], False
        if isinstance(outer, FUNCTIONS) and outer is not top:
            return found, True
        at = outer
    return found, True


def _suite(outer: ast.AST, statement: ast.AST) -> list[ast.AST]:
    for field in _SUITES:
        suite = getattr(outer, field, None)
        if isinstance(suite, list) and statement in suite:
            return suite
    return []


def _of_head(outer: ast.AST, name: str) -> Iterator[Definition]:
    """What a statement gives a name before its suite runs."""
    if isinstance(outer, _WITHS):
        for item in outer.items:
            if item.optional_vars is not None:
                yield from _bound(
                    item.optional_vars, item.context_expr, (("enter", None),), name, outer
                )
    elif isinstance(outer, ast.match_case):
        for part in ast.walk(outer.pattern):
            if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name == name:
                yield Definition(part, None)
    if isinstance(outer, ast.stmt) and not isinstance(outer, _DEFINITIONS):
        yield from _in_head(outer, name)


def _in_head(statement: ast.stmt, name: str) -> Iterator[Definition]:
    """What `:=` gives a name in a statement, or before the colon of one."""
    for node in _named_in_head(statement):
        if node.target.id == name:
            yield Definition(node, node.value)


@lru_cache(maxsize=4096)
def _named_in_head(statement: ast.stmt) -> Sequence[ast.NamedExpr]:
    inner = (node for part in head(statement) for node in ast.walk(part))
    return [node for node in inner if isinstance(node, ast.NamedExpr)]


def _last(suite: Sequence[ast.AST], name: str) -> tuple[list[Definition], bool]:
    """What some statements may give a name in the end, and whether they do in any case."""
    found = list[Definition]()
    for statement in reversed(suite):
        more, is_sure = _gives(statement, name)
        found += more
        if is_sure:
            return found, True
    return found, False


def _gives(node: ast.AST, name: str) -> tuple[list[Definition], bool]:
    """What a statement gives a name, and whether it does in any case."""
    if isinstance(node, ast.Assign):
        found = [d for t in node.targets for d in _bound(t, node.value, (), name, node)]
        found = found or list(_in_head(node, name))
        return found, bool(found)
    if isinstance(node, ast.AnnAssign):
        found = [] if node.value is None else list(_bound(node.target, node.value, (), name, node))
        return found, bool(found)
    if isinstance(node, _DEFINITIONS):
        return ([Definition(node, None)], True) if node.name == name else ([], False)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        is_it = any((a.asname or a.name.partition(".")[0]) == name for a in node.names)
        return ([Definition(node, None)], True) if is_it else ([], False)
    if isinstance(node, ast.If):
        found, is_sure = list(_in_head(node, name)), True
        if found:
            return found, True
        for suite in (node.body, node.orelse):
            more, sure = _last(suite, name)
            if not _leaves(suite):
                found += more
                is_sure = is_sure and sure
        return found, is_sure
    if isinstance(node, LOOPS):
        found = _last(node.body, name)[0] + _last(node.orelse, name)[0]
        if isinstance(node, (ast.For, ast.AsyncFor)):
            found += _bound(node.target, node.iter, (ANY,), name, node)
        return found, False
    if isinstance(node, _WITHS):
        found, is_sure = _last(node.body, name)
        more = [] if is_sure else list(_of_head(node, name))
        return found + more, is_sure or bool(more)
    if isinstance(node, ast.Try):
        return _of_try(node, name)
    if isinstance(node, ast.Match):
        parts = [_last(case.body, name) for case in node.cases if not _leaves(case.body)]
        return [d for found, _ in parts for d in found], False
    found = list(_in_head(node, name)) if isinstance(node, ast.stmt) else []
    return found, bool(found)


def _of_try(node: ast.Try, name: str) -> tuple[list[Definition], bool]:
    found, is_sure = _last(node.finalbody, name)
    if is_sure:
        return found, True
    body, is_sure = _last([*node.body, *node.orelse], name)
    found += body
    for handler in node.handlers:
        more, sure = _last(handler.body, name)
        if not _leaves(handler.body):
            found += more
            is_sure = is_sure and sure
    return found, is_sure


def _leaves(suite: Sequence[ast.AST]) -> bool:
    return bool(suite) and isinstance(suite[-1], (ast.Return, ast.Raise))


def _bound(
    target: ast.expr, value: ast.expr, path: Path, name: str, at: ast.AST
) -> Iterator[Definition]:
    """What a target's name gets of a value."""
    if isinstance(target, ast.Name):
        if target.id == name:
            yield Definition(at, value, path)
    elif isinstance(target, (ast.Tuple, ast.List)):
        stars = [i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        for index, part in enumerate(target.elts):
            if isinstance(part, ast.Starred):
                yield from _bound(part.value, value, (*path, ("rest", index)), name, at)
            else:
                place = index - len(target.elts) if stars and index > stars[0] else index
                yield from _bound(part, value, (*path, ("item", place)), name, at)


@lru_cache(maxsize=1024)
def own_nodes(top: ast.AST) -> Sequence[ast.AST]:
    """The parts of a function's or a file's text without those of the functions inside."""
    waiting, found = list(ast.iter_child_nodes(top)), list[ast.AST]()
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return found


@lru_cache(maxsize=4096)
def written(node: ast.AST) -> str:
    """An expression as text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return f"{written(node.value)}.{node.attr}"
    return ast.unparse(node)


@lru_cache(maxsize=1024)
def shared(top: ast.AST) -> Sequence[ast.Global | ast.Nonlocal]:
    """What says of names, in a function inside, that they are those of a function around."""
    kind = ast.Global if isinstance(top, ast.Module) else ast.Nonlocal
    return [node for node in ast.walk(top) if isinstance(node, kind)]


@lru_cache(maxsize=1024)
def stored_names(top: ast.AST) -> Mapping[str, int]:
    """How often a function sets each of its names."""
    names = (node for node in own_nodes(top) if isinstance(node, ast.Name))
    return Counter(node.id for node in names if isinstance(node.ctx, ast.Store))


@lru_cache(maxsize=1024)
def results_of(top: ast.AST) -> Sequence[ast.Return | ast.Yield | ast.YieldFrom]:
    """What gives a function's value; of a generator what gives its items."""
    kinds = (ast.Return, ast.Yield, ast.YieldFrom)
    found = [node for node in own_nodes(top) if isinstance(node, kinds) and node.value is not None]
    items = [node for node in found if not isinstance(node, ast.Return)]
    return items or found


@lru_cache(maxsize=4096)
def all_definitions(top: ast.AST, name: str) -> Sequence[Definition]:
    """All that give a name its value in a function or a file, in whatever order."""
    statements = (node for node in own_nodes(top) if isinstance(node, ast.stmt))
    return [each for statement in statements for each in _given_by(statement, name)]


def _given_by(statement: ast.stmt, name: str) -> list[Definition]:
    """What one statement itself gives a name, without those inside."""
    if isinstance(
        statement, (ast.Assign, ast.AnnAssign, *_DEFINITIONS, ast.Import, ast.ImportFrom)
    ):
        return _gives(statement, name)[0]
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        found = list(_bound(statement.target, statement.iter, (ANY,), name, statement))
        return found or list(_in_head(statement, name))
    return list(_of_head(statement, name))
