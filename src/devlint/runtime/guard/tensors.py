"""Tensors that a module keeps as plain attributes, where `.to()` doesn't find them."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, cast

import torch
from torch import Tensor, nn

from devlint import torchapi
from devlint.runtime.explaining.lookup import contents, modules_below, own_tensors
from devlint.runtime.explaining.scopes import unwrapped
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.guard.attributes import MOVERS, Binding, Uses, binding, parts_of
from devlint.runtime.guard.calls import named
from devlint.runtime.guard.sources import Method, methods_of
from devlint.runtime.operands import memory_of
from devlint.runtime.reader import place
from devlint.torchapi import Dims, Effect, Row

_HOST_MODULES = ("numpy", "math")
"""Libraries whose functions make what is on the CPU, or plain numbers."""

_MOVING = MOVERS | {"device", "get_device"}
_LOOKS_AT_DEVICES = frozenset({"is_available", "is_cuda", "is_cpu", "get_device", "device_count"})


@dataclass(frozen=True, slots=True)
class Plain:
    """A tensor that a module keeps and hasn't registered."""

    owner: nn.Module
    name: str
    tensor: Tensor = field(repr=False)
    stored: Binding
    """Where its class sets the attribute."""


def plain_tensors(root: nn.Module) -> Iterator[Plain]:
    """The tensors of a module, and of those below it, that their classes make on the CPU."""
    registered: set[int | None] | None = None
    for _, module in modules_below(root):
        for name, value in list(contents(module).items()):
            if type(value) is not Tensor or not _may_be_left_behind(value):
                continue
            if registered is None:
                registered = {memory_of(tensor) for tensor in registered_tensors(root)}
            stored = _made_on_cpu(cast(Any, type(module)), name)
            if stored is not None and memory_of(value) not in registered:
                yield Plain(module, name, value, stored)


def registered_tensors(root: nn.Module) -> Iterator[Tensor]:
    """The parameters and buffers of a module and of those below it."""
    for _, module in modules_below(root):
        for _, tensor in own_tensors(module):
            yield tensor


def _may_be_left_behind(tensor: Tensor) -> bool:
    return (
        tensor.layout is torch.strided
        and not tensor.is_quantized
        and tensor.dim() > 0
        and tensor.numel() > 0
        and place(tensor).type == "cpu"
    )


@lru_cache(maxsize=512)
def _made_on_cpu(kind: type, name: str) -> Binding | None:
    """Where a class makes a tensor on the CPU, whatever device is in use.

    Nothing unless that is the only place that stores the attribute, and nothing in the class moves
    it or looks which devices there are.
    """
    methods = methods_of(kind)
    bound = None if methods is None else binding(methods, name)
    if methods is None or bound is None:
        return None
    for method in methods:
        uses = Uses(method, name, holds="tensor")
        if uses.moves or _looks_at_devices(method):
            return None
        if any(_may_move(method, methods, call) for call in uses.calls):
            return None
    if bound.method.is_under_with(bound.statement):
        return None
    return bound if makes(bound.method, bound.value) else None


def _looks_at_devices(method: Method) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in _LOOKS_AT_DEVICES for node in method.nodes
    )


def _may_move(method: Method, methods: tuple[Method, ...], call: ast.Call) -> bool:
    """Whether a function may move what it is given.

    Torch's own, methods of tensors, and modules don't.
    """
    function = method.value_of(call.func)
    if function is not None:
        return _moves_something(function)
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        return any(
            _moves_something(other.function)
            for other in methods
            if other.name == name and method.is_attribute(call.func, name)
        )
    return True  # a local name


def _moves_something(function: object, depth: int = 0) -> bool:
    """Whether a function moves something, or calls one that does."""
    function = unwrapped(function)
    if type(function) is not FunctionType:
        is_plain = isinstance(function, (type, BuiltinFunctionType))
        return not is_plain and not str(getattr(function, "__module__", "")).startswith("torch")
    code = function.__code__
    if owner_of(code.co_filename) == "torch":
        return False
    if depth > 4 or _MOVING & set(code.co_names):
        return True
    if any(type(part) is CodeType for part in code.co_consts):
        return True
    called = (function.__globals__.get(name) for name in code.co_names)
    return any(_moves_something(each, depth + 1) for each in called if type(each) is FunctionType)


def makes(method: Method, node: ast.expr | None, depth: int = 0) -> bool:
    """Whether the value of an expression is a tensor on the CPU, whatever else there is."""
    if node is None or depth > 6:
        return False
    if isinstance(node, ast.Name):
        values = method.assigned(node.id)
        return bool(values) and all(makes(method, value, depth + 1) for value in values)
    if isinstance(node, ast.UnaryOp):
        return makes(method, node.operand, depth + 1)
    if isinstance(node, (ast.Subscript, ast.IfExp)):
        return all(makes(method, part, depth + 1) for part in parts_of(node))
    if isinstance(node, ast.BinOp):
        return any(
            makes(method, one, depth + 1)
            and (_is_number(method, other) or not _may_be_scalar(method, one))
            for one, other in ((node.left, node.right), (node.right, node.left))
        )
    return isinstance(node, ast.Call) and _call_makes(method, node, depth)


