"""The values behind source text, found without running anything of the program.

Only the dictionaries of objects are read: no property, no `__getattr__`, no `__getitem__` that
isn't Python's own or torch's.
"""

from __future__ import annotations

import ast
import builtins
from collections import OrderedDict, UserDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Protocol

from torch import Tensor, nn

from devlint.runtime.explaining.objects import STORES, fields_of, parts_of
from devlint.runtime.explaining.stack import Spot, as_module
from devlint.runtime.operands import is_tensor

MISSING: Any = object()
"""Stands for a value that can't be had so."""

_DEPTH = 3
"""Of containers that are searched for tensors."""
_WIDTH = 64
"""Items of a container that are searched."""

_VIEWS = frozenset("T mT H mH data real imag".split())
"""Attributes of a tensor that are views of it."""

SAME_PLACE = frozenset(
    "detach clone contiguous view view_as reshape flatten unflatten"
    " squeeze unsqueeze transpose permute movedim swapaxes t expand expand_as repeat narrow"
    " float double half bfloat16 int long short bool sum mean max min abs exp log sqrt pow neg"
    " softmax log_softmax sigmoid tanh relu triu tril masked_fill clamp flip roll chunk split"
    " unbind select index_select gather argmax argmin sort argsort topk round floor ceil"
    " requires_grad_ unfold repeat_interleave cumsum norm var std".split()
)
"""Methods of a tensor whose result is where the tensor is."""


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor, or what it is made from, as the program writes it."""

    text: str
    tensor: Tensor | None
    """Nothing if it takes a call to know it."""
    node: ast.AST | None = None


class Names(Protocol):
    """What knows the values of names: a frame, or a function that has ended."""

    @property
    def names(self) -> Mapping[str, Any]: ...

    @property
    def globals(self) -> Mapping[str, Any]: ...


def read(node: ast.AST, spot: Names) -> Any:
    """The value of an expression of names, attributes and items, or `MISSING`.

    Of a view of a tensor, or of what stays where the tensor is, it is the tensor itself.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        for names in (spot.names, spot.globals):
            if node.id in names:
                return names[node.id]
        return vars(builtins).get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        return attribute(read(node.value, spot), node.attr)
    if isinstance(node, ast.Subscript):
        owner = read(node.value, spot)
        return owner if is_tensor(owner) else item(owner, read(node.slice, spot))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = read(node.func.value, spot)
        return owner if is_tensor(owner) and node.func.attr in SAME_PLACE else MISSING
    if isinstance(node, ast.UnaryOp):
        value = read(node.operand, spot)
        if isinstance(node.op, ast.USub) and type(value) is int:
            return -value
        return value if is_tensor(value) else MISSING
    return MISSING


def attribute(owner: Any, name: str) -> Any:
    """An attribute that an object holds itself, or that its class holds as a plain value."""
    if owner is MISSING:
        return MISSING
    if is_tensor(owner):
        return owner if name in _VIEWS else MISSING
    held = contents(owner)
    if name in held:
        return held[name]
    shown = shown_by(held, name)
    if shown is not MISSING:
        return shown
    if as_module(owner) is not None:
        for group in ("_parameters", "_buffers", "_modules"):
            if name in (found := _dictionary(held.get(group))):
                return found[name]
    kinds = type(owner).__mro__
    for base in (*owner.__mro__, *kinds) if issubclass(type(owner), type) else kinds:
        found = vars(base).get(name, MISSING)
        if found is not MISSING:
            return _plain(found, owner)
    return MISSING


def shown_by(held: Mapping[str, Any], name: str) -> Any:
    """What an object shows as its own, and keeps in a dictionary or in another object."""
    for store in STORES:
        inner = held.get(store)
        found = dict.get(inner, name, MISSING) if isinstance(inner, dict) else MISSING
        if found is MISSING and inner is not None and not isinstance(inner, dict):
            found = shown_by(contents(inner), name)
        if found is not MISSING:
            return found
    return MISSING


def _plain(found: Any, owner: Any) -> Any:
    if type(found) is MemberDescriptorType:  # a slot
        try:
            return found.__get__(owner)
        except AttributeError:
            return MISSING
    is_computed = any("__get__" in vars(base) for base in type(found).__mro__)
    return MISSING if is_computed else found


