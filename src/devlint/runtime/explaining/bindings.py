"""Where a value came from, as the source tells it: the line that gave a name or an attribute it.

A name is followed through the functions that it was handed to. Nothing is said where more than
one line may have been the one.
"""

from __future__ import annotations

import ast
from inspect import CO_VARKEYWORDS
from types import CodeType, FunctionType

from torch import Tensor, nn

from devlint.runtime.explaining.addresses import written_callee
from devlint.runtime.explaining.elsewhere import (
    Line,
    is_empty,
    of_attribute,
    of_global,
    of_result,
    set_from_outside,
    value_of,
)
from devlint.runtime.explaining.lookup import MISSING, function_of, getter_of, read
from devlint.runtime.explaining.reaching import (
    are_later,
    gone_through,
    reaching,
    setter_of,
    statement_of,
)
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import binds, parameters
from devlint.runtime.explaining.stack import Spot, as_module, has_method, own_name
from devlint.runtime.operands import is_tensor

_STEPS = 6
"""Functions that a value is followed through."""


def assigned(scene: Scene, text: str, index: int) -> Line | None:
    """The line that gave an expression's name or attribute its value.

    Args:
        scene: what was going on.
        text: the expression, as the line of a frame writes it.
        index: of that frame.
    """
    if index < 0:
        return None
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return _of(scene, node, index, _STEPS)


def wrapped(scene: Scene, line: Line, index: int) -> Line | None:
    """Of a wrapper that a line makes, the line for what it is around."""
    if not isinstance(line.value, ast.Call) or not line.value.args:
        return None
    return assigned(scene, ast.unparse(line.value.args[0]), index)


def made_module(scene: Scene, module: nn.Module, device: str) -> str:
    """Where the outermost module, or one that isn't registered, was made; empty if unknown.

    A part of a module whose rest is on another device was put there later: where its own module
    makes it, if that says so.
    """
    is_part = scene.owners.path(module) is not None
    owner = scene.owners.keeper(module)
    if owner is not None and (not is_part or scene.owners.has_any_on(device)):
        found = of_attribute(type(owner[0]), owner[1], scene.user)
        if is_part:
            files = {spot.file for spot in scene.stack if spot.owner == scene.user}
            later = set_from_outside(sorted(files), owner[1])
            found = later[0] if len(later) == 1 else None if later else found
        return "" if found is None else found.place()
    if is_part and scene.owners.has_any_on(device):
        return ""
    calls = [m for m in scene.modules if is_part or m.module is module]
    callee, index = written_callee(scene, calls[0]) if calls else ("", -1)
    found = assigned(scene, callee, index)
    return "" if found is None else found.place()


def _of(scene: Scene, node: ast.expr, index: int, steps: int) -> Line | None:
    """Of a part of something, it is the line for the whole."""
    spot = scene.stack[index]
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and (line := stored(scene, node, index)):
            return line
        if isinstance(node, ast.Attribute):
            owner = read(node.value, spot)
            if (getter := getter_of(owner, node.attr)) is not None:
                return of_result(getter, scene.user)
            found = None if owner is MISSING else of_attribute(type(owner), node.attr, scene.user)
            if found is not None:
                return found
            if owner is MISSING or isinstance(owner, nn.Module) or _is_own(node.value, spot):
                return None
            node = node.value
        elif key := _keyword_of(node, spot.code):
            return _of_argument(scene, key, index, steps - 1) if steps else None
        elif isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and is_tensor(read(node.func.value, spot)):
                node = node.func.value
                continue
            called = function_of(node.func, spot)
            return None if called is None else of_result(called, scene.user)
        else:
            return None
    return _of_name(scene, node.id, index, steps)


def _keyword_of(node: ast.expr, code: CodeType) -> str:
    """The name of an argument that a function takes from its `**kwargs`."""
    names = parameters(code) if code.co_flags & CO_VARKEYWORDS else ()
    if not names or not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return ""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if node.value.id == names[-1] and isinstance(key, str) else ""


def _is_own(node: ast.expr, spot: Spot) -> bool:
    return isinstance(node, ast.Name) and node.id == own_name(spot)


