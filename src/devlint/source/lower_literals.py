"""Names, numbers, strings and operators of LibCST -> their `ir` forms: what nests nothing."""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from collections.abc import Mapping

import libcst as cst

from devlint import ir

OPERATORS: Mapping[type, str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//",
    cst.Modulo: "%", cst.Power: "**", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitOr: "|",
    cst.BitAnd: "&", cst.BitXor: "^", cst.MatrixMultiply: "@", cst.Plus: "+", cst.Minus: "-",
    cst.BitInvert: "~", cst.Not: "not", cst.And: "and", cst.Or: "or", cst.LessThan: "<",
    cst.GreaterThan: ">", cst.Equal: "==", cst.LessThanEqual: "<=", cst.GreaterThanEqual: ">=",
    cst.NotEqual: "!=", cst.In: "in", cst.NotIn: "not in", cst.Is: "is", cst.IsNot: "is not",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//", cst.ModuloAssign: "%", cst.PowerAssign: "**",
    cst.LeftShiftAssign: "<<", cst.RightShiftAssign: ">>", cst.BitOrAssign: "|",
    cst.BitAndAssign: "&", cst.BitXorAssign: "^", cst.MatrixMultiplyAssign: "@",
}  # fmt: skip

_SINGLETONS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}


_ODD = re.compile(r'\\(?:\r\n|.)|\r\n?|\n|"', re.DOTALL)
"""Escapes, and what can't stand as it is between simple double quotes."""


def spelled(word: str) -> str:
    """A name as Python reads it: `ﬁt` and `fit` are one."""
    return word if word.isascii() else unicodedata.normalize("NFKC", word)


def name(node: cst.Name) -> ir.Expr:
    """A name, or one of the constants that LibCST reads as names."""
    value = node.value
    if value in _SINGLETONS:
        return ir.Constant(_SINGLETONS[value], node)
    return ir.Name(spelled(value), node)


def ellipsis(node: cst.Ellipsis) -> ir.Expr:
    """`...`"""
    return ir.Constant(..., node)


def integer(node: cst.Integer) -> ir.Expr:
    """A whole number in any notation."""
    text = node.value
    try:
        return ir.Constant(int(text, 0), node)
    except ValueError:  # more digits than Python converts by default
        return ir.Constant(float(text), node)


def floating(node: cst.Float) -> ir.Expr:
    """A number with a point or an exponent."""
    return ir.Constant(float(node.value), node)


def imaginary(node: cst.Imaginary) -> ir.Expr:
    """An imaginary number."""
    return ir.Constant(complex(node.value), node)


def string_value(literal: str) -> str | bytes:
    """The value of one string literal, prefix and quotes included.

    A literal that Python refuses (`"\\N{no such name}"`) gives its text as written.
    """
    quote = literal[0]
    if quote in "'\"" and "\\" not in literal and "\r" not in literal:
        if literal[:3] == quote * 3 and len(literal) >= 6:
            return literal[3:-3]
        return literal[1:-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown escapes in the linted file
        try:
            value = ast.literal_eval(literal)
        except (SyntaxError, ValueError):
            return literal
    return value if isinstance(value, (str, bytes)) else literal


def piece_value(text: str, prefix: str) -> str:
    """The value of a literal piece of an f-string or template string with a prefix."""
    if "{" in text or "}" in text:
        text = text.replace("{{", "{").replace("}}", "}")
    if "r" in prefix.lower() or not ("\\" in text or "\r" in text):
        return text
    return str(string_value(f'"{_ODD.sub(_plain, text)}"'))


def _plain(odd: re.Match[str]) -> str:
    text = odd.group()
    if text == '"':
        return '\\"'
    return text if text.startswith("\\") else "\\n"


def string(node: cst.SimpleString) -> ir.Expr:
    """One string or bytes literal that isn't an f-string."""
    return ir.Constant(string_value(node.value), node)