def declared(kind: type, name: str) -> Any:
    """What a class, or the first of its bases that does, says of a name; nothing if none does."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def getter_of(owner: Any, name: str) -> FunctionType | None:
    """The function that computes an attribute of an object where it is asked for."""
    found, function = declared(type(owner), name), None
    if type(found) is property:
        function = found.fget
    elif type(found) is cached_property:
        function = found.func
    return function if type(function) is FunctionType else None


def contents(owner: Any) -> Mapping[str, Any]:
    """The attributes that an object holds itself."""
    return _held(owner) if has_plain_attributes(type(owner)) else {}


def has_plain_attributes(kind: type) -> bool:
    """Whether objects of a class keep their attributes in a dictionary that nothing computes."""
    for base in kind.__mro__:
        if "__dict__" in vars(base):
            return type(vars(base)["__dict__"]) in (GetSetDescriptorType, MemberDescriptorType)
    return False


def _held(owner: Any) -> Mapping[str, Any]:
    return _dictionary(object.__getattribute__(owner, "__dict__"))


def _dictionary(value: Any) -> Mapping[str, Any]:
    return value if type(value) in (dict, OrderedDict) else {}


def item(owner: Any, key: Any) -> Any:
    """An item of a container that Python or torch has made."""
    if type(key) not in (str, int, bool):
        return MISSING
    kind = type(owner)
    if issubclass(kind, dict):
        return dict.get(owner, key, MISSING)
    if issubclass(kind, UserDict):
        return item(contents(owner).get("data", MISSING), key)
    base = _sequence(kind)
    if base is not None and type(key) is int:
        inside = -base.__len__(owner) <= key < base.__len__(owner)
        return base.__getitem__(owner, key) if inside else MISSING
    if issubclass(kind, (nn.ModuleList, nn.Sequential, nn.ModuleDict)):
        modules = _dictionary(contents(owner).get("_modules"))
        if type(key) is int and key < 0:
            key += len(modules)
        return modules.get(str(key), MISSING)
    if issubclass(kind, (nn.ParameterList, nn.ParameterDict)):
        return _dictionary(contents(owner).get("_parameters")).get(str(key), MISSING)
    return MISSING


def _sequence(kind: type) -> Any:
    """The sequence of Python's that a class is, or is made of."""
    return next((base for base in (list, tuple, deque) if issubclass(kind, base)), None)


def tensors_of(text: str, value: Any, depth: int = 0, objects: bool = False) -> Iterator[Named]:
    """The tensors in a value: itself, or what lists, tuples, dicts and other objects hold.

    Objects that aren't containers are looked into where it is asked for: a trainer or a tokenizer
    holds much that has nothing to do with a line that names it.
    """
    kind = type(value)
    if is_tensor(value):
        yield Named(text, value)
    elif depth < _DEPTH:
        for behind, part in _parts(kind, value, objects):
            # What an object hides has the object's own name, and isn't a step further.
            yield from tensors_of(text + behind, part, depth + bool(behind), objects)


def _parts(kind: type, value: Any, objects: bool) -> Iterator[tuple[str, Any]]:
    """What a value holds, each with the text that stands behind the value's name for it."""
    if (base := _sequence(kind)) is not None:
        length = base.__len__(value)
        fields = fields_of(kind)
        for index in range(min(length, _WIDTH)):
            if index >= len(fields):
                yield f"[{index}]", item(value, index)
            elif fields[index]:
                yield f".{fields[index]}", item(value, index)
    elif issubclass(kind, dict):
        for key in list(dict.keys(value))[:_WIDTH]:
            if type(key) in (str, int):
                shown = f'"{key}"' if type(key) is str else str(key)
                yield f"[{shown}]", dict.get(value, key)
    elif issubclass(kind, UserDict):
        yield "", contents(value).get("data")
    elif objects or "_tensordict" in contents(value):
        yield from parts_of(value, contents(value))


def is_distribution(value: object) -> bool:
    """Whether a value is an object of torch.distributions, or of a class made of one."""
    return value is not MISSING and is_distribution_class(type(value))


def is_distribution_class(kind: type) -> bool:
    return any(str(base.__module__).startswith("torch.distributions") for base in kind.__mro__)


def tensors_of_distribution(text: str, value: Any, depth: int = 0) -> Iterator[Named]:
    """The tensors that a distribution keeps, and the distributions that it is made of."""
    for name, part in list(contents(value).items()):
        if name.startswith("_"):
            continue
        if is_tensor(part):
            yield Named(f"{text}.{name}", part)
        elif depth < _DEPTH and is_distribution(part):
            yield from tensors_of_distribution(f"{text}.{name}", part, depth + 1)


def locals_of(spot: Spot) -> Iterator[Named]:
    """The tensors in a frame's local names, and in what a module has of its own."""
    for name, value in spot.names.items():
        yield from tensors_of(name, value)
    for name, value in spot.names.items():
        if (module := as_module(value)) is not None:
            yield from tensors_of_module(name, module)


def tensors_of_module(text: str, module: nn.Module) -> Iterator[Named]:
    """The parameters, buffers and plain tensors of one module."""
    held = contents(module)
    for group in (_dictionary(held.get("_parameters")), _dictionary(held.get("_buffers")), held):
        for name, value in list(group.items()):
            if not name.startswith("_"):
                yield from tensors_of(f"{text}.{name}", value)


def own_tensors(
    module: nn.Module, groups: Sequence[str] = ("_parameters", "_buffers")
) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a module without its children."""
    held = contents(module)
    for group in groups:
        for name, value in list(_dictionary(held.get(group)).items()):
            if is_tensor(value):
                yield name, value


def modules_below(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """A module and all that it has registered, with their paths."""
    waiting, seen = [("", root)], {id(root)}
    kinds: dict[type, bool] = {}  # there are many more modules than classes of them
    while waiting:
        path, module = waiting.pop()
        yield path, module
        kind = type(module)
        if kind not in kinds:
            kinds[kind] = has_plain_attributes(kind)
        if not kinds[kind]:
            continue
        children = list(_dictionary(_held(module).get("_modules")).items())
        for name, child in reversed(children):  # the first one is the next to be given
            if id(child) not in seen and as_module(child) is not None:
                seen.add(id(child))
                waiting.append((f"{path}.{name}" if path else name, child))
