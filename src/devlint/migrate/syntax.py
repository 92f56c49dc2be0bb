"""Forms of LibCST's tree that conversions ask for."""

from __future__ import annotations

import re

import libcst as cst
import libcst.matchers as m

_CUDA = re.compile(r"cuda(:(\d+))?")


def expression(text: str) -> cst.BaseExpression:
    """An expression as it is written."""
    return cst.parse_expression(text)


def grouped(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression in parentheses, unless it is an atom or has them."""
    atoms = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseString, cst.Integer)
    if node.lpar or isinstance(node, atoms):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def spelled(node: cst.CSTNode) -> str:
    """Its source."""
    return cst.Module([]).code_for_node(node)


def string(node: cst.CSTNode | None) -> str | None:
    """What a string literal says."""
    if not isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        return None
    value = node.evaluated_value
    return value if isinstance(value, str) else None


def integer(node: cst.CSTNode | None) -> int | None:
    """What a number says."""
    return node.evaluated_value if isinstance(node, cst.Integer) else None


def cuda_index(node: cst.CSTNode | None) -> int | None:
    """The index in "cuda:1"; -1 in "cuda", None in any other text."""
    text = string(node)
    found = None if text is None else _CUDA.fullmatch(text)
    if found is None:
        return None
    return -1 if found[2] is None else int(found[2])


def is_cuda_text(node: cst.CSTNode) -> bool:
    """`"cuda"`, `"cuda:0"` or `f"cuda:{index}"`."""
    return cuda_index(node) is not None or cuda_of_index(node) is not None


def cuda_of_index(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The index in `f"cuda:{index}"`, `"cuda:" + str(index)` or `"cuda:%d" % index`."""
    if isinstance(node, cst.FormattedString) and len(node.parts) == 2:
        text, value = node.parts
        if m.matches(text, m.FormattedStringText(value="cuda:")):
            assert isinstance(value, cst.FormattedStringExpression)
            return value.expression
    if m.matches(node, m.BinaryOperation(operator=m.Add() | m.Modulo())):
        assert isinstance(node, cst.BinaryOperation)
        if string(node.left) in ("cuda:", "cuda:%d", "cuda:%s"):
            right = node.right
            if m.matches(right, m.Call(func=m.Name("str"), args=[m.Arg()])):
                assert isinstance(right, cst.Call)
                return right.args[0].value
            return right
    if m.matches(node, m.Call(func=m.Attribute(attr=m.Name("format")), args=[m.Arg()])):
        assert isinstance(node, cst.Call)
        assert isinstance(node.func, cst.Attribute)
        if string(node.func.value) in ("cuda:{}", "cuda:{0}"):
            return node.args[0].value
    return None


def argument(call: cst.Call, position: int, keyword: str) -> cst.Arg | None:
    """An argument by position or keyword."""
    for number, each in enumerate(call.args):
        if each.star:
            return None
        if each.keyword is None and number == position:
            return each
        if each.keyword is not None and each.keyword.value == keyword:
            return each
    return None


def is_unpacked(call: cst.Call) -> bool:
    """Whether some arguments aren't shown."""
    return any(each.star for each in call.args)


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """`name=value`."""
    bare = cst.SimpleWhitespace("")
    equal = cst.AssignEqual(whitespace_before=bare, whitespace_after=bare)
    return cst.Arg(value, keyword=cst.Name(name), equal=equal)


def with_args(call: cst.Call, *args: cst.Arg) -> cst.Call:
    """A call with other arguments, in one row."""
    plain = [
        each.with_changes(
            comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            if number < len(args) - 1
            else cst.MaybeSentinel.DEFAULT,
            whitespace_after_arg=cst.SimpleWhitespace(""),
        )
        for number, each in enumerate(args)
    ]
    return call.with_changes(args=plain, whitespace_before_args=cst.SimpleWhitespace(""))


def added(call: cst.Call, arg: cst.Arg) -> cst.Call:
    """A call with one more argument, the others as they are written."""
    if not call.args:
        return call.with_changes(args=[arg])
    *others, last = call.args
    comma = last.comma
    if isinstance(comma, cst.Comma):  # a comma at the end stays there
        inner = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return call.with_changes(
            args=[*others, last.with_changes(comma=inner), arg.with_changes(comma=comma)]
        )
    inner = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    moved = last.whitespace_after_arg
    kept = last.with_changes(comma=inner, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, kept, arg.with_changes(whitespace_after_arg=moved)])


def moved_to(value: cst.BaseExpression, *args: cst.Arg) -> cst.Call:
    """`value.to(...)`."""
    return with_args(cst.Call(cst.Attribute(grouped(value), cst.Name("to"))), *args)


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c` as it is written; "" for all else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr.value}" if owner else ""
    return ""