def stored(scene: Scene, node: ast.expr, index: int) -> Line | None:
    """The one line above, in the same function, that puts an item into a container."""
    source = scene.source(index)
    text = ast.unparse(node)
    found = [
        part
        for part in source.nodes
        if isinstance(part, ast.Assign)
        and part.lineno < source.spot.line
        and any(isinstance(t, ast.Subscript) and ast.unparse(t) == text for t in part.targets)
    ]
    if len(found) != 1 or not scene.is_users(index):
        return None
    if is_tensor(read(getattr(node, "value", node), source.spot)):
        return None
    return Line(source.spot.file, found[0].lineno, found[0].value)


def _of_name(scene: Scene, name: str, index: int, steps: int) -> Line | None:
    spot, source = scene.stack[index], scene.source(index)
    if not steps:
        return None
    value = spot.names.get(name)
    sets = [
        node
        for node in source.nodes
        if binds(node, name)
        and not (is_tensor(value) and _puts_elsewhere(scene, node, value, index))
    ]
    if sets:
        is_only = len(sets) == 1 and name not in parameters(spot.code)
        if is_only and (found := _of_comprehension(scene, sets[0], name, index, steps)):
            return found
        setter = statement_of(source, sets[0]) if is_only else reaching(source, sets)
        if setter is not None:
            return _line(scene, setter, name, index, steps)
        if name not in parameters(spot.code) or not are_later(source, sets):
            return None
    if name in parameters(spot.code):
        return _of_argument(scene, name, index, steps - 1)
    if name in spot.code.co_freevars:
        return _of_outer(scene, name, index, steps)
    is_global = spot.code.co_name != "<module>" and name in spot.code.co_names
    is_global = is_global and scene.is_users(index)
    return of_global(spot.file, name) if is_global else None


def _puts_elsewhere(scene: Scene, target: ast.AST, tensor: Tensor, index: int) -> bool:
    """Whether the value that a target gets is on a device, by its last words, and not there."""
    source, device = scene.source(index), scene.device(tensor)
    value = value_of(source.tree, target)
    if not isinstance(value, ast.Call):
        return False
    method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    if method in ("cpu", "cuda", "xpu"):
        return not device.startswith(method)
    given = [keyword.value for keyword in value.keywords if keyword.arg == "device"]
    given += value.args[:1] if method == "to" else []
    asked = str(read(given[0], source.spot)) if given else ""
    return asked.partition(":")[0] in ("cpu", "cuda", "xpu", "mps") and not device.startswith(asked)


def _line(scene: Scene, setter: ast.stmt, name: str, index: int, steps: int) -> Line | None:
    """The line of a statement that sets a name; of a loop over a list it is that of the list."""
    spot = scene.stack[index]
    if not scene.is_users(index):
        return None
    if isinstance(setter, (ast.Assign, ast.AnnAssign)):
        targets = setter.targets if isinstance(setter, ast.Assign) else [setter.target]
        is_whole = len(targets) == 1 and isinstance(targets[0], ast.Name)
        if is_whole and is_empty(setter.value):
            return None
        if is_whole and isinstance(setter.value, ast.Subscript):
            above = stored(scene, setter.value, index)
            if above is not None:
                return above
        if is_whole and isinstance(setter.value, ast.Attribute):
            if _is_own(setter.value.value, spot):
                kind = type(read(setter.value.value, spot))
                found = of_attribute(kind, setter.value.attr, scene.user)
                return found or Line(spot.file, setter.lineno)
        return Line(spot.file, setter.lineno, setter.value if is_whole else None)
    own = Line(spot.file, setter.lineno)
    if isinstance(setter, (ast.For, ast.AsyncFor)):
        part = gone_through(setter.target, setter.iter, name)
        if (module := _module_of(part, spot)) is not None:
            return _of(scene, module, index, steps) or own
        if type(read(part, spot)) in (list, tuple, dict):
            inner = setter_of(scene.source(index), part.id) if isinstance(part, ast.Name) else None
            if isinstance(part, ast.Attribute) or isinstance(inner, ast.For):
                return _of(scene, part, index, steps) or own
    return own


