"""The lines that a value came by, as the source tells them. Nothing where that isn't sure."""

from __future__ import annotations

import ast
from collections import ChainMap
from dataclasses import dataclass, replace

from torch import nn

from devlint.runtime.explaining.addresses import written_callee
from devlint.runtime.explaining.definitions import place_of, shown_line
from devlint.runtime.explaining.flow import Definition, definitions
from devlint.runtime.explaining.found import Origin, is_again
from devlint.runtime.explaining.given import Point
from devlint.runtime.explaining.puts import puts
from devlint.runtime.explaining.running import Running
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.scopes import Text
from devlint.runtime.explaining.slicing import Walk


@dataclass(frozen=True, slots=True)
class Line:
    """A line that makes, moves or sets something."""

    file: str
    line: int
    label: str
    value: ast.expr | None = None
    """What it is set to; nothing for one part of it, and for what a loop sets."""
    origin: Origin | None = None

    def shown(self) -> tuple[str, str]:
        """As a line of an explanation."""
        return self.label, shown_line(self.file, self.line)

    def place(self) -> str:
        return f"{self.label} {place_of(self.file, self.line)}"


def traced(scene: Scene, text: str, index: int, device: str) -> list[Line]:
    """What was computed of a tensor on its way to a line, and what has decided where it is."""
    origin, is_cut = _origin(scene, text, index, device)
    if origin is None:  # more may be where it is than the text tells: what only handed it on
        last = assigned(scene, text, index) if device and not is_cut else None
        return [] if last is None or last.label == "moved at" else [last]
    nearest, spot = _nearest(origin), scene.stack[index]
    lines = [] if nearest is None else [replace(nearest, label="set at")]
    is_last = not lines or origin.is_decided or isinstance(origin.node, ast.Call)
    if is_last and (origin.is_decided or origin.place != (spot.file, spot.line)):
        lines.append(_line(origin))
    return lines


def assigned(scene: Scene, text: str, index: int) -> Line | None:
    """The line that gave an expression's name or attribute its value.

    Args:
        scene: what was going on.
        text: the expression, as the line of a frame writes it.
        index: of that frame.
    """
    origin, _ = _origin(scene, text, index, "")
    return None if origin is None else _nearest(origin) or _line(origin)


def decided(scene: Scene, point: Point, device: str) -> list[Line]:
    """The one line that has decided where what an expression gives is."""
    origin, _ = _walked(scene, point, device)
    return [] if origin is None or not origin.is_decided else [_line(origin)]


def _origin(scene: Scene, text: str, index: int, device: str) -> tuple[Origin | None, bool]:
    """The one place that a value comes from, and whether the walk there was cut."""
    point = written_at(scene.running, text, index)
    return (None, False) if point is None else _walked(scene, point, device)


def _walked(scene: Scene, point: Point, device: str) -> tuple[Origin | None, bool]:
    walk = Walk(scene.running, device)
    try:
        found = walk.follow(point)
    except RecursionError:  # the program's own stack is deep
        return None, True
    is_sure = len(found) == 1 and not is_again(found) and not walk.is_cut
    return (found[0] if is_sure else None), walk.is_cut


def _nearest(origin: Origin) -> Line | None:
    """The line that first computed something of it, where that is another one."""
    scope, at = origin.nearest or (origin.scope, origin.node)
    line = getattr(at, "lineno", 0)
    if (scope.text.file, line) == origin.place:
        return None
    return Line(scope.text.file, line, _label(at), _value(at), origin)


def _line(origin: Origin) -> Line:
    statement = origin.scope.text.statement(origin.node)
    value = origin.node if isinstance(origin.node, ast.expr) else _value(origin.node)
    if statement is not None and statement.lineno == origin.line:
        value = _value(statement) or value
    label = _label(origin.node)
    if origin.kind == "moved":
        label = "moved at"
    elif origin.is_decided:
        label = "made at"
    return Line(*origin.place, label, value, origin)


def _label(node: ast.AST) -> str:
    value = node if isinstance(node, ast.expr) else _value(node)
    return "made at" if isinstance(value, ast.Call) else "set at"


