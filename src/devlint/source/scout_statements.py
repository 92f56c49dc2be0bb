"""Statements of Python's `ast` -> `ir` statements, by a table from node type to function.

What comes out equals what `lower_statements` makes of the same text; only the origins differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devlint import ir
from devlint.source.scout_expressions import (
    OPERATORS,
    arguments,
    expression,
    optional,
    parameters,
    several,
)
from devlint.source.scout_patterns import collect_names, takes_all, values
from devlint.source.spots import File, Spot, between, spot
from devlint.spans import utf8_length

# `Any` stands for "a node of the type under which the table lists the function".
Lower = Callable[[Any, File], ir.Stmt]


def statements(nodes: Iterable[Any], file: File) -> ir.Body:
    """Lower a run of statements; `pass` leaves nothing."""
    return tuple(
        [_STATEMENTS[type(node)](node, file) for node in nodes if type(node) is not ast.Pass]
    )


# --- simple statements ---------------------------------------------------------------------


def _expr(node: ast.Expr, file: File) -> ir.Stmt:
    return ir.Evaluate(expression(node.value, file), spot(node, file))


def _assign(node: ast.Assign, file: File) -> ir.Stmt:
    targets = several(node.targets, file)
    return ir.Assign(targets, expression(node.value, file), None, spot(node, file))


def _annotated(node: ast.AnnAssign, file: File) -> ir.Stmt:
    target = expression(node.target, file)
    value, annotation = optional(node.value, file), expression(node.annotation, file)
    return ir.Assign((target,), value, annotation, spot(node, file))


def _augment(node: ast.AugAssign, file: File) -> ir.Stmt:
    target, value = expression(node.target, file), expression(node.value, file)
    return ir.Augment(target, OPERATORS[type(node.op)], value, spot(node, file))


def _type_alias(node: Any, file: File) -> ir.Stmt:
    name, value = expression(node.name, file), expression(node.value, file)
    return ir.Assign((name,), value, None, spot(node, file))


def _delete(node: ast.Delete, file: File) -> ir.Stmt:
    return ir.Delete(several(_flat(node.targets), file), spot(node, file))


def _flat(targets: Iterable[ast.expr]) -> list[ast.expr]:
    found: list[ast.expr] = []
    for target in targets:
        found += _flat(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return found


def _return(node: ast.Return, file: File) -> ir.Stmt:
    return ir.Return(optional(node.value, file), spot(node, file))


def _raise(node: ast.Raise, file: File) -> ir.Stmt:
    return ir.Raise(optional(node.exc, file), spot(node, file))


def _break(node: ast.Break, file: File) -> ir.Stmt:
    return ir.Break(spot(node, file))


def _continue(node: ast.Continue, file: File) -> ir.Stmt:
    return ir.Continue(spot(node, file))


def _assert(node: ast.Assert, file: File) -> ir.Stmt:
    return ir.Assert(expression(node.test, file), optional(node.msg, file), spot(node, file))


def _scope(kind: str) -> Lower:
    def lower(node: ast.Global | ast.Nonlocal, file: File) -> ir.Stmt:
        return ir.Scope(kind, tuple(node.names), spot(node, file))

    return lower


# --- imports -------------------------------------------------------------------------------


def _aliases(names: Iterable[ast.alias], file: File) -> tuple[ir.Alias, ...]:
    return tuple([ir.Alias(each.name, each.asname, spot(each, file)) for each in names])


def _import(node: ast.Import, file: File) -> ir.Stmt:
    return ir.Import(_aliases(node.names, file), spot(node, file))


def _import_from(node: ast.ImportFrom, file: File) -> ir.Stmt:
    names = _aliases(node.names, file)
    return ir.ImportFrom(node.module or "", names, node.level, spot(node, file))


# --- compound statements -------------------------------------------------------------------


def _header(node: Any, file: File, last: Any = None, length: int = 0) -> Spot:
    """The start of a statement up to the end of its last part before the body; where it has
    none, so many characters of its row."""
    if last is not None:
        return between(node, last, file)
    return (file, node.lineno, node.col_offset, node.lineno, node.col_offset + length)


def _if(node: ast.If, file: File) -> ir.Stmt:
    # A loop: generated code has `elif` chains of thousands.
    chain = [node]
    rest: list[ast.stmt] = node.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        chain.append(rest[0])
        rest = rest[0].orelse
    orelse = statements(rest, file)
    for link in reversed(chain):
        test, body = expression(link.test, file), statements(link.body, file)
        orelse = (ir.If(test, body, orelse, _header(link, file, link.test)),)
    return orelse[0]


def _while(node: ast.While, file: File) -> ir.Stmt:
    test, body = expression(node.test, file), statements(node.body, file)
    return ir.While(test, body, statements(node.orelse, file), _header(node, file, node.test))


def _for(node: ast.For | ast.AsyncFor, file: File) -> ir.Stmt:
    return ir.For(
        expression(node.target, file),
        expression(node.iter, file),
        statements(node.body, file),
        statements(node.orelse, file),
        _header(node, file, node.iter),
    )


def _with(node: ast.With | ast.AsyncWith, file: File) -> ir.Stmt:
    items = [
        (expression(each.context_expr, file), optional(each.optional_vars, file))
        for each in node.items
    ]
    last = node.items[-1].optional_vars or node.items[-1].context_expr
    return ir.With(tuple(items), statements(node.body, file), _header(node, file, last))


def _handler(node: ast.ExceptHandler, file: File) -> ir.Handler:
    body = statements(node.body, file)
    place = _header(node, file, node.type, len("except"))
    return ir.Handler(optional(node.type, file), node.name, body, place)


def _try(node: Any, file: File) -> ir.Stmt:
    return ir.Try(
        statements(node.body, file),
        tuple([_handler(each, file) for each in node.handlers]),
        statements(node.orelse, file),
        statements(node.finalbody, file),
        _header(node, file, None, len("try")),
    )


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, file: File) -> ir.Stmt:
    is_async = isinstance(node, ast.AsyncFunctionDef)
    params = parameters(node.args, file)
    return ir.Function(
        node.name,
        params,
        statements(node.body, file),
        several(node.decorator_list, file),
        optional(node.returns, file),
        is_async,
        _signature(node, params, f"{'async ' if is_async else ''}def {node.name}()", file),
    )


def _signature(node: Any, params: tuple[ir.Parameter, ...], bare: str, file: File) -> Spot:
    if not params:
        return _header(node, file, None, utf8_length(bare))
    last: Any = params[-1].origin
    return (file, node.lineno, node.col_offset, last[3], last[4] + 1)


def _class(node: ast.ClassDef, file: File) -> ir.Stmt:
    start = node.col_offset + len("class ")
    end = start + utf8_length(node.name)
    return ir.Class(
        node.name,
        arguments(node.bases, node.keywords, file),
        statements(node.body, file),
        several(node.decorator_list, file),
        (file, node.lineno, start, node.lineno, end),
    )


# --- match ---------------------------------------------------------------------------------


def _match(node: ast.Match, file: File) -> ir.Stmt:
    cases = tuple([_case(each, file) for each in node.cases])
    return ir.Match(expression(node.subject, file), cases, _header(node, file, node.subject))


def _case(node: ast.match_case, file: File) -> ir.Case:
    binds: list[str] = []
    collect_names(node.pattern, binds)
    return ir.Case(
        tuple(values(node.pattern, file)),
        tuple(binds),
        optional(node.guard, file),
        statements(node.body, file),
        node.guard is None and takes_all(node.pattern),
        between(node.pattern, node.guard or node.pattern, file),
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
