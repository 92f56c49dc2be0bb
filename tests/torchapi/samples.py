"""Arguments with which an operator of the table can be called: found by trying."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from devlint import torchapi
from devlint.torchapi import Arg, Effect, Row

TABLE = torchapi.load()
ROWS = {name: row for name in TABLE.rows if name.startswith("torch.") and (row := TABLE.get(name))}
"""Every row that speaks of torch, patterns left out."""


def of_effect(*effects: Effect) -> Iterator[tuple[str, Row]]:
    return ((name, row) for name, row in ROWS.items() if row.effect in effects)


_FILLS: tuple[Callable[[], Tensor], ...] = (
    lambda: torch.rand(2, 2) * 0.4 + 0.3,
    lambda: torch.rand(2) * 0.4 + 0.3,
    lambda: torch.tensor([0, 1]),
    lambda: torch.tensor([[0, 1], [1, 0]]),
    lambda: torch.ones(2, 2, dtype=torch.bool),
    lambda: torch.rand(2, 2, 2),
    lambda: torch.rand(2, 2, 2, 2),
    lambda: torch.rand(()),
    lambda: torch.rand(2, 3),
    lambda: torch.rand(1),
)
_PADS: tuple[tuple[Any, ...], ...] = ((), (0,), (1,), (0, 0), (2,), ((2, 2),), (0, 1), ((0,), (0,)))
"""What to put after the tensors: nothing, a dimension, a size ..."""

REFUSALS = (
    RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError, KeyError,
    ArithmeticError,
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """`function(*args)` works; `places` are the positions of the tensors that the row speaks of."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    places: tuple[int, ...]

    def call(self, args: Sequence[Any] | None = None) -> Any:
        with torch.no_grad():
            return self.function(*(self.args if args is None else args))

    def mapped(self, change: Callable[[int, Tensor], Tensor]) -> list[Any]:
        """The arguments, each tensor (also in a list) changed by `change(position, tensor)`."""

        def each(position: int, value: Any) -> Any:
            if isinstance(value, Tensor):
                return change(position, value)
            if isinstance(value, list):
                return [change(position, item) for item in value]
            return value

        return [each(position, value) for position, value in enumerate(self.args)]


@cache
def resolve(name: str) -> Any:
    """The object of a dotted name.

    Raises:
        ImportError: there is none.
    """
    parts = name.split(".")
    found: Any = importlib.import_module(parts[0])
    for count, part in enumerate(parts[1:], 2):
        found = (
            getattr(found, part)
            if hasattr(found, part)
            else importlib.import_module(".".join(parts[:count]))
        )
    return found


def is_method(name: str) -> bool:
    return name.startswith("torch.Tensor.")


def position(parameter: tuple[Arg, ...], method: bool) -> int | None:
    """Where a parameter stands in the call of the plain function, `self` counted; None: keyword."""
    if parameter == ("self",):
        return 0
    found = next((arg for arg in parameter if isinstance(arg, int)), None)
    return found if found is None else found + method


def find(
    row: Row, parameters: Sequence[tuple[Arg, ...]], like: Sample | None = None
) -> Sample | None:
    """A sample for a row whose tensors are `parameters`, or None where trying finds none.

    `like` is tried first: what a method takes, the function of that name most likely takes too.
    """
    function = resolve(row.name)
    if not callable(function):
        return None
    if tuple(parameters) == (("*",),):
        return _first(function, _variadic())
    places = [position(parameter, is_method(row.name)) for parameter in parameters]
    known = [place for place in places if place is not None]
    if like is not None and set(like.places) <= set(known):
        sample = _first(function, iter([(like.args, like.places)]))
        if sample is not None:
            return sample
    for count in range(len(known), 0, -1):
        sample = _first(function, _tries(tuple(known[:count])))
        if sample is not None:
            return sample
    return None


def _first(
    function: Callable[..., Any], tries: Iterator[tuple[tuple[Any, ...], tuple[int, ...]]]
) -> Sample | None:
    for args, places in tries:
        torch.default_generator.manual_seed(0)  # `torch.manual_seed` formats a stack each time
        sample = Sample(function, args, places)
        try:
            sample.call(sample.mapped(lambda _, tensor: tensor.clone()))
        except REFUSALS:
            continue
        return sample
    return None


def _variadic() -> Iterator[tuple[tuple[Any, ...], tuple[int, ...]]]:
    for fill in _FILLS:
        yield (fill(), fill()), (0, 1)
    yield ("ij,jk->ik", torch.rand(2, 2), torch.rand(2, 2)), (1, 2)


def _choices(count: int) -> Iterator[tuple[Callable[[], Tensor], ...]]:
    """All alike, then one that differs from the others."""
    if count > 5:
        return
    yield from ((fill,) * count for fill in _FILLS)
    for fill, other, at in itertools.product(_FILLS, _FILLS, range(count if count > 1 else 0)):
        if fill is not other:
            yield (*(fill,) * at, other, *(fill,) * (count - at - 1))


def _tries(places: tuple[int, ...]) -> Iterator[tuple[tuple[Any, ...], tuple[int, ...]]]:
    last = max(places)
    for pad, fills in itertools.product(
        _PADS[: 8 if len(places) == 1 else 3], _choices(len(places))
    ):
        tensors = dict(zip(places, (fill() for fill in fills), strict=True))
        yield tuple(tensors.get(at, 0) for at in range(last + 1)) + pad, places
    if len(places) == 1:
        for fill, count in itertools.product(_FILLS, (1, 2)):
            args: list[Any] = [0] * last + [[fill() for _ in range(count)]]
            yield tuple(args), places
