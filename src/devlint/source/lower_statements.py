"""Statements of Python's `ast` -> `ir` statements, by a table from node type to function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from devlint.model import ir
from devlint.model.spans import utf8_length
from devlint.source.lower_expressions import (
    OPERATORS,
    arguments,
    expression,
    optional,
    parameters,
    several,
)
from devlint.source.lower_patterns import collect_names, takes_all, values
from devlint.source.spots import Spot, between, spot

# `Any` stands for "a node of the type under which the table lists the function".
Lower = Callable[[Any, str], ir.Stmt]


def statements(nodes: Iterable[Any], path: str) -> ir.Body:
    """Lower a run of statements; `pass` leaves nothing, and `if True:` what stands below it."""
    return tuple([_STATEMENTS[type(node)](node, path) for node in _plain(nodes)])


def _plain(nodes: Iterable[Any]) -> Iterator[Any]:
    for node in nodes:
        if type(node) is ast.If and not node.orelse and _always(node.test):
            yield from _plain(node.body)
        elif type(node) is not ast.Pass:
            yield node


def _always(test: ast.expr) -> bool:
    """Whether a condition says that it holds: `True`, `1`."""
    return isinstance(test, ast.Constant) and isinstance(test.value, int) and bool(test.value)


# --- simple statements ---------------------------------------------------------------------


def _expr(node: ast.Expr, path: str) -> ir.Stmt:
    return ir.Evaluate(expression(node.value, path), spot(node, path))


def _assign(node: ast.Assign, path: str) -> ir.Stmt:
    targets = several(node.targets, path)
    return ir.Assign(targets, expression(node.value, path), None, spot(node, path))


def _annotated(node: ast.AnnAssign, path: str) -> ir.Stmt:
    target = expression(node.target, path)
    value, annotation = optional(node.value, path), expression(node.annotation, path)
    return ir.Assign((target,), value, annotation, spot(node, path))


def _augment(node: ast.AugAssign, path: str) -> ir.Stmt:
    target, value = expression(node.target, path), expression(node.value, path)
    return ir.Augment(target, OPERATORS[type(node.op)], value, spot(node, path))


def _type_alias(node: Any, path: str) -> ir.Stmt:
    name, value = expression(node.name, path), expression(node.value, path)
    return ir.Assign((name,), value, None, spot(node, path))


def _delete(node: ast.Delete, path: str) -> ir.Stmt:
    return ir.Delete(several(_flat(node.targets), path), spot(node, path))


def _flat(targets: Iterable[ast.expr]) -> list[ast.expr]:
    found: list[ast.expr] = []
    for target in targets:
        found += _flat(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return found


def _return(node: ast.Return, path: str) -> ir.Stmt:
    return ir.Return(optional(node.value, path), spot(node, path))


def _raise(node: ast.Raise, path: str) -> ir.Stmt:
    return ir.Raise(optional(node.exc, path), spot(node, path))


def _break(node: ast.Break, path: str) -> ir.Stmt:
    return ir.Break(spot(node, path))


def _continue(node: ast.Continue, path: str) -> ir.Stmt:
    return ir.Continue(spot(node, path))


def _assert(node: ast.Assert, path: str) -> ir.Stmt:
    return ir.Assert(expression(node.test, path), optional(node.msg, path), spot(node, path))


def _scope(kind: str) -> Lower:
    def lower(node: ast.Global | ast.Nonlocal, path: str) -> ir.Stmt:
        return ir.Scope(kind, tuple(node.names), spot(node, path))

    return lower


# --- imports -------------------------------------------------------------------------------


def _aliases(names: Iterable[ast.alias], path: str) -> tuple[ir.Alias, ...]:
    return tuple([ir.Alias(each.name, each.asname, spot(each, path)) for each in names])


def _import(node: ast.Import, path: str) -> ir.Stmt:
    return ir.Import(_aliases(node.names, path), spot(node, path))


def _import_from(node: ast.ImportFrom, path: str) -> ir.Stmt:
    names = _aliases(node.names, path)
    return ir.ImportFrom(node.module or "", names, node.level, spot(node, path))


# --- compound statements -------------------------------------------------------------------


def _header(node: Any, path: str, last: Any = None, length: int = 0) -> Spot:
    """The start of a statement up to the end of its last part before the body; where it has
    none, so many characters of its row."""
    if last is not None:
        return between(node, last, path)
    return (path, node.lineno, node.col_offset, node.lineno, node.col_offset + length)


def _if(node: ast.If, path: str) -> ir.Stmt:
    # A loop: generated code has `elif` chains of thousands.
    chain = [node]
    rest: list[ast.stmt] = node.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        chain.append(rest[0])
        rest = rest[0].orelse
    orelse = statements(rest, path)
    for link in reversed(chain):
        test, body = expression(link.test, path), statements(link.body, path)
        orelse = (ir.If(test, body, orelse, _header(link, path, link.test)),)
    return orelse[0]


def _while(node: ast.While, path: str) -> ir.Stmt:
    test, body = expression(node.test, path), statements(node.body, path)
    return ir.While(test, body, statements(node.orelse, path), _header(node, path, node.test))


def _for(node: ast.For | ast.AsyncFor, path: str) -> ir.Stmt:
    return ir.For(
        expression(node.target, path),
        expression(node.iter, path),
        statements(node.body, path),
        statements(node.orelse, path),
        _header(node, path, node.iter),
    )


def _with(node: ast.With | ast.AsyncWith, path: str) -> ir.Stmt:
    items = [
        (expression(each.context_expr, path), optional(each.optional_vars, path))
        for each in node.items
    ]
    last = node.items[-1].optional_vars or node.items[-1].context_expr
    return ir.With(tuple(items), statements(node.body, path), _header(node, path, last))


def _handler(node: ast.ExceptHandler, path: str) -> ir.Handler:
    body = statements(node.body, path)
    place = _header(node, path, node.type, len("except"))
    return ir.Handler(optional(node.type, path), node.name, body, place)


def _try(node: Any, path: str) -> ir.Stmt:
    return ir.Try(
        statements(node.body, path),
        tuple([_handler(each, path) for each in node.handlers]),
        statements(node.orelse, path),
        statements(node.finalbody, path),
        _header(node, path, None, len("try")),
    )


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str) -> ir.Stmt:
    is_async = isinstance(node, ast.AsyncFunctionDef)
    params = parameters(node.args, path)
    return ir.Function(
        node.name,
        params,
        statements(node.body, path),
        several(node.decorator_list, path),
        optional(node.returns, path),
        is_async,
        _signature(node, params, f"{'async ' if is_async else ''}def {node.name}()", path),
        _type_params(node),
    )


def _type_params(node: Any) -> tuple[str, ...]:
    return tuple([each.name for each in getattr(node, "type_params", ())])


def _signature(node: Any, params: tuple[ir.Parameter, ...], bare: str, path: str) -> Spot:
    if not params:
        return _header(node, path, None, utf8_length(bare))
    last: Any = params[-1].origin
    return (path, node.lineno, node.col_offset, last[3], last[4] + 1)


def _class(node: ast.ClassDef, path: str) -> ir.Stmt:
    start = node.col_offset + len("class ")
    end = start + utf8_length(node.name)
    body = statements(node.body, path)
    for each in body:
        if isinstance(each, ir.Function):
            each.is_method = True
    return ir.Class(
        node.name,
        arguments(node.bases, node.keywords, path),
        body,
        several(node.decorator_list, path),
        (path, node.lineno, start, node.lineno, end),
        _type_params(node),
    )


# --- match ---------------------------------------------------------------------------------


def _match(node: ast.Match, path: str) -> ir.Stmt:
    cases = tuple([_case(each, path) for each in node.cases])
    return ir.Match(expression(node.subject, path), cases, _header(node, path, node.subject))


def _case(node: ast.match_case, path: str) -> ir.Case:
    binds: list[str] = []
    collect_names(node.pattern, binds)
    return ir.Case(
        tuple(values(node.pattern, path)),
        tuple(binds),
        optional(node.guard, path),
        statements(node.body, path),
        node.guard is None and takes_all(node.pattern),
        between(node.pattern, node.guard or node.pattern, path),
    )


_NEWER: Mapping[str, Lower] = {"TryStar": _try, "TypeAlias": _type_alias}
"""What `ast` has since Python 3.11 and 3.12."""

_STATEMENTS: Mapping[type, Lower] = {
    ast.AnnAssign: _annotated,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AsyncFor: _for,
    ast.AsyncFunctionDef: _function,
    ast.AsyncWith: _with,
    ast.AugAssign: _augment,
    ast.Break: _break,
    ast.ClassDef: _class,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.Expr: _expr,
    ast.For: _for,
    ast.FunctionDef: _function,
    ast.Global: _scope("global"),
    ast.If: _if,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: _match,
    ast.Nonlocal: _scope("nonlocal"),
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: _try,
    ast.While: _while,
    ast.With: _with,
    **{getattr(ast, name): lower for name, lower in _NEWER.items() if hasattr(ast, name)},
}
