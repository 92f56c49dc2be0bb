"""Gradients that a function's own backward has returned in the wrong place."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from types import FunctionType

from torch.autograd import Function

from devlint.crashes.messages import Words
from devlint.runtime.explaining.definitions import place_of, shown_line
from devlint.runtime.explaining.flow import results_of
from devlint.runtime.explaining.given import Point
from devlint.runtime.explaining.mistakes import Mistake, moved_here
from devlint.runtime.explaining.origins import verb
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.scopes import Scope, scope_of
from devlint.runtime.explaining.source import parameters
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.explaining.traced import decided
from devlint.runtime.operands import OperandFacts


def wrong_gradient(scene: Scene, words: Words, operands: Sequence[OperandFacts]) -> Mistake:
    """What a backward has returned, as its source tells it."""
    name = words.operation.removesuffix("Backward")
    kind = _kind(name)
    backward = None if kind is None else _method(kind, "backward")
    inner = None if backward is None else scope_of(backward)
    node = None if inner is None else _returned(inner, int(words.number))
    text = "" if node is None else ast.unparse(node)
    of = _input(kind, int(words.number)) if kind is not None else ""
    gave = f"{name}.backward returns {text}" if text else f"{words.operation} gave a gradient"
    lines = [("gradient", f"{text}: {found}" if text else str(found)) for found in operands[:1]]
    fix = "return gradients from backward() on the device of the input that they belong to"
    site = next((found.moved or found.site for found in operands[:1]), None)
    if site is not None:
        lines.append((verb(site, words.device), shown_line(site.file, site.line)))
    if backward is not None and inner is not None and node is not None:
        file = inner.text.file
        if site is None:
            lines += [line.shown() for line in decided(scene, Point(inner, node), words.device)]
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


def _returned(backward: Scope, index: int) -> ast.expr | None:
    """What a function returns for one input, if one statement does."""
    given = (node.value for node in results_of(backward.node))
    parts = [node.elts if isinstance(node, ast.Tuple) else [node] for node in given]
    found = [part[index] for part in parts if index < len(part)]
    found = [node for node in found if not isinstance(node, ast.Constant)]
    return found[0] if len(found) == 1 else None


def _input(kind: type, index: int) -> str:
    """What `forward` calls an input; it has the context first, unless that is set up elsewhere."""
    forward = _method(kind, "forward")
    names = () if forward is None else parameters(forward.__code__)
    names = names if "setup_context" in vars(kind) else names[1:]
    return names[index] if index < len(names) else ""
