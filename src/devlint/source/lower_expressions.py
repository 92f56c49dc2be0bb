"""Expressions of Python's `ast` -> `ir` expressions, by a table from node type to function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devlint.model import ir
from devlint.source.pieces import Pieces
from devlint.source.spots import between, spot

# `Any` stands for "a node of the type under which the table lists the function".
Lower = Callable[[Any, str], ir.Expr]

OPERATORS: Mapping[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&",
    ast.BitXor: "^", ast.MatMult: "@", ast.UAdd: "+", ast.USub: "-", ast.Invert: "~",
    ast.Not: "not", ast.And: "and", ast.Or: "or", ast.Lt: "<", ast.Gt: ">", ast.Eq: "==",
    ast.LtE: "<=", ast.GtE: ">=", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def expression(node: Any, path: str) -> ir.Expr:
    """Lower any expression. Raises `RecursionError` for very deep ones, and `KeyError` for
    syntax that is newer than this program."""
    return _EXPRESSIONS[type(node)](node, path)


def optional(node: Any, path: str) -> ir.Expr | None:
    """Lower an expression that may be missing."""
    return None if node is None else _EXPRESSIONS[type(node)](node, path)


def several(nodes: Iterable[Any], path: str) -> tuple[ir.Expr, ...]:
    """Lower expressions."""
    return tuple([_EXPRESSIONS[type(node)](node, path) for node in nodes])


# --- names, constants and text -------------------------------------------------------------


def _name(node: ast.Name, path: str) -> ir.Expr:
    return ir.Name(
        node.id, (path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    )


def _constant(node: ast.Constant, path: str) -> ir.Expr:
    return ir.Constant(
        node.value, (path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    )


def _parts(values: Iterable[Any], path: str) -> tuple[ir.Expr, ...]:
    pieces = Pieces()
    for part in values:
        if isinstance(part, ast.Constant):
            pieces.text(str(part.value), spot(part, path))
        else:
            format_spec = part.format_spec
            inner = () if format_spec is None else _parts(format_spec.values, path)
            pieces.expression(expression(part.value, path), inner)
    return pieces.parts()


def _text(node: Any, path: str) -> ir.Expr:
    return ir.Text(_parts(node.values, path), spot(node, path))


# --- access and calls ----------------------------------------------------------------------


def _attribute(node: ast.Attribute, path: str) -> ir.Expr:
    value = node.value
    return ir.Attribute(
        _EXPRESSIONS[type(value)](value, path),
        node.attr,
        (path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset),
    )


def _subscript(node: ast.Subscript, path: str) -> ir.Expr:
    return ir.Subscript(
        expression(node.value, path), expression(node.slice, path), spot(node, path)
    )


def _slice(node: ast.Slice, path: str) -> ir.Expr:
    return ir.Slice(
        optional(node.lower, path),
        optional(node.upper, path),
        optional(node.step, path),
        spot(node, path),
    )


def _call(node: ast.Call, path: str) -> ir.Expr:
    func = node.func
    return ir.Call(
        _EXPRESSIONS[type(func)](func, path),
        arguments(node.args, node.keywords, path) if node.args or node.keywords else (),
        (path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset),
    )


def arguments(args: list[Any], keywords: list[ast.keyword], path: str) -> tuple[ir.Argument, ...]:
    """The arguments of a call or of a class statement, in the order of the source."""
    found: list[ir.Argument] = []
    starred = False
    for arg in args:
        star = ""
        value = arg
        if type(arg) is ast.Starred:
            star, starred, value = "*", True, arg.value
        lowered = _EXPRESSIONS[type(value)](value, path)
        found.append(ir.Argument(lowered, None, star, spot(arg, path)))
    for keyword in keywords:
        name = keyword.arg
        found.append(
            ir.Argument(
                expression(keyword.value, path),
                name,
                "**" if name is None else "",
                spot(keyword, path),
            )
        )
    if starred and keywords:  # only a starred argument can stand behind a keyword
        found.sort(key=_start)
    return tuple(found)


def _start(argument: ir.Argument) -> tuple[int, int]:
    origin: Any = argument.origin
    return origin[1], origin[2]


# --- operators -----------------------------------------------------------------------------


def _binary(node: ast.BinOp, path: str) -> ir.Expr:
    # A loop down the left side: generated code has sums of a thousand terms.
    spine = [node]
    left = node.left
    while type(left) is ast.BinOp:
        spine.append(left)
        left = left.left
    lowered = expression(left, path)
    for link in reversed(spine):
        right = expression(link.right, path)
        lowered = ir.Binary(OPERATORS[type(link.op)], lowered, right, spot(link, path))
    return lowered


def _boolean(node: ast.BoolOp, path: str) -> ir.Expr:
    first, *rest = node.values
    operator = OPERATORS[type(node.op)]
    whole = expression(first, path)
    for value in rest:
        place = spot(node, path) if value is rest[-1] else between(first, value, path)
        whole = ir.Boolean(operator, whole, expression(value, path), place)
    return whole


def _unary(node: ast.UnaryOp, path: str) -> ir.Expr:
    return ir.Unary(OPERATORS[type(node.op)], expression(node.operand, path), spot(node, path))


def _comparison(node: ast.Compare, path: str) -> ir.Expr:
    left = expression(node.left, path)
    if len(node.ops) == 1:
        right = expression(node.comparators[0], path)
        return ir.Compare(OPERATORS[type(node.ops[0])], left, right, spot(node, path))
    whole: ir.Expr | None = None
    first: ast.expr = node.left
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = expression(comparator, path)
        place = between(first, comparator, path)
        link = ir.Compare(OPERATORS[type(operator)], left, right, place)
        whole = link if whole is None else ir.Boolean("and", whole, link, spot(node, path))
        left, first = right, comparator
    return left if whole is None else whole


def _conditional(node: ast.IfExp, path: str) -> ir.Expr:
    body = node.body
    starts_later = (body.lineno, body.col_offset) != (node.lineno, node.col_offset)
    return ir.Conditional(
        expression(node.test, path),
        expression(node.body, path),
        expression(node.orelse, path),
        spot(node, path),
        isinstance(body, ast.BoolOp) and starts_later,  # after its parenthesis
    )


# --- displays and comprehensions -----------------------------------------------------------


def _display(kind: str) -> Lower:
    def lower(node: ast.List | ast.Set | ast.Tuple, path: str) -> ir.Expr:
        return ir.Display(kind, several(node.elts, path), spot(node, path))

    return lower


def _dict(node: ast.Dict, path: str) -> ir.Expr:
    items = [
        (optional(key, path), expression(value, path))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return ir.Mapping(tuple(items), spot(node, path))


def _clauses(generators: Iterable[ast.comprehension], path: str) -> tuple[ir.Clause, ...]:
    clauses = []
    for each in generators:
        last = each.ifs[-1] if each.ifs else each.iter
        clauses.append(
            ir.Clause(
                expression(each.target, path),
                expression(each.iter, path),
                several(each.ifs, path),
                between(each.target, last, path),
            )
        )
    return tuple(clauses)


def _comprehension(kind: str) -> Lower:
    def lower(node: ast.ListComp | ast.SetComp | ast.GeneratorExp, path: str) -> ir.Expr:
        element = expression(node.elt, path)
        clauses = _clauses(node.generators, path)
        return ir.Comprehension(kind, element, clauses, None, spot(node, path))

    return lower


def _dict_comprehension(node: ast.DictComp, path: str) -> ir.Expr:
    value = expression(node.value, path)
    clauses = _clauses(node.generators, path)
    return ir.Comprehension("dict", value, clauses, expression(node.key, path), spot(node, path))


# --- the rest ------------------------------------------------------------------------------


def parameters(node: ast.arguments, path: str) -> tuple[ir.Parameter, ...]:
    """Parameters in the order of the source, without the bare `/` and `*`."""
    plain = [*node.posonlyargs, *node.args]
    defaults: list[Any] = [None] * (len(plain) - len(node.defaults)) + node.defaults
    found = [
        _parameter(each, "positional", default, path)
        for each, default in zip(plain, defaults, strict=True)
    ]
    if node.vararg is not None:
        found.append(_parameter(node.vararg, "*", None, path))
    for each, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        found.append(_parameter(each, "keyword", default, path))
    if node.kwarg is not None:
        found.append(_parameter(node.kwarg, "**", None, path))
    return tuple(found)


def _parameter(node: ast.arg, kind: str, default: Any, path: str) -> ir.Parameter:
    place = spot(node, path) if default is None else between(node, default, path)
    return ir.Parameter(
        node.arg, kind, optional(default, path), optional(node.annotation, path), place
    )


def _lambda(node: ast.Lambda, path: str) -> ir.Expr:
    return ir.Lambda(parameters(node.args, path), expression(node.body, path), spot(node, path))


def _walrus(node: ast.NamedExpr, path: str) -> ir.Expr:
    target = ir.Name(node.target.id, spot(node.target, path))
    return ir.Walrus(target, expression(node.value, path), spot(node, path))


def _starred(node: ast.Starred, path: str) -> ir.Expr:
    return ir.Starred(expression(node.value, path), spot(node, path))


def _await(node: ast.Await, path: str) -> ir.Expr:
    return ir.Await(expression(node.value, path), spot(node, path))


def _yield(node: ast.Yield, path: str) -> ir.Expr:
    return ir.Yield(optional(node.value, path), False, spot(node, path))


def _yield_from(node: ast.YieldFrom, path: str) -> ir.Expr:
    return ir.Yield(expression(node.value, path), True, spot(node, path))


_NEWER: Mapping[str, Lower] = {"TemplateStr": _text}
"""What `ast` has since Python 3.14."""

_EXPRESSIONS: Mapping[type, Lower] = {
    ast.Attribute: _attribute,
    ast.Await: _await,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.Call: _call,
    ast.Compare: _comparison,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _comprehension("generator"),
    ast.IfExp: _conditional,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.List: _display("list"),
    ast.ListComp: _comprehension("list"),
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.Set: _display("set"),
    ast.SetComp: _comprehension("set"),
    ast.Slice: _slice,
    ast.Starred: _starred,
    ast.Subscript: _subscript,
    ast.Tuple: _display("tuple"),
    ast.UnaryOp: _unary,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    **{getattr(ast, name): lower for name, lower in _NEWER.items() if hasattr(ast, name)},
}