def _value(at: ast.AST) -> ast.expr | None:
    """What a statement gives to one target as a whole."""
    if isinstance(at, ast.NamedExpr) or (isinstance(at, ast.AnnAssign) and at.value is not None):
        return at.value
    if isinstance(at, ast.Assign) and len(at.targets) == 1:
        return None if isinstance(at.targets[0], (ast.Tuple, ast.List)) else at.value
    return at.value if isinstance(at, (ast.Expr, ast.Return)) else None


def written_at(running: Running, text: str, index: int) -> Point | None:
    """An expression of a frame's line, or one that is put in its place."""
    scope = running.scope(index)
    try:
        wanted = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if scope is None:
        return None
    failing = running.scene.source(index).failing
    same = None if failing is None else scope.text.same(failing)
    statement = scope.text.statement_at(running.scene.stack[index].line)
    form = ast.dump(wanted)
    for whole in (same, statement):
        for node in ast.walk(whole) if whole is not None else ():
            if isinstance(node, ast.expr) and ast.dump(node) == form:
                return Point(scope, node)
    if statement is None:
        return None
    at = same or statement
    inner = {child: node for node in ast.walk(wanted) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(wanted):
        ast.copy_location(node, at)
    around = ChainMap({**inner, wanted: at}, scope.text.parents)
    return Point(replace(scope, text=Text(scope.text.file, scope.text.tree, around)), wanted)


# --- in one function


def defined(scene: Scene, name: str, index: int) -> Definition | None:
    """What gave a name of a frame's function its value, if it is one part of that function."""
    point = written_at(scene.running, name, index) if name.isidentifier() else None
    if point is None:
        return None
    found, is_outside = definitions(point.scope, point.node, name)
    return found[0] if len(found) == 1 and not is_outside else None


def stored(scene: Scene, node: ast.expr, index: int) -> ast.expr | None:
    """What the one line above, in the same function, puts into an item of a container."""
    scope = scene.running.scope(index)
    if scope is None or not isinstance(node, ast.Subscript):
        return None
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    found = list(puts(scope, ast.unparse(node.value), (("item", key),), scope.line))
    return found[0].value if len(found) == 1 else None


# --- modules


def wrapped(scene: Scene, line: Line, index: int) -> Line | None:
    """Of a wrapper that a line makes, the line for what it is around."""
    if not isinstance(line.value, ast.Call) or not line.value.args:
        return None
    return assigned(scene, ast.unparse(line.value.args[0]), index)


def of_attribute(scene: Scene, kind: type, name: str) -> Line | None:
    """The one line in a class and its bases that sets an attribute of its objects."""
    found = Walk(scene.running, "").keepers.of_attribute(kind, name)
    return _line(found[0]) if len(found) == 1 else None


def made_module(scene: Scene, module: nn.Module, device: str) -> str:
    """Where the outermost module, or one that isn't registered, was made; empty if unknown.

    A part of a module whose rest is on another device was put there later: where its own module
    makes it, if that says so.
    """
    is_part = scene.owners.path(module) is not None
    owner = scene.owners.keeper(module)
    late = None if owner is None else of_attribute(scene, type(owner[0]), owner[1])
    if late is not None and late.origin is not None and is_part:
        if getattr(late.origin.scope.node, "name", "") not in ("__init__", ""):
            return late.place()  # a method makes it when it is needed
    if owner is not None and (not is_part or scene.owners.has_any_on(device)):
        found = None
        if is_part:
            calls = scene.modules[:1]
            callee, index = written_callee(scene, calls[0]) if calls else ("", -1)
            path = scene.owners.path(module)
            origin = _origin(scene, f"{callee}.{path}", index, "")[0] if callee else None
            found = None if origin is None else _line(origin)
        found = found or late
        return "" if found is None else found.place()
    if is_part and scene.owners.has_any_on(device):
        return ""
    calls = [m for m in scene.modules if is_part or m.module is module]
    callee, index = written_callee(scene, calls[0]) if calls else ("", -1)
    found = assigned(scene, callee, index)
    return "" if found is None else found.place()
