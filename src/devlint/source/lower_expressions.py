"""LibCST expressions -> `ir` expressions, by a table from node type to function.

A table and plain recursion rather than a LibCST visitor: visitors call two methods for every
node, blanks and commas included, which takes longer than parsing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import libcst as cst

from devlint import ir
from devlint.source.lower_literals import (
    OPERATORS,
    ellipsis,
    floating,
    imaginary,
    integer,
    name,
    piece_value,
    spelled,
    string,
    string_value,
)
from devlint.source.origins import Between
from devlint.source.pieces import Pieces

# `Any` stands for "a LibCST node of the type under which the table lists the function".
Lower = Callable[[Any], ir.Expr]


def expression(node: Any) -> ir.Expr:
    """Lower any expression. Raises `RecursionError` for very deep ones."""
    return _EXPRESSIONS[type(node)](node)


def optional(node: Any) -> ir.Expr | None:
    """Lower an expression that may be missing."""
    return None if node is None else _EXPRESSIONS[type(node)](node)


# --- text ----------------------------------------------------------------------------------


def _collect(parts: Iterable[Any], prefix: str, pieces: Pieces) -> None:
    """The literal pieces and the expressions of an f-string, format specifications included."""
    for part in parts:
        if type(part) in _LITERAL_PIECES:
            pieces.text(piece_value(part.value, prefix), part)
            continue
        if part.equal is not None:
            pieces.text(_before_equal(part), part)
        inner = Pieces()
        _collect(part.format_spec or (), prefix, inner)
        pieces.expression(expression(part.expression), inner.parts())


def _before_equal(part: cst.FormattedStringExpression | cst.TemplatedStringExpression) -> str:
    """`x=` of `{x=!r}`: what it prints before the value."""
    bare: Any = part.with_changes(conversion=None, format_spec=None)
    return cst.Module([]).code_for_node(bare)[1:-1]


def _text(node: cst.FormattedString | cst.TemplatedString) -> ir.Expr:
    pieces = Pieces()
    _collect(node.parts, node.prefix, pieces)
    return ir.Text(pieces.parts(), node)


def _concatenated(node: cst.ConcatenatedString) -> ir.Expr:
    # A loop: LibCST nests `"a" "b" "c"` to the right, and tables of text have thousands.
    literals: list[Any] = []
    rest: Any = node
    while type(rest) is cst.ConcatenatedString:
        literals.append(rest.left)
        rest = rest.right
    literals.append(rest)
    if all(type(literal) is cst.SimpleString for literal in literals):
        values = [string_value(literal.value) for literal in literals]
        if all(isinstance(value, bytes) for value in values):
            return ir.Constant(b"".join(v for v in values if isinstance(v, bytes)), node)
        return ir.Constant("".join(v for v in values if isinstance(v, str)), node)
    pieces = Pieces()
    for literal in literals:
        if type(literal) is cst.SimpleString:
            pieces.text(str(string_value(literal.value)), literal)
        else:
            _collect(literal.parts, literal.prefix, pieces)
    return ir.Text(pieces.parts(), node)


# --- access and calls ----------------------------------------------------------------------


def _attribute(node: cst.Attribute) -> ir.Expr:
    value = node.value
    return ir.Attribute(_EXPRESSIONS[type(value)](value), spelled(node.attr.value), node)


def _subscript(node: cst.Subscript) -> ir.Expr:
    value = _EXPRESSIONS[type(node.value)](node.value)
    elements = node.slice
    if len(elements) == 1:
        only = elements[0]
        index = _index(only.slice)
        if not isinstance(only.comma, cst.Comma) and not isinstance(index, ir.Starred):
            return ir.Subscript(value, index, node)
        items: tuple[ir.Expr, ...] = (index,)
    else:
        items = tuple([_index(element.slice) for element in elements])
    return ir.Subscript(value, ir.Display("tuple", items, Between(elements[0], elements[-1])), node)


def _index(node: cst.BaseSlice) -> ir.Expr:
    if isinstance(node, cst.Slice):
        return ir.Slice(optional(node.lower), optional(node.upper), optional(node.step), node)
    if not isinstance(node, cst.Index):
        raise TypeError(f"an index of an unknown kind: {type(node).__name__}")
    value = expression(node.value)
    return value if node.star is None else ir.Starred(value, node)


def _call(node: cst.Call) -> ir.Expr:
    func = node.func
    args = node.args
    return ir.Call(
        _EXPRESSIONS[type(func)](func), tuple([argument(a) for a in args]) if args else (), node
    )


def argument(node: cst.Arg) -> ir.Argument:
    """One argument of a call or of a class statement."""
    value = node.value
    keyword = node.keyword
    return ir.Argument(
        _EXPRESSIONS[type(value)](value),
        None if keyword is None else spelled(keyword.value),
        node.star,
        node,
    )


# --- operators -----------------------------------------------------------------------------


def _binary(node: cst.BinaryOperation) -> ir.Expr:
    return _left_to_right(node, ir.Binary)


def _boolean(node: cst.BooleanOperation) -> ir.Expr:
    return _left_to_right(node, ir.Boolean)


def _left_to_right(node: Any, make: Callable[[str, ir.Expr, ir.Expr, object], ir.Expr]) -> ir.Expr:
    # A loop down the left side: generated code has sums of a thousand terms.
    kind = type(node)
    spine = [node]
    left = node.left
    while type(left) is kind:
        spine.append(left)
        left = left.left
    lowered = _EXPRESSIONS[type(left)](left)
    for link in reversed(spine):
        right = link.right
        lowered = make(
            OPERATORS[type(link.operator)], lowered, _EXPRESSIONS[type(right)](right), link
        )
    return lowered


def _unary(node: cst.UnaryOperation) -> ir.Expr:
    return ir.Unary(OPERATORS[type(node.operator)], expression(node.expression), node)


def _comparison(node: cst.Comparison) -> ir.Expr:
    left = expression(node.left)
    targets = node.comparisons
    if len(targets) == 1:
        target = targets[0]
        return ir.Compare(
            OPERATORS[type(target.operator)], left, expression(target.comparator), node
        )
    whole: ir.Expr | None = None
    first: object = node.left
    for target in targets:
        right = expression(target.comparator)
        link = ir.Compare(
            OPERATORS[type(target.operator)], left, right, Between(first, target.comparator)
        )
        whole = link if whole is None else ir.Boolean("and", whole, link, node)
        left, first = right, target.comparator
    return left if whole is None else whole


def _conditional(node: cst.IfExp) -> ir.Expr:
    return ir.Conditional(
        expression(node.test),
        expression(node.body),
        expression(node.orelse),
        node,
        isinstance(node.body, cst.BooleanOperation) and bool(node.body.lpar),
    )


# --- displays and comprehensions -----------------------------------------------------------


def _element(node: Any) -> ir.Expr:
    value = _EXPRESSIONS[type(node.value)](node.value)
    return value if type(node) is cst.Element else ir.Starred(value, node)


def _tuple(node: cst.Tuple) -> ir.Expr:
    return ir.Display("tuple", tuple([_element(item) for item in node.elements]), node)


def _list(node: cst.List) -> ir.Expr:
    return ir.Display("list", tuple([_element(item) for item in node.elements]), node)


def _set(node: cst.Set) -> ir.Expr:
    return ir.Display("set", tuple([_element(item) for item in node.elements]), node)


def _dict(node: cst.Dict) -> ir.Expr:
    items: list[tuple[ir.Expr | None, ir.Expr]] = []
    for item in node.elements:
        key = item.key if isinstance(item, cst.DictElement) else None
        items.append((optional(key), expression(item.value)))
    return ir.Mapping(tuple(items), node)


def _clauses(node: cst.CompFor) -> tuple[ir.Clause, ...]:
    clauses = []
    link: cst.CompFor | None = node
    while link is not None:
        tests = tuple([expression(condition.test) for condition in link.ifs])
        clauses.append(ir.Clause(expression(link.target), expression(link.iter), tests, link))
        link = link.inner_for_in
    return tuple(clauses)


def _comprehension(kind: str) -> Lower:
    def lower(node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> ir.Expr:
        return ir.Comprehension(kind, expression(node.elt), _clauses(node.for_in), None, node)

    return lower


def _dict_comprehension(node: cst.DictComp) -> ir.Expr:
    return ir.Comprehension(
        "dict", expression(node.value), _clauses(node.for_in), expression(node.key), node
    )


def _starred_dict_comprehension(node: cst.StarredDictComp) -> ir.Expr:
    return ir.Comprehension("dict", expression(node.value), _clauses(node.for_in), None, node)


# --- the rest ------------------------------------------------------------------------------


def parameters(node: cst.Parameters) -> tuple[ir.Parameter, ...]:
    """Parameters in the order of the source, without the bare `/` and `*`."""
    found = [_parameter(each, "positional") for each in node.posonly_params]
    found.extend(_parameter(each, "positional") for each in node.params)
    if isinstance(node.star_arg, cst.Param):
        found.append(_parameter(node.star_arg, "*"))
    found.extend(_parameter(each, "keyword") for each in node.kwonly_params)
    if node.star_kwarg is not None:
        found.append(_parameter(node.star_kwarg, "**"))
    return tuple(found)


def _parameter(node: cst.Param, kind: str) -> ir.Parameter:
    annotation = node.annotation
    return ir.Parameter(
        spelled(node.name.value),
        kind,
        optional(node.default),
        None if annotation is None else expression(annotation.annotation),
        node,
    )


def _lambda(node: cst.Lambda) -> ir.Expr:
    return ir.Lambda(parameters(node.params), expression(node.body), node)


def _walrus(node: cst.NamedExpr) -> ir.Expr:
    target = node.target
    value = expression(node.value)
    if not isinstance(target, cst.Name):  # LibCST's type is wide, its grammar isn't
        return value
    return ir.Walrus(ir.Name(spelled(target.value), target), value, node)


def _await(node: cst.Await) -> ir.Expr:
    return ir.Await(expression(node.expression), node)


def _yield(node: cst.Yield) -> ir.Expr:
    value = node.value
    if isinstance(value, cst.From):
        return ir.Yield(expression(value.item), True, node)
    return ir.Yield(optional(value), False, node)


_LITERAL_PIECES: Sequence[type] = (cst.FormattedStringText, cst.TemplatedStringText)

_EXPRESSIONS: Mapping[type, Lower] = {
    cst.Attribute: _attribute,
    cst.Await: _await,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Call: _call,
    cst.Comparison: _comparison,
    cst.ConcatenatedString: _concatenated,
    cst.Dict: _dict,
    cst.DictComp: _dict_comprehension,
    cst.Element: _element,
    cst.Ellipsis: ellipsis,
    cst.Float: floating,
    cst.FormattedString: _text,
    cst.GeneratorExp: _comprehension("generator"),
    cst.IfExp: _conditional,
    cst.Imaginary: imaginary,
    cst.Integer: integer,
    cst.Lambda: _lambda,
    cst.List: _list,
    cst.ListComp: _comprehension("list"),
    cst.Name: name,
    cst.NamedExpr: _walrus,
    cst.Set: _set,
    cst.SetComp: _comprehension("set"),
    cst.SimpleString: string,
    cst.StarredDictComp: _starred_dict_comprehension,
    cst.StarredElement: _element,
    cst.Subscript: _subscript,
    cst.TemplatedString: _text,
    cst.Tuple: _tuple,
    cst.UnaryOperation: _unary,
    cst.Yield: _yield,
}
