"""Repairs of tensors that something keeps: a container, a field of an object, a distribution."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass

from devlint.runtime.explaining.definitions import code_of, place_of
from devlint.runtime.explaining.lookup import MISSING, Named, is_distribution, read, tensors_of
from devlint.runtime.explaining.mistakes import creation_repair, moved, moved_here
from devlint.runtime.explaining.objects import fields_of
from devlint.runtime.explaining.origins import Creation, with_device, without_device
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.source import TO_DEVICES, Source
from devlint.runtime.explaining.stack import Spot, own_name
from devlint.runtime.explaining.targets import can_be_assigned, can_be_set, device_text
from devlint.runtime.explaining.traced import assigned, defined, stored
from devlint.runtime.operands import is_tensor

# --- fields of objects


def moved_field(scene: Scene, text: str, target: str, index: int) -> str:
    """The statement that moves a value, also one in an object whose fields can't be assigned."""
    owner, _, field = text.rpartition(".")
    value = scene.value(owner, index) if can_be_assigned(text) else MISSING
    if value is not MISSING and field.isidentifier():
        change = f"{field}={text}.to({target})"
        if field in fields_of(type(value)):
            return f"{owner} = {owner}._replace({change})"
        if _is_frozen(type(value)):
            name = _named(scene.stack[index], dataclasses.replace, "replace")
            return f"{owner} = {name}({owner}, {change})" if name else moved_here(text, target)
    return moved(scene, text, target, index)


def _named(spot: Spot, function: Callable[..., object], name: str) -> str:
    """How a frame's file writes a function of a module; empty where it hasn't imported it."""
    module = function.__module__
    names = {**spot.globals, **spot.names}
    if names.get(name) is function:
        return name
    return f"{module}.{name}" if names.get(module) is sys.modules[module] else ""


def _is_frozen(kind: type) -> bool:
    options = next(
        (
            vars(base)["__dataclass_params__"]
            for base in kind.__mro__
            if "__dataclass_params__" in vars(base)
        ),
        None,
    )
    return getattr(options, "frozen", False) is True


def was_moved_without(scene: Scene, holder: str, device: str, index: int) -> bool:
    """Whether an object's own `to` has been called before, and a part of it isn't there yet."""
    value = scene.value(holder, index)
    if value is MISSING or not can_be_assigned(holder):
        return False
    held = tensors_of(holder, value, objects=True)
    if not any(named.tensor is not None and scene.is_on(named.tensor, device) for named in held):
        return False
    source = scene.source(index)
    line = scene.stack[index].line
    return any(
        node.lineno < line and holder in _moved_names(node, source)
        for node in source.nodes
        if isinstance(node, (ast.Assign, ast.Expr))
    )


def _moved_names(node: ast.Assign | ast.Expr, source: Source) -> list[str]:
    """What a statement calls the objects that it moves."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return []
    if call.func.attr not in TO_DEVICES:
        return []
    if isinstance(node, ast.Assign):
        return [source.text_of(target) for target in node.targets]
    return [source.text_of(call.func.value)]


# --- what is kept, and written in place


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a name's value is kept that is written in place later: a copy would be lost."""

    text: str
    """The item or the attribute; empty where nothing can be assigned to it."""
    line: int
    """Of the statement that gives the name its value."""
    node: ast.expr | None = None
    """Of the item or the attribute."""
    value: ast.expr | None = None
    """What a name of the file, or of a function around, was set to."""


def kept_and_written(scene: Scene, name: str, index: int) -> Kept | None:
    """Whether a name is another one for what a container, an object or a frame outside keeps, and
    the function changes in place."""
    if index < 0 or not name.isidentifier():
        return None
    source = scene.source(index)
    if not any(_writes(node, name) for node in source.nodes):
        return None
    if not can_be_set(scene, name, index):
        line = assigned(scene, name, index)
        return None if line is None else Kept("", line.line, value=line.value)
    found = defined(scene, name, index)
    setter = None if found is None else found.at
    if isinstance(setter, (ast.For, ast.AsyncFor)):
        return Kept("", setter.lineno)
    if not isinstance(setter, ast.Assign) or len(setter.targets) != 1:
        return None
    value = setter.value
    if isinstance(value, ast.Call):
        is_item = isinstance(value.func, ast.Attribute) and value.func.attr in _ITEMS
        return Kept("", setter.lineno) if is_item else None
    if not isinstance(value, (ast.Attribute, ast.Subscript)):
        return None
    if is_tensor(read(value.value, source.spot)):
        return None
    text = source.text_of(value)
    return Kept(text if can_be_assigned(text) else "", setter.lineno, value)


