"""Which part of an expression says where its result is: `a * 2 + b` is where `a` and `b` are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from devlint.runtime.explaining.expressions import is_number
from devlint.runtime.explaining.lookup import (
    MISSING,
    Named,
    is_distribution,
    is_distribution_class,
    read,
    tensors_of,
    tensors_of_distribution,
)
from devlint.runtime.explaining.places import name_of
from devlint.runtime.explaining.source import ELSEWHERE, MOVES, Source
from devlint.runtime.operands import is_tensor

_ROOMS = (torch, torch.nn.functional, torch.linalg, torch.special, torch.fft)
"""Modules of functions whose result is where the tensors are that they are given."""

Where = Callable[[Tensor], str]


class _UnclearError(Exception):
    """A part may put the result anywhere."""


def deciding(node: ast.AST | None, source: Source, where: Where, device: str = "") -> Named | None:
    """The first tensor that an expression's result is on the device of.

    Nothing if its parts are on several devices, or something in it may move what it gives. Of the
    parts of a distribution, which may be anywhere, those on `device` count if one is given.
    """
    if node is None:
        return None
    try:
        parts = [named for named in _parts(node, source) if _counts(named, where)]
    except _UnclearError:
        return None
    if device and _makes_distribution(node, source):
        parts = [each for each in parts if each.tensor is not None and where(each.tensor) == device]
    places = {where(named.tensor) for named in parts if named.tensor is not None}
    return parts[0] if len(places) == 1 else None


def _counts(named: Named, where: Where) -> bool:
    """Whether a part says where the rest is: a number of the CPU may come along anywhere."""
    tensor = named.tensor
    return tensor is not None and (tensor.dim() > 0 or where(tensor) != "cpu")


def _parts(node: ast.AST, source: Source) -> Iterator[Named]:
    if isinstance(node, (ast.Constant, ast.Slice)):
        return
    if isinstance(node, ast.BinOp):
        yield from _parts(node.left, source)
        yield from _parts(node.right, source)
    elif isinstance(node, ast.Compare):
        for part in (node.left, *node.comparators):
            yield from _parts(part, source)
    elif isinstance(node, ast.UnaryOp):
        yield from _parts(node.operand, source)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for part in node.elts:
            yield from _parts(part, source)
    elif isinstance(node, ast.Call):
        yield from _of_call(node, source)
    else:
        yield from _of_name(node, source)


def _of_name(node: ast.AST, source: Source) -> Iterator[Named]:
    value = read(node, source.spot)
    if isinstance(node, ast.Subscript) and (value is MISSING or _is_of_tensor(node, source)):
        yield from _parts(node.value, source)  # an index says nothing
    elif isinstance(node, ast.Attribute) and is_tensor(read(node.value, source.spot)):
        if node.attr in _WITH_THE_TENSOR:
            yield from _of_name(node.value, source)  # a gradient is where its tensor is
        elif node.attr not in _NUMBERS:
            raise _UnclearError
    elif is_tensor(value):
        yield Named(source.text_of(node), value, node)
    elif type(value) in (list, tuple) and all(map(is_tensor, value)):
        yield from tensors_of(source.text_of(node), value)
    elif is_distribution(value):
        yield from tensors_of_distribution(source.text_of(node), value)
    elif type(value) not in (int, float, bool, complex, torch.dtype, torch.Size, str, type(None)):
        raise _UnclearError


def _is_of_tensor(node: ast.Subscript, source: Source) -> bool:
    return is_tensor(read(node.value, source.spot))


_WITH_THE_TENSOR = ("grad", "T", "mT", "H", "mH", "real", "imag", "data")
_NUMBERS = ("shape", "ndim", "dtype")


def _of_call(node: ast.Call, source: Source) -> Iterator[Named]:
    if is_number(node, source.spot):
        return
    if any(keyword.arg in ("device", "out", None) for keyword in node.keywords):
        raise _UnclearError
    name = name_of(node)
    if name in ELSEWHERE and not (name in MOVES and _is_cast(node, source)):
        raise _UnclearError
    called = read(node.func, source.spot)
    if called is MISSING and isinstance(node.func, ast.Attribute):
        yield from _parts(node.func.value, source)
    elif not _makes_distribution(node, source) and not any(
        getattr(room, name, MISSING) is called for room in _ROOMS
    ):
        raise _UnclearError
    for part in node.args:
        if not isinstance(part, ast.Starred):
            yield from _parts(part, source)
    for keyword in node.keywords:
        yield from _parts(keyword.value, source)


def _makes_distribution(node: ast.AST, source: Source) -> bool:
    called = read(node.func, source.spot) if isinstance(node, ast.Call) else None
    return isinstance(called, type) and is_distribution_class(called)


def _is_cast(move: ast.Call, source: Source) -> bool:
    """Whether a move is given nothing but types of numbers: `x.to(y.dtype)`."""
    return bool(move.args) and all(_is_dtype(part, source) for part in move.args)


def _is_dtype(node: ast.expr, source: Source) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        return True
    return type(read(node, source.spot)) is torch.dtype
