"""Devices that are read from what is at hand: of the input of a module, or of a parameter."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

_MOVES = m.Name("cuda") | m.Name("to") | m.Name("type") | m.Name("cpu")


def input_of(function: cst.FunctionDef) -> str:
    """The first input of a `forward` that it gives to a part of its module, and so is where that
    is; "" without any, and where the input is moved there."""
    params = function.params.params
    if function.name.value != "forward" or len(params) < 2:
        return ""
    holder = params[0].name.value
    part = m.Attribute(value=m.Name(holder))
    for each in params[1:]:
        name = m.Name(each.name.value)
        given = m.Call(func=part, args=[m.Arg(value=name), m.ZeroOrMore()])
        moved = m.Call(func=m.Attribute(value=name, attr=_MOVES))
        kept = m.Attribute(value=m.Name(holder), attr=_MOVES)
        if not m.findall(function.body, given) or m.findall(function.body, kept):
            continue
        if not m.findall(function.body, moved):
            return each.name.value
    return ""


def renamed(function: cst.FunctionDef) -> cst.FunctionDef:
    """`def cuda(self)` of a class that is no module, as `def to(self, device)`."""
    first = function.params.params[0].with_changes(
        comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    )
    params = function.params.with_changes(params=[first, cst.Param(cst.Name("device"))])
    return function.with_changes(name=cst.Name("to"), params=params)


def moves_itself(function: cst.FunctionDef, owner: cst.CSTNode | None) -> bool:
    """Whether a method is how a class that is no module moves what it holds: `def cuda(self)`."""
    if function.name.value != "cuda" or not isinstance(owner, cst.ClassDef):
        return False
    alone = m.Parameters(params=[m.Param(default=None)], kwonly_params=[], posonly_params=[])
    defined = m.findall(owner.body, m.FunctionDef(name=m.Name("to")))
    bases = [m.findall(each, m.Name() | m.Attribute()) for each in owner.bases]
    is_module = any(base for base in bases if not _is_plain(base))
    return m.matches(function.params, alone) and not defined and not is_module


def _is_plain(names: object) -> bool:
    """Whether a base is `object`."""
    return isinstance(names, list) and all(m.matches(each, m.Name("object")) for each in names)