def _call_makes(method: Method, call: ast.Call, depth: int) -> bool:
    if any(keyword.arg in (None, "device", "like", "out") for keyword in call.keywords):
        return False
    row = _row(method.value_of(call.func))
    if row is not None:
        if row.effect is Effect.CREATE:
            return _creates(method, call, row, depth)
        if row.effect in (Effect.KEEP, Effect.JOIN) and call.args:
            first = call.args[0]
            items = first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]
            return any(
                makes(method, item, depth + 1)
                and (row.effect is Effect.KEEP or not _may_be_scalar(method, item))
                for item in items
            )
        return False
    if isinstance(call.func, ast.Attribute):
        row = torchapi.load().get(f"torch.Tensor.{call.func.attr}")
        stays = row is not None and row.effect in (Effect.KEEP, Effect.JOIN)
        return stays and makes(method, call.func.value, depth + 1)
    return False


def _may_be_scalar(method: Method, node: ast.AST) -> bool:
    """Whether the value of an expression may be 0-dimensional, and so go where others are."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript):
            return True
        if isinstance(part, ast.Call):
            row = _row(method.value_of(part.func))
            if row is None and isinstance(part.func, ast.Attribute):
                row = torchapi.load().get(f"torch.Tensor.{part.func.attr}")
            if row is not None and row.dims in (Dims.NONE, Dims.REDUCE):
                return True
            if any(isinstance(arg, (ast.Tuple, ast.List)) and not arg.elts for arg in part.args):
                return True
    return False


def _creates(method: Method, call: ast.Call, row: Row, depth: int) -> bool:
    """Whether a call of a constructor gives a tensor on the CPU that isn't 0-dimensional."""
    if row.to not in ("", "cpu"):
        return False
    if not row.data:
        return row.dims is not Dims.NONE
    given = [call.args[arg] for arg in row.data if type(arg) is int and arg < len(call.args)]
    given += [keyword.value for keyword in call.keywords if keyword.arg in row.data]
    return len(given) == 1 and _is_on_host(method, given[0], depth)


def _is_on_host(method: Method, node: ast.expr | None, depth: int) -> bool:
    """Whether an expression holds several numbers, and no tensor that is elsewhere."""
    if node is None or depth > 6:
        return False
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
        items = parts_of(node)
        return bool(items) and all(
            _is_number(method, each) or _is_on_host(method, each, depth + 1) for each in items
        )
    if isinstance(node, ast.BinOp):
        return any(_is_on_host(method, each, depth + 1) for each in (node.left, node.right))
    if isinstance(node, ast.Call):
        function = method.value_of(node.func)
        if function in (list, tuple, range):
            return function is range or _is_on_host(method, node.args[0], depth + 1)
        return str(getattr(function, "__module__", "")).partition(".")[0] in _HOST_MODULES
    if isinstance(node, ast.Name):
        if node.id in method.parameters:
            is_given = len(method.assigned(node.id)) == 1
            return is_given and _is_sequence(*method.parameters[node.id])
        values = method.assigned(node.id)
        return bool(values) and all(_is_on_host(method, value, depth + 1) for value in values)
    return False


def _is_number(method: Method, node: ast.expr) -> bool:
    """Whether an expression can be nothing but a number: of constants, and arithmetic."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, bool, complex)
    if isinstance(node, ast.UnaryOp):
        return _is_number(method, node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(method, node.left) and _is_number(method, node.right)
    if isinstance(node, ast.Call):
        function = method.value_of(node.func)
        return function in (int, float, len) or getattr(function, "__module__", "") == "math"
    return False


def _is_sequence(annotation: ast.expr | None, default: ast.expr | None) -> bool:
    """Whether a parameter is said to be a list or a tuple of numbers."""
    if isinstance(default, (ast.List, ast.Tuple)):
        return annotation is None or "Tensor" not in ast.unparse(annotation)
    if annotation is None:
        return False
    text = ast.unparse(annotation)
    words = set(re.findall(r"[\w.]+", text if "[" in text else text.rpartition(".")[2]))
    return words <= _SEQUENCES | {"float", "int", "..."} and bool(words & _SEQUENCES)


_SEQUENCES = {"list", "tuple", "List", "Tuple", "Sequence"}


def _row(function: Any) -> Row | None:
    """What is known of a function of torch."""
    return named(function)[1] if isinstance(function, Hashable) and callable(function) else None
