"""Calls that decide where a tensor is: those that make one, move one, or load one."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any

import torch

from devlint.runtime.explaining.given import bound, parameter_names
from devlint.runtime.explaining.lookup import MISSING
from devlint.runtime.explaining.scopes import Scope
from devlint.runtime.explaining.source import MAKERS
from devlint.runtime.operands import is_tensor

_MAKERS = tuple(getattr(torch, name) for name in MAKERS if hasattr(torch, name))
_DEVICE = type(torch.device("cpu"))
KINDS = ("cpu", "cuda", "xpu", "mps", "meta")
_COPIES = ("as_tensor", "asarray")
"""Makers that keep a tensor where it is."""


def name_of(call: ast.Call) -> str:
    """The name of the function, or of the method, that is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_maker(value: Any) -> bool:
    value = inspect.unwrap(value) if type(value) is FunctionType else value  # one that notes
    return any(value is maker for maker in _MAKERS)


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def place_named(scope: Scope, node: ast.expr | None, where: Any) -> str:
    """The device that an expression stands for; empty where that isn't known."""
    if node is None:
        return ""
    if isinstance(node, ast.Attribute) and node.attr == "device":
        value = scope.value(node.value)
        if is_tensor(value):
            return str(where(value))
    value = scope.value(node)
    if value is MISSING and isinstance(node, ast.Name) and scope.given is not None:
        names = () if isinstance(scope.node, ast.Module) else parameter_names(scope.node)
        point = bound(scope.node, scope.given, node.id, ()) if node.id in names else None
        return "" if point is None or point.path else place_named(point.scope, point.node, where)
    if isinstance(node, ast.Call) and name_of(node) == "device" and node.args:
        value = scope.value(node.args[0])
    if is_tensor(value):
        return str(where(value))
    if type(value) is int:
        return f"cuda:{value}"
    text = str(value) if type(value) in (str, _DEVICE) else ""
    return text if text.partition(":")[0] in KINDS else ""


def made_on(scope: Scope, call: ast.Call, where: Any) -> str | None:
    """Where a call makes a tensor, empty if unknown; nothing for a call that makes none."""
    value, name = scope.value(call.func), name_of(call)
    if not (is_maker(value) or (value is MISSING and name in MAKERS and _is_of_torch(scope, call))):
        return None
    given = keyword(call, "device")
    if given is not None:
        return place_named(scope, given, where)
    if any(k.arg is None for k in call.keywords):
        return ""
    if name in _COPIES and call.args and is_tensor(scope.value(call.args[0])):
        return str(where(scope.value(call.args[0])))
    is_within = any(isinstance(node, ast.With) for node in scope.text.around(call))
    return "" if is_within or _default() != "cpu" else "cpu"


def _default() -> str:
    """The type of the default device."""
    try:
        return torch.get_default_device().type
    except AttributeError:  # torch 2.4, where None was set: there is none any more
        return "cpu"


def _is_of_torch(scope: Scope, call: ast.Call) -> bool:
    """Whether a function is written as one of torch's, where no values are known."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == "torch" and "torch" not in scope.names


def moved_to(scope: Scope, call: ast.Call, where: Any) -> str | None:
    """Where a method moves what it is called on, empty if unknown; nothing for one that doesn't."""
    if not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.attr
    if name == "cpu":
        return "cpu"
    if name in ("cuda", "xpu"):
        first = call.args[0] if call.args else keyword(call, "device")
        return place_named(scope, first, where) or name
    if name == "type_as" and call.args:
        return place_named(scope, call.args[0], where)
    if name != "to":
        return None
    given = keyword(call, "device")
    if given is None:
        given = call.args[0] if call.args else None
    if given is None or _is_type(scope, given):
        return None
    return place_named(scope, given, where)


def _is_type(scope: Scope, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute) and node.attr in ("dtype", "memory_format"):
        return True
    value = scope.value(node)
    return isinstance(value, (torch.dtype, torch.memory_format))


def loaded_to(scope: Scope, call: ast.Call, where: Any) -> str | None:
    """Where `torch.load` puts what it reads; nothing for other calls."""
    if name_of(call) != "load" or scope.value(call.func) not in (torch.load, MISSING):
        return None
    if scope.value(call.func) is MISSING and not _is_of_torch(scope, call):
        return None
    given = keyword(call, "map_location")
    return place_named(scope, given, where)


def can_be(place: str, device: str) -> bool:
    """Whether what is on a place can be what is on a device; empty ones may be any."""
    if not place or not device:
        return True
    kind, _, number = place.partition(":")
    wanted, _, wanted_number = device.partition(":")
    return kind == wanted and (not number or not wanted_number or number == wanted_number)
