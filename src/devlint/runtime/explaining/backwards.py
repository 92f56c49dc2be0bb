"""Gradients that a function's own backward has returned in the wrong place."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from types import FunctionType

from torch.autograd import Function

from devlint.crashes.messages import Words
from devlint.runtime.explaining.definitions import definition_of, place_of, shown_line
from devlint.runtime.explaining.mistakes import Mistake, moved_here
from devlint.runtime.explaining.origins import verb
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import parameters
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.operands import OperandFacts


def wrong_gradient(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """What a backward has returned, as its source tells it."""
    name = words.operation.removesuffix("Backward")
    kind = _kind(name)
    backward = None if kind is None else _method(kind, "backward")
    node = None if backward is None else _returned(backward, int(words.number))
    text = "" if node is None else ast.unparse(node)
    of = _input(kind, int(words.number)) if kind is not None else ""
    gave = f"{name}.backward returns {text}" if text else f"{words.operation} gave a gradient"
    lines = [("gradient", f"{text}: {found}" if text else str(found)) for found in operands[:1]]
    fix = "return gradients from backward() on the device of the input that they belong to"
    site = next((found.moved or found.site for found in operands[:1]), None)
    if site is not None:
        lines.append((verb(site, words.device), shown_line(site.file, site.line)))
    if backward is not None and node is not None:
        file = backward.__code__.co_filename
        if site is None and (line := _set_at(backward, text)):
            lines.append(("set at", shown_line(file, line)))
        if site is None or (site.file, site.line) != (file, node.lineno):
            lines.append(("returned", shown_line(file, node.lineno)))
        given = parameters(backward.__code__)[1]
        change = moved_here(text, f"{given}.device")
        fix = f"move it where it is returned, at {place_of(file, node.lineno)}: {change}"
    if backward is not None and owner_of(backward.__code__.co_filename) != "program":
        fix = ""  # it is a library's
    return Mistake(
        f"{gave} on {words.device}, the gradient of {of or 'a tensor'} on {words.home}",
        lines,
        fix,
        argument=text,
        devices=(words.device, words.home),
        is_mismatch=True,
    )


def _kind(name: str) -> type | None:
    """The function of a name; of several the newest, if one module has defined all of them."""
    kinds = [kind for kind in _kinds(Function) if kind.__name__ == name]
    return kinds[-1] if len({kind.__module__ for kind in kinds}) == 1 else None


def _kinds(kind: type) -> Iterator[type]:
    for each in list[type](type.__subclasses__(kind)):
        yield each
        yield from _kinds(each)


def _method(kind: type, name: str) -> FunctionType | None:
    """A static method of a function with gradients of its own."""
    value = inspect.getattr_static(kind, name, None)
    value = value.__func__ if isinstance(value, staticmethod) else value
    if not isinstance(value, FunctionType) or len(parameters(value.__code__)) < 2:
        return None
    return value


def _returned(backward: FunctionType, index: int) -> ast.expr | None:
    """What a function returns for one input, if one statement does."""
    tree = definition_of(backward.__code__)
    found = []
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found += [v for v in values[index : index + 1] if not isinstance(v, ast.Constant)]
    return found[0] if len(found) == 1 else None


def _set_at(backward: FunctionType, name: str) -> int:
    """The one line that gives a name its value; 0 if there isn't just one."""
    tree = definition_of(backward.__code__)
    found = [
        node.lineno
        for node in (() if tree is None else ast.walk(tree))
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return found[0] if len(found) == 1 else 0


def _input(kind: type, index: int) -> str:
    """What `forward` calls an input; it has the context first, unless that is set up elsewhere."""
    forward = _method(kind, "forward")
    names = () if forward is None else parameters(forward.__code__)
    names = names if "setup_context" in vars(kind) else names[1:]
    return names[index] if index < len(names) else ""
