"""LibCST statements -> `ir` statements, by a table from node type to function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import libcst as cst

from devlint import ir
from devlint.source.lower_expressions import argument, expression, optional, parameters
from devlint.source.lower_literals import OPERATORS, spelled
from devlint.source.lower_patterns import collect_names, takes_all, values

# `Any` stands for "a LibCST node of the type under which the table lists the function".
Lower = Callable[[Any], ir.Stmt]


def statements(nodes: Iterable[Any]) -> ir.Body:
    """Lower a run of statements; `pass` leaves nothing."""
    found: list[ir.Stmt] = []
    for node in nodes:
        kind = type(node)
        if kind is cst.SimpleStatementLine:
            found += [_STATEMENTS[type(s)](s) for s in node.body if type(s) is not cst.Pass]
        elif kind is not cst.Pass:
            found.append(_STATEMENTS[kind](node))
    return tuple(found)


def _suite(node: Any) -> ir.Body:
    return () if node is None else statements(node.body.body)


# --- simple statements ---------------------------------------------------------------------


def _expr(node: cst.Expr) -> ir.Stmt:
    return ir.Evaluate(expression(node.value), node)


def _assign(node: cst.Assign) -> ir.Stmt:
    value = expression(node.value)
    return ir.Assign(tuple([expression(each.target) for each in node.targets]), value, None, node)


def _annotated(node: cst.AnnAssign) -> ir.Stmt:
    annotation = expression(node.annotation.annotation)
    return ir.Assign((expression(node.target),), optional(node.value), annotation, node)


def _augment(node: cst.AugAssign) -> ir.Stmt:
    operator = OPERATORS[type(node.operator)]
    return ir.Augment(expression(node.target), operator, expression(node.value), node)


def _type_alias(node: cst.TypeAlias) -> ir.Stmt:
    return ir.Assign((expression(node.name),), expression(node.value), None, node)


def _delete(node: cst.Del) -> ir.Stmt:
    return ir.Delete(tuple(map(expression, _flat(node.target))), node)


def _flat(target: Any) -> list[Any]:
    """What `del` deletes: brackets group only."""
    if not isinstance(target, (cst.Tuple, cst.List)):
        return [target]
    return [each for element in target.elements for each in _flat(element.value)]


def _return(node: cst.Return) -> ir.Stmt:
    return ir.Return(optional(node.value), node)


def _raise(node: cst.Raise) -> ir.Stmt:
    return ir.Raise(optional(node.exc), node)


def _break(node: cst.Break) -> ir.Stmt:
    return ir.Break(node)


def _continue(node: cst.Continue) -> ir.Stmt:
    return ir.Continue(node)


def _assert(node: cst.Assert) -> ir.Stmt:
    return ir.Assert(expression(node.test), optional(node.msg), node)


def _scope(kind: str) -> Lower:
    def lower(node: cst.Global | cst.Nonlocal) -> ir.Stmt:
        return ir.Scope(kind, tuple([spelled(item.name.value) for item in node.names]), node)

    return lower


# --- imports -------------------------------------------------------------------------------


def _dotted(node: Any) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if node is not None:
        parts.append(node.value)
    return spelled(".".join(reversed(parts)))


def _alias(node: cst.ImportAlias) -> ir.Alias:
    return ir.Alias(_dotted(node.name), _bound(node.asname), node)


def _bound(node: cst.AsName | None) -> str | None:
    if node is None or not isinstance(node.name, cst.Name):
        return None
    return spelled(node.name.value)


def _import(node: cst.Import | cst.LazyImport) -> ir.Stmt:
    return ir.Import(tuple([_alias(each) for each in node.names]), node)


def _import_from(node: cst.ImportFrom | cst.LazyImportFrom) -> ir.Stmt:
    names = node.names
    if isinstance(names, cst.ImportStar):
        aliases: tuple[ir.Alias, ...] = (ir.Alias("*", None, names),)
    else:
        aliases = tuple([_alias(each) for each in names])
    return ir.ImportFrom(_dotted(node.module), aliases, len(node.relative), node)


# --- compound statements -------------------------------------------------------------------


def _if(node: cst.If) -> ir.Stmt:
    # A loop: generated code has `elif` chains of thousands.
    chain = [node]
    rest = node.orelse
    while isinstance(rest, cst.If):
        chain.append(rest)
        rest = rest.orelse
    orelse = _suite(rest)
    for link in reversed(chain):
        orelse = (ir.If(expression(link.test), statements(link.body.body), orelse, link),)
    return orelse[0]


def _while(node: cst.While) -> ir.Stmt:
    body = statements(node.body.body)
    return ir.While(expression(node.test), body, _suite(node.orelse), node)


def _for(node: cst.For) -> ir.Stmt:
    target = expression(node.target)
    body = statements(node.body.body)
    return ir.For(target, expression(node.iter), body, _suite(node.orelse), node)


def _with(node: cst.With) -> ir.Stmt:
    items = [
        (expression(each.item), None if each.asname is None else expression(each.asname.name))
        for each in node.items
    ]
    return ir.With(tuple(items), statements(node.body.body), node)


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler) -> ir.Handler:
    body = statements(node.body.body)
    return ir.Handler(optional(node.type), _bound(node.name), body, node)


def _try(node: cst.Try | cst.TryStar) -> ir.Stmt:
    return ir.Try(
        statements(node.body.body),
        tuple([_handler(each) for each in node.handlers]),
        _suite(node.orelse),
        _suite(node.finalbody),
        node,
    )


def _function(node: cst.FunctionDef) -> ir.Stmt:
    returns = node.returns
    return ir.Function(
        spelled(node.name.value),
        parameters(node.params),
        statements(node.body.body),
        tuple([expression(each.decorator) for each in node.decorators]),
        None if returns is None else expression(returns.annotation),
        node.asynchronous is not None,
        node,
    )


def _class(node: cst.ClassDef) -> ir.Stmt:
    return ir.Class(
        spelled(node.name.value),
        tuple([argument(each) for each in (*node.bases, *node.keywords)]),
        statements(node.body.body),
        tuple([expression(each.decorator) for each in node.decorators]),
        node.name,
    )


# --- match ---------------------------------------------------------------------------------


def _match(node: cst.Match) -> ir.Stmt:
    return ir.Match(expression(node.subject), tuple([_case(each) for each in node.cases]), node)


def _case(node: cst.MatchCase) -> ir.Case:
    binds: list[str] = []
    collect_names(node.pattern, binds)
    return ir.Case(
        tuple(values(node.pattern)),
        tuple(binds),
        optional(node.guard),
        statements(node.body.body),
        node.guard is None and takes_all(node.pattern),
        node,
    )


_STATEMENTS: Mapping[type, Lower] = {
    cst.AnnAssign: _annotated,
    cst.Assert: _assert,
    cst.Assign: _assign,
    cst.AugAssign: _augment,
    cst.Break: _break,
    cst.ClassDef: _class,
    cst.Continue: _continue,
    cst.Del: _delete,
    cst.Expr: _expr,
    cst.For: _for,
    cst.FunctionDef: _function,
    cst.Global: _scope("global"),
    cst.If: _if,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.LazyImport: _import,
    cst.LazyImportFrom: _import_from,
    cst.Match: _match,
    cst.Nonlocal: _scope("nonlocal"),
    cst.Raise: _raise,
    cst.Return: _return,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.TypeAlias: _type_alias,
    cst.While: _while,
    cst.With: _with,
}
