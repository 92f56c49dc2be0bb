"""Where an operand came from, as far as the source and the notes of an emulation tell."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace

from devlint.runtime.explaining.definitions import code_of, line_of
from devlint.runtime.explaining.lookup import Named, read
from devlint.runtime.explaining.places import is_maker, name_of
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.scopes import text_of_file
from devlint.runtime.explaining.source import MAKERS, MOVES
from devlint.runtime.explaining.stack import Spot, as_module, is_method_of
from devlint.runtime.explaining.traced import defined
from devlint.runtime.operands import OperandFacts, Site, is_tensor


@dataclass(frozen=True, slots=True)
class Creation:
    """A call that makes a tensor without `device=`."""

    file: str
    line: int
    call: ast.Call
    index: int | None
    """Of the frame in the stack whose function it is in, if that is running."""
    in_place: bool = False
    """Whether it stands right where the tensor is used."""


def verb(site: Site, device: str) -> str:
    """Whether a tensor on a device was made or moved at a line, as far as the line shows."""
    text = line_of(site.file, site.line)
    others = ("cuda", "xpu") if device == "cpu" else ("cpu",)
    moves = (name for name in MOVES if name not in others)
    return "moved at" if any(f".{name}(" in text for name in moves) else "made at"


def was_moved(facts: OperandFacts) -> bool:
    """Whether a tensor was moved by itself, as far as is noted."""
    site = facts.site
    return facts.moved is not None or (site is not None and verb(site, facts.device) == "moved at")


def creation(scene: Scene, facts: OperandFacts, named: Named | None, index: int) -> Creation | None:
    """The call that has made a tensor without saying where, if that is sure.

    `index` is the frame whose line names the tensor.
    """
    if facts.moved is not None:
        return None
    spot = scene.stack[index]
    node = None if named is None else named.node
    if isinstance(node, ast.Call) or (node is not None and not names_tensor(node, spot)):
        made = without_device(node, spot, index)
        if made is not None:
            return replace(made, in_place=True)
    if facts.site is not None:
        return _at_site(scene, facts.site)
    found = None if named is None else defined(scene, named.text, index)
    if found is None or found.value is None or found.path:
        return None
    return without_device(found.value, spot, index)


def names_tensor(node: ast.AST, spot: Spot) -> bool:
    """Whether a part of an expression is a tensor that has a name."""
    names = (part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute)))
    return any(is_tensor(read(name, spot)) for name in names)


def _at_site(scene: Scene, site: Site) -> Creation | None:
    """What a noted line makes: a constructor has run there, or a move."""
    text = text_of_file(site.file)
    statement = None if text is None else text.statement_at(site.line)
    begins = [(spot.file, spot.code.co_firstlineno) for spot in scene.stack]
    place = (site.file, site.first_line)
    index = begins.index(place) if place in begins else None
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return None
    if index is not None:
        return without_device(value, scene.stack[index], index)
    made = _alone(value, lambda call: name_of(call) in MAKERS)
    return None if made is None else Creation(site.file, site.line, made, None)


def without_device(node: ast.AST, spot: Spot, index: int) -> Creation | None:
    """The one constructor in an expression, if nothing in it says a device."""
    made = _alone(node, lambda call: is_maker(read(call.func, spot)))
    return None if made is None else Creation(spot.file, made.lineno, made, index)


def _alone(node: ast.AST, makes: Callable[[ast.Call], bool]) -> ast.Call | None:
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if any(_moves(call) or _says_device(call) for call in calls):
        return None
    made = [call for call in calls if makes(call)]
    return made[0] if len(made) == 1 else None


def _moves(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in MOVES


def _says_device(call: ast.Call) -> bool:
    return any(keyword.arg in ("device", None) for keyword in call.keywords)


def is_for_module(scene: Scene, made: Creation, site: Site | None, index: int) -> bool:
    """Whether a tensor was made by a module that is at work, or by a function that it called.

    `index` is the frame that has the tensor.
    """
    if made.index is not None:
        spot = scene.stack[made.index]
        first = spot.code.co_varnames[: min(spot.code.co_argcount, 1)]
        return bool(first) and as_module(spot.names.get(first[0])) is not None
    if site is None or site.function == "<module>":
        return False
    return any(
        frame.index <= index or is_method_of(frame.module, site.file, site.first_line)
        for frame in scene.modules
    )


def is_for_argument(scene: Scene, made: Creation, device: str) -> bool:
    """Whether the function that makes a tensor has been given one on a device."""
    return made.index is not None and bool(argument_on(scene, made.index, device))


def argument_on(scene: Scene, index: int, device: str) -> str:
    """A function's own argument that is on a device already."""
    spot = scene.stack[index]
    code = spot.code
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if scene.is_on(spot.names.get(name), device):
            return name
    return ""


def with_device(made: Creation, device: str) -> str:
    """The call with the keyword that it lacks."""
    if name_of(made.call) in ("from_numpy", "Tensor") or name_of(made.call).endswith("Tensor"):
        return f"{code_of(made.call)}.to({device})"
    keyword = ast.keyword("device", ast.parse(device, mode="eval").body)
    keywords = [*made.call.keywords, keyword]
    return code_of(ast.Call(made.call.func, made.call.args, keywords))
