"""Objects that hold tensors: what batches, packed sequences and data classes are made of.

Dictionaries and slots are read, and no method, property or descriptor of a program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType, MemberDescriptorType
from typing import Any

from torch import nn
from torch.nn.utils.rnn import PackedSequence

from devlint.runtime.explaining.definitions import definition_of
from devlint.runtime.operands import is_tensor

_WIDTH = 64
"""Attributes of an object that are looked at."""

STORES = ("_tensordict", "_store", "_mapping")
"""Where objects keep, in a dictionary or an object, what they show as their own."""


def parts_of(value: object, held: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What an object keeps as plain attributes, each with the text behind the object's name.

    `held` is the object's own dictionary.
    """
    if not is_plain_object(value):
        return
    for name, part in [*held.items(), *_slots(value)][:_WIDTH]:
        if name in STORES:
            yield "", part
        elif not name.startswith("_"):
            yield f".{name}", part


def fields_of(kind: type) -> tuple[str, ...]:
    """The names of a named tuple's items, all of which have to be in one place."""
    fields = next((vars(base)["_fields"] for base in kind.__mro__ if "_fields" in vars(base)), ())
    if not isinstance(fields, tuple) or not all(type(field) is str for field in fields):
        return ()
    if issubclass(kind, PackedSequence):  # the sizes of its batches stay on the CPU
        return tuple("" if field == "batch_sizes" else field for field in fields)
    return fields


def is_movable(value: object) -> bool:
    """Whether an object other than a tensor or a module has a method `to` of its own."""
    kind = type(value)
    if is_tensor(value) or issubclass(kind, nn.Module) or kind.__module__ in _NOT_DATA:
        return False
    found = next((vars(base)["to"] for base in kind.__mro__ if "to" in vars(base)), None)
    return type(found) is FunctionType


def moves_itself(value: object) -> bool:
    """Whether an object's own method `to` gives nothing back."""
    if not is_movable(value):
        return False
    method = next(vars(base)["to"] for base in type(value).__mro__ if "to" in vars(base))
    tree = definition_of(method.__code__)
    parts = [] if tree is None else list(ast.walk(tree))
    returns = [part for part in parts if isinstance(part, ast.Return)]
    return bool(parts) and not any(part.value is not None for part in returns)


def is_array(value: object) -> bool:
    """Whether a value is numbers that aren't in a tensor yet: an array, or a list of them."""
    kind = type(value)
    if is_tensor(value) or issubclass(kind, nn.Module):
        return False
    return hasattr(kind, "__array_interface__") or kind in (list, tuple, int, float)


def is_plain_object(value: object) -> bool:
    """Whether a value is an object of a program's own class that isn't a module."""
    kind = type(value)
    if is_tensor(value) or issubclass(kind, (nn.Module, type, BaseException)):
        return False
    return kind.__module__.partition(".")[0] not in _NOT_DATA


_NOT_DATA = ("builtins", "torch", "functools", "types", "inspect", "threading", "devlint")
"""Rooms whose classes aren't a program's data."""


def _slots(value: object) -> Iterator[tuple[str, Any]]:
    for base in type(value).__mro__:
        for name, member in list(vars(base).items()):
            if type(member) is MemberDescriptorType:
                try:
                    yield name, member.__get__(value)
                except AttributeError:  # not set
                    continue