_ITEMS = ("get", "setdefault", "pop", "popitem")


def _writes(node: ast.AST, name: str) -> bool:
    """Whether a part of a function changes a name's value in place."""
    if isinstance(node, ast.AugAssign):
        return _root(node.target) == name
    if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        return _root(node) == name
    if isinstance(node, ast.keyword):
        return node.arg == "out" and _root(node.value) == name
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    method = node.func.attr
    is_in_place = method.endswith("_") and not method.endswith("__")
    return is_in_place and _root(node.func.value) == name


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def kept_repair(
    scene: Scene, kept: Kept, made: Creation | None, device: str, partner: Named | None, index: int
) -> str:
    """The repair of what is kept: where it is made, or else where it is kept."""
    spot = scene.stack[index]
    value = None if made is not None or kept.node is None else stored(scene, kept.node, index)
    if value is not None:
        made = without_device(value, spot, index)
    if made is None and kept.value is not None:
        outer = scene.running_at(spot.file, kept.line, index)
        made = without_device(kept.value, scene.stack[outer], outer)
    if made is not None and made.index is not None:
        return creation_repair(scene, made, device, partner)
    where = place_of(spot.file, kept.line)
    if not kept.text:
        return f"move it where it is kept or made, before {where}: a copy here wouldn't be kept"
    target = device_text(scene, index, device, "", partner)
    return f"move it where it is kept, before {where}: {kept.text} = {kept.text}.to({target})"


# --- distributions


def distribution_repair(scene: Scene, text: str, device: str, index: int) -> str:
    """How a distribution is made of tensors on a device; empty for what isn't one's tensor."""
    owner, above = "", text.rpartition(".")[0]
    while above and is_distribution(scene.value(above, index)):
        owner, above = above, above.rpartition(".")[0]
    if not owner or owner == own_name(scene.stack[index]):
        return ""
    binding = defined(scene, owner, index)
    if binding is None or binding.value is None or binding.path:
        found = assigned(scene, owner, index)
        where = "" if found is None else f" at {place_of(found.file, found.line)}"
        return f"make {owner} of tensors on {device}{where}"
    line, value = binding.value.lineno, binding.value
    where = place_of(scene.stack[index].file, line)
    target = device_text(scene, index, device, line=line)
    call = _made_on(value, device, target, scene, index)
    if not call:
        return f"make {owner} of tensors on {device} at {where}"
    return f"make it in the right place at {where}: {call}"


def _made_on(node: ast.expr, device: str, target: str, scene: Scene, index: int) -> str:
    """A call whose arguments are made, or moved, to a device; empty if they can't be told."""
    if not isinstance(node, ast.Call) or any(k.arg is None for k in node.keywords):
        return ""
    args = [_argument_on(arg, device, target, scene, index) for arg in node.args]
    values = [_argument_on(each.value, device, target, scene, index) for each in node.keywords]
    if None in args or None in values:
        return ""
    keywords = [
        ast.keyword(keyword.arg, value)
        for keyword, value in zip(node.keywords, values, strict=True)
        if value is not None
    ]
    changed = ast.Call(node.func, [arg for arg in args if arg is not None], keywords)
    return "" if ast.unparse(changed) == ast.unparse(node) else code_of(changed)


def _argument_on(
    node: ast.expr, device: str, target: str, scene: Scene, index: int
) -> ast.expr | None:
    spot = scene.stack[index]
    if isinstance(node, ast.Constant):
        return node
    value = read(node, spot)
    if type(value) in (int, float, bool):
        return node
    if is_tensor(value):
        if scene.device(value) == device:
            return node
        return ast.parse(f"{ast.unparse(node)}.to({target})", mode="eval").body
    made = without_device(node, spot, index) if isinstance(node, ast.Call) else None
    if made is not None and made.call is node:
        return ast.parse(with_device(made, target), mode="eval").body
    if isinstance(node, ast.Call):
        changed = _made_on(node, device, target, scene, index)  # a distribution of distributions
        return ast.parse(changed, mode="eval").body if changed else None
    return None