def _of_comprehension(
    scene: Scene, target: ast.AST, name: str, index: int, steps: int
) -> Line | None:
    """Of a name of a comprehension over a tensor's parts: where that tensor comes from."""
    spot, source = scene.stack[index], scene.source(index)
    outer = scene.stack[index - 1] if index else spot
    place = index - 1 if spot.code in outer.code.co_consts else index  # up to Python 3.11
    for node in source.nodes:
        if isinstance(node, ast.comprehension) and any(n is target for n in ast.walk(node.target)):
            part = gone_through(node.target, node.iter, name)
            if is_tensor(read(part, scene.stack[place])):
                return _of(scene, part, place, steps - 1)
    return None


def _module_of(node: ast.expr, spot: Spot) -> ast.expr | None:
    """The module whose parameters, or parts, a loop goes through: where it is they are."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr.removeprefix("named_") not in ("parameters", "buffers", "modules"):
        return None
    return node.func.value if as_module(read(node.func.value, spot)) is not None else None


def _of_outer(scene: Scene, name: str, index: int, steps: int) -> Line | None:
    """Of a name of a function around this one, if that is running."""
    value = scene.stack[index].names.get(name, MISSING)
    for outer in range(index - 1, -1, -1):
        spot = scene.stack[outer]
        if spot.names.get(name, MISSING) is value and name in spot.code.co_cellvars:
            return _of_name(scene, name, outer, steps)
    return None


def _of_argument(scene: Scene, name: str, index: int, steps: int) -> Line | None:
    """Of a parameter: what the calling line has for it."""
    outer = index - 1
    while outer >= 0 and scene.stack[outer].owner == "torch":
        code = scene.stack[outer].code
        if "args" not in (*code.co_varnames, *code.co_freevars):
            return None  # it doesn't hand on what it was given
        outer -= 1
    call = scene.failing_call(outer)
    if call is None:
        return None
    if outer == index - 1 and not _is_call_of(call, scene.stack[outer], scene.stack[index].code):
        return None
    names = parameters(scene.stack[index].code)
    is_bound = bool(own_name(scene.stack[index]))
    if outer == index - 1:
        is_bound = _is_bound(call, scene.stack[outer], scene.stack[index].code)
    for keyword in call.keywords:
        if keyword.arg == name:
            return _of(scene, keyword.value, outer, steps)
    place = names.index(name) - is_bound if name in names else -1
    given = call.args[: place + 1]
    starred = next((arg for arg in given if isinstance(arg, ast.Starred)), None)
    if starred is not None:
        return _of(scene, starred.value, outer, steps)
    if len(given) == place + 1 and place >= 0:
        return _of(scene, given[place], outer, steps)
    unpacked = [keyword.value for keyword in call.keywords if keyword.arg is None]
    return _of(scene, unpacked[0], outer, steps) if len(unpacked) == 1 else None


def _is_bound(call: ast.Call, spot: Spot, code: CodeType) -> bool:
    """Whether a function gets the object that it is called on as its first argument."""
    value = read(call.func, spot)
    if isinstance(value, type) or code.co_name == "__call__":
        return True
    owner = read(call.func.value, spot) if isinstance(call.func, ast.Attribute) else MISSING
    if owner is MISSING or type(value) is FunctionType:
        return parameters(code)[:1] == ("self",)
    return has_method(type(owner), code)


def _is_call_of(call: ast.Call, spot: Spot, code: CodeType) -> bool:
    """Whether a line calls a function itself: `map` and its like do it with arguments of theirs."""
    value = read(call.func, spot)
    if isinstance(value, type):
        return code.co_name == "__init__"
    if type(value) is FunctionType:
        return value.__code__ is code
    if code.co_name == "__call__" and value is not MISSING:
        return has_method(type(value), code)
    if not isinstance(call.func, ast.Attribute) or call.func.attr != code.co_name:
        return False
    return not isinstance(read(call.func.value, spot), type)  # `Class.method(object, ...)`
