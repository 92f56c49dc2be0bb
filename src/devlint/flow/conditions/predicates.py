"""Conditions that have a name: of a property, or a function without arguments, that returns one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from devlint.flow.domain.paths import Path
from devlint.flow.domain.values import Kind
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import first_parameter, names_in
from devlint.model import ir
from devlint.model.trees import descendants, dotted_name


def meaning(frame: Frame, node: ir.Expr) -> ir.Expr:
    """The condition that `self.on_gpu`, or `self.on_gpu()`, stands for, in the names that are used
    where it is asked; the node itself where it stands for none of its own file."""
    match node:
        case ir.Call(func=ir.Name(id=name), args=()):
            return _of_function(frame, node, name)
        case ir.Call(func=ir.Attribute(value=ir.Name() as this, attr=attr), args=()):
            is_call = True
        case ir.Attribute(value=ir.Name() as this, attr=attr):
            is_call = False
        case _:
            return node
    owner = frame.look_up(this.id)
    if owner is None or owner.kind not in (Kind.INSTANCE, Kind.MODULE):
        return node
    info = frame.class_of(owner)
    method = None if info is None else info.method(attr)
    if method is None or method[0].file is not frame.file:
        return node
    if is_call is (attr in method[0].properties) or len(method[1].params) != 1:
        return node
    return frame.file.once(_of_method, (node, method[1]), this.id)


def _of_method(asked: tuple[ir.Expr, ir.Function], name: str) -> ir.Expr:
    node, method = asked
    returned = _returned(method)
    return node if returned is None else _renamed(returned, first_parameter(method), name)


def _of_function(frame: Frame, node: ir.Call, name: str) -> ir.Expr:
    """The condition that a function of the file asks of libraries, else the call itself."""
    value = frame.look_up(name)
    function = value.data.node if value is not None and isinstance(value.data, Closure) else None
    if function is None or function not in frame.file.body:
        return node
    if function.params or function.decorators or function.is_async:
        return node
    returned = frame.file.once(_asked_of_libraries, function, frame)
    return node if returned is None else returned


def _asked_of_libraries(function: ir.Function, frame: Frame) -> ir.Expr | None:
    returned = _returned(function)
    inside = () if returned is None else tuple(descendants(returned))
    asks = [dotted(frame, each.func) for each in inside if isinstance(each, ir.Call)]
    return returned if asks and all(asks) else None


def _returned(function: ir.Function) -> ir.Expr | None:
    """What a function returns that does nothing else, besides saying what it does: where it returns
    False first, that doesn't hold."""
    found: ir.Expr | None = None
    for statement in function.body:
        match statement:
            case ir.Evaluate(value=ir.Constant()):
                continue
            case ir.If(test=test, body=(ir.Return(value=ir.Constant(value=False)),), orelse=()):
                found = _also(found, ir.Unary("not", test))
            case ir.Return(value=ir.Constant(value=True)) if found is not None:
                return found
            case ir.Return(value=ir.Expr() as returned):
                return _also(found, returned)
            case _:
                return None
    return None


def _also(first: ir.Expr | None, second: ir.Expr) -> ir.Expr:
    return second if first is None else ir.Boolean("and", first, second)


def paths_in(frame: Frame, node: ir.Expr) -> dict[str, str]:
    """The names in a condition that the running function has bound to a part of something else,
    each with the path of that: `cfg` and `self.cfg`, behind `cfg = self.cfg`."""
    named = frame.file.once(_named, node)
    bound = {name: frame.look_up(name) for name in named if frame.binds(name)}
    return {
        name: value.data.text
        for name, value in bound.items()
        if value is not None and isinstance(value.data, Path) and value.data.is_dotted
    }


def _named(node: ir.Expr) -> frozenset[str]:
    return frozenset(names_in(node))


def spelled_out(node: ir.Expr, paths: Mapping[str, str]) -> ir.Expr:
    """A condition with paths in the place of names."""
    for name, path in paths.items():
        node = _renamed(node, name, path)
    return node


def _renamed(node: Any, name: str, by: str) -> Any:
    """An expression with another name in the place of one, which may be dotted."""
    if isinstance(node, (ir.Name, ir.Attribute)) and dotted_name(node) == name:
        return ir.Name(by, node.origin)
    if isinstance(node, ir.Name):
        return node
    if isinstance(node, tuple):
        return tuple(_renamed(each, name, by) for each in node)
    if name == by or not is_dataclass(node):
        return node
    names = [each.name for each in fields(node) if each.name != "origin"]
    below = {each: _renamed(getattr(node, each), name, by) for each in names}
    return replace(node, **below)  # type: ignore[type-var]
