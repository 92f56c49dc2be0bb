"""Expressions of Python's `ast` -> `ir` expressions, by a table from node type to function.

What comes out equals what `lower_expressions` makes of the same text; only the origins differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from devlint import ir
from devlint.source.pieces import Pieces
from devlint.source.spots import File, between, spot

# `Any` stands for "a node of the type under which the table lists the function".
Lower = Callable[[Any, File], ir.Expr]

OPERATORS: Mapping[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&",
    ast.BitXor: "^", ast.MatMult: "@", ast.UAdd: "+", ast.USub: "-", ast.Invert: "~",
    ast.Not: "not", ast.And: "and", ast.Or: "or", ast.Lt: "<", ast.Gt: ">", ast.Eq: "==",
    ast.LtE: "<=", ast.GtE: ">=", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def expression(node: Any, file: File) -> ir.Expr:
    """Lower any expression. Raises `RecursionError` for very deep ones, and `KeyError` for
    syntax that is newer than this program."""
    return _EXPRESSIONS[type(node)](node, file)


def optional(node: Any, file: File) -> ir.Expr | None:
    """Lower an expression that may be missing."""
    return None if node is None else _EXPRESSIONS[type(node)](node, file)


def several(nodes: Iterable[Any], file: File) -> tuple[ir.Expr, ...]:
    """Lower expressions."""
    return tuple([_EXPRESSIONS[type(node)](node, file) for node in nodes])


# --- names, constants and text -------------------------------------------------------------


def _name(node: ast.Name, file: File) -> ir.Expr:
    return ir.Name(
        node.id, (file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    )


def _constant(node: ast.Constant, file: File) -> ir.Expr:
    return ir.Constant(
        node.value, (file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    )


def _parts(values: Iterable[Any], file: File) -> tuple[ir.Expr, ...]:
    pieces = Pieces()
    for part in values:
        if isinstance(part, ast.Constant):
            pieces.text(str(part.value), spot(part, file))
        else:
            format_spec = part.format_spec
            inner = () if format_spec is None else _parts(format_spec.values, file)
            pieces.expression(expression(part.value, file), inner)
    return pieces.parts()


def _text(node: Any, file: File) -> ir.Expr:
    return ir.Text(_parts(node.values, file), spot(node, file))


# --- access and calls ----------------------------------------------------------------------


def _attribute(node: ast.Attribute, file: File) -> ir.Expr:
    value = node.value
    return ir.Attribute(
        _EXPRESSIONS[type(value)](value, file),
        node.attr,
        (file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset),
    )


def _subscript(node: ast.Subscript, file: File) -> ir.Expr:
    return ir.Subscript(
        expression(node.value, file), expression(node.slice, file), spot(node, file)
    )


def _slice(node: ast.Slice, file: File) -> ir.Expr:
    return ir.Slice(
        optional(node.lower, file),
        optional(node.upper, file),
        optional(node.step, file),
        spot(node, file),
    )


def _call(node: ast.Call, file: File) -> ir.Expr:
    func = node.func
    return ir.Call(
        _EXPRESSIONS[type(func)](func, file),
        arguments(node.args, node.keywords, file) if node.args or node.keywords else (),
        (file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset),
    )


def arguments(args: list[Any], keywords: list[ast.keyword], file: File) -> tuple[ir.Argument, ...]:
    """The arguments of a call or of a class statement, in the order of the source."""
    found: list[ir.Argument] = []
    starred = False
    for arg in args:
        star = ""
        value = arg
        if type(arg) is ast.Starred:
            star, starred, value = "*", True, arg.value
        lowered = _EXPRESSIONS[type(value)](value, file)
        found.append(ir.Argument(lowered, None, star, spot(arg, file)))
    for keyword in keywords:
        name = keyword.arg
        found.append(
            ir.Argument(
                expression(keyword.value, file),
                name,
                "**" if name is None else "",
                spot(keyword, file),
            )
        )
    if starred and keywords:  # only a starred argument can stand behind a keyword
        found.sort(key=_start)
    return tuple(found)


def _start(argument: ir.Argument) -> tuple[int, int]:
    origin: Any = argument.origin
    return origin[1], origin[2]


# --- operators -----------------------------------------------------------------------------


def _binary(node: ast.BinOp, file: File) -> ir.Expr:
    # A loop down the left side: generated code has sums of a thousand terms.
    spine = [node]
    left = node.left
    while type(left) is ast.BinOp:
        spine.append(left)
        left = left.left
    lowered = expression(left, file)
    for link in reversed(spine):
        right = expression(link.right, file)
        lowered = ir.Binary(OPERATORS[type(link.op)], lowered, right, spot(link, file))
    return lowered


def _boolean(node: ast.BoolOp, file: File) -> ir.Expr:
    first, *rest = node.values
    operator = OPERATORS[type(node.op)]
    whole = expression(first, file)
    for value in rest:
        place = spot(node, file) if value is rest[-1] else between(first, value, file)
        whole = ir.Boolean(operator, whole, expression(value, file), place)
    return whole


def _unary(node: ast.UnaryOp, file: File) -> ir.Expr:
    return ir.Unary(OPERATORS[type(node.op)], expression(node.operand, file), spot(node, file))


def _comparison(node: ast.Compare, file: File) -> ir.Expr:
    left = expression(node.left, file)
    if len(node.ops) == 1:
        right = expression(node.comparators[0], file)
        return ir.Compare(OPERATORS[type(node.ops[0])], left, right, spot(node, file))
    whole: ir.Expr | None = None
    first: ast.expr = node.left
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = expression(comparator, file)
        place = between(first, comparator, file)
        link = ir.Compare(OPERATORS[type(operator)], left, right, place)
        whole = link if whole is None else ir.Boolean("and", whole, link, spot(node, file))
        left, first = right, comparator
    return left if whole is None else whole


def _conditional(node: ast.IfExp, file: File) -> ir.Expr:
    body = node.body
    starts_later = (body.lineno, body.col_offset) != (node.lineno, node.col_offset)
    return ir.Conditional(
        expression(node.test, file),
        expression(node.body, file),
        expression(node.orelse, file),
        spot(node, file),
        isinstance(body, ast.BoolOp) and starts_later,  # after its parenthesis
    )


# --- displays and comprehensions -----------------------------------------------------------


def _display(kind: str) -> Lower:
    def lower(node: ast.List | ast.Set | ast.Tuple, file: File) -> ir.Expr:
        return ir.Display(kind, several(node.elts, file), spot(node, file))

    return lower


def _dict(node: ast.Dict, file: File) -> ir.Expr:
    items = [
        (optional(key, file), expression(value, file))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return ir.Mapping(tuple(items), spot(node, file))


def _clauses(generators: Iterable[ast.comprehension], file: File) -> tuple[ir.Clause, ...]:
    clauses = []
    for each in generators:
        last = each.ifs[-1] if each.ifs else each.iter
        clauses.append(
            ir.Clause(
                expression(each.target, file),
                expression(each.iter, file),
                several(each.ifs, file),
                between(each.target, last, file),
            )
        )
    return tuple(clauses)


def _comprehension(kind: str) -> Lower:
    def lower(node: ast.ListComp | ast.SetComp | ast.GeneratorExp, file: File) -> ir.Expr:
        element = expression(node.elt, file)
        clauses = _clauses(node.generators, file)
        return ir.Comprehension(kind, element, clauses, None, spot(node, file))

    return lower


def _dict_comprehension(node: ast.DictComp, file: File) -> ir.Expr:
    value = expression(node.value, file)
    clauses = _clauses(node.generators, file)
    return ir.Comprehension("dict", value, clauses, expression(node.key, file), spot(node, file))


# --- the rest ------------------------------------------------------------------------------


def parameters(node: ast.arguments, file: File) -> tuple[ir.Parameter, ...]:
    """Parameters in the order of the source, without the bare `/` and `*`."""
    plain = [*node.posonlyargs, *node.args]
    defaults: list[Any] = [None] * (len(plain) - len(node.defaults)) + node.defaults
    found = [
        _parameter(each, "positional", default, file)
        for each, default in zip(plain, defaults, strict=True)
    ]
    if node.vararg is not None:
        found.append(_parameter(node.vararg, "*", None, file))
    for each, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        found.append(_parameter(each, "keyword", default, file))
    if node.kwarg is not None:
        found.append(_parameter(node.kwarg, "**", None, file))
    return tuple(found)


def _parameter(node: ast.arg, kind: str, default: Any, file: File) -> ir.Parameter:
    place = spot(node, file) if default is None else between(node, default, file)
    return ir.Parameter(
        node.arg, kind, optional(default, file), optional(node.annotation, file), place
    )


def _lambda(node: ast.Lambda, file: File) -> ir.Expr:
    return ir.Lambda(parameters(node.args, file), expression(node.body, file), spot(node, file))


def _walrus(node: ast.NamedExpr, file: File) -> ir.Expr:
    target = ir.Name(node.target.id, spot(node.target, file))
    return ir.Walrus(target, expression(node.value, file), spot(node, file))


def _starred(node: ast.Starred, file: File) -> ir.Expr:
    return ir.Starred(expression(node.value, file), spot(node, file))


def _await(node: ast.Await, file: File) -> ir.Expr:
    return ir.Await(expression(node.value, file), spot(node, file))


def _yield(node: ast.Yield, file: File) -> ir.Expr:
    return ir.Yield(optional(node.value, file), False, spot(node, file))


def _yield_from(node: ast.YieldFrom, file: File) -> ir.Expr:
    return ir.Yield(expression(node.value, file), True, spot(node, file))


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
