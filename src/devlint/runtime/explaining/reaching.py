"""Which statement gave a name the value that it has where a program fails."""

from __future__ import annotations

import ast

from devlint.runtime.explaining.source import ELSEWHERE, Source, binds

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITHS = (ast.With, ast.AsyncWith)
Parents = dict[ast.AST, ast.AST]


def setter_of(source: Source, name: str) -> ast.stmt | None:
    """The one statement whose value a name has in the failing one, if that is sure."""
    return reaching(source, [node for node in source.nodes if binds(node, name)])


def assigned_to(source: Source, name: str) -> tuple[int, ast.expr] | None:
    """The value of a name in the failing statement, and the line that assigns it."""
    setter = setter_of(source, name)
    if not isinstance(setter, (ast.Assign, ast.AnnAssign)) or setter.value is None:
        return None
    targets = setter.targets if isinstance(setter, ast.Assign) else [setter.target]
    is_whole = len(targets) == 1 and isinstance(targets[0], ast.Name)
    return (setter.lineno, setter.value) if is_whole else None


def reaching(source: Source, sets: list[ast.AST]) -> ast.stmt | None:
    """The one statement whose value of a name reaches the failing one, if that is sure."""
    failing = source.statement
    if failing is None:
        return None
    parents = _parents(source)
    around = [failing, *_ancestors(failing, parents)]
    setters = [s for s in (_statement(node, parents) for node in sets) if s is not None]
    if len(setters) != len(sets):
        return None
    setters = _without_updates(setters, failing, around)
    before = [s for s in setters if _comes_before(s, around, parents)]
    if not before:
        return None
    last = max(before, key=lambda setter: setter.lineno)
    loops = [a for a in around if isinstance(a, _LOOPS)]
    loops = [loop for loop in loops if loop is not last and not _has(loop, last)]
    for other in setters:
        is_between = last.lineno < other.lineno < failing.lineno
        if other is not last and (is_between or any(_has(loop, other) for loop in loops)):
            return None
    return last


def _without_updates(
    setters: list[ast.stmt], failing: ast.stmt, around: list[ast.AST]
) -> list[ast.stmt]:
    """The statements that can have put the value where it is.

    `total += x` leaves a tensor in its place. What is computed from the result of the failing
    statement, in an earlier round of a loop, is where that one has worked: it can't be the value
    that it fails with.
    """
    first = [s for s in setters if not isinstance(s, ast.AugAssign)]
    if any(_is_number(getattr(s, "value", None)) for s in first if isinstance(s, ast.Assign)):
        return setters
    loop = next((node for node in around if isinstance(node, _LOOPS)), None)
    later = _results_of(failing, loop) if loop is not None else []
    return [s for s in first if not any(s is each for each in later)]


def _is_number(value: ast.expr | None) -> bool:
    while isinstance(value, ast.UnaryOp):
        value = value.operand
    return isinstance(value, ast.Constant)


def _results_of(failing: ast.stmt, loop: ast.AST) -> list[ast.stmt]:
    """The failing statement, and those of a loop that compute with its result."""
    names, found = set[str](), list[ast.stmt]()
    statements = [n for n in ast.walk(loop) if isinstance(n, (ast.Assign, ast.AugAssign))]
    for node in sorted(statements, key=lambda node: node.lineno):
        is_result = node is failing or bool(names & _names_in(node.value, ast.Load))
        if node.lineno >= failing.lineno and is_result and not may_be_elsewhere(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(*(_names_in(target, ast.Store) for target in targets))
            found.append(node)
    return found


def _names_in(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    }


def may_be_elsewhere(value: ast.AST) -> bool:
    """Whether an expression has a call in it that moves a tensor, or makes one anew."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ELSEWHERE | {"item", "tolist"} or any(
                k.arg == "device" for k in node.keywords
            ):
                return True
    return False


def statement_of(source: Source, node: ast.AST) -> ast.stmt | None:
    """The innermost statement that a part of a function is in."""
    return _statement(node, _parents(source))


def gone_through(target: ast.expr, through: ast.expr, name: str) -> ast.expr:
    """What a loop takes a name's values from; of `zip`, `enumerate` and `items` their argument."""
    call = through if isinstance(through, ast.Call) else ast.Call(through, [], [])
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("items", "values"):
        return call.func.value if through is call else through
    called, parts = getattr(call.func, "id", ""), getattr(target, "elts", [])
    given = [None, *call.args] if called == "enumerate" else call.args
    for part, each in zip(parts, given if called in ("enumerate", "zip") else (), strict=False):
        if each is not None and any(binds(node, name) for node in ast.walk(part)):
            return gone_through(part, each, name)
    return through


def are_later(source: Source, sets: list[ast.AST]) -> bool:
    """Whether a name gets other values only after the failing statement has run."""
    failing = source.statement
    if failing is None:
        return False
    parents = _parents(source)
    if any(isinstance(node, _LOOPS) for node in _ancestors(failing, parents)):
        return False
    return all(getattr(node, "lineno", 0) >= failing.lineno for node in sets)


def _comes_before(setter: ast.stmt, around: list[ast.AST], parents: Parents) -> bool:
    """Whether a statement has run in any case: it is around the failing one, or stands before."""
    if setter is around[0]:
        return False
    if setter in around:
        return isinstance(setter, (ast.For, ast.AsyncFor, *_WITHS))
    for node in around:
        suite = _suite(node, parents)
        if setter in suite and node in suite:
            return suite.index(setter) < suite.index(node)
    outside = parents.get(setter)
    if isinstance(outside, _WITHS):  # what is in it runs in any case
        return outside not in around and _comes_before(outside, around, parents)
    return False


def _parents(source: Source) -> Parents:
    return {child: node for node in source.nodes for child in ast.iter_child_nodes(node)}


def _suite(node: ast.AST, parents: Parents) -> list[ast.AST]:
    """The statements among which one stands."""
    for _, value in ast.iter_fields(parents[node]) if node in parents else ():
        if isinstance(value, list) and node in value:
            return value
    return []


def _ancestors(node: ast.AST, parents: Parents) -> list[ast.AST]:
    found = []
    while node in parents:
        node = parents[node]
        found.append(node)
    return found


def _statement(node: ast.AST, parents: Parents) -> ast.stmt | None:
    around = [node, *_ancestors(node, parents)]
    return next((each for each in around if isinstance(each, ast.stmt)), None)


def _has(node: ast.AST, part: ast.AST) -> bool:
    return any(each is part for each in ast.walk(node))
