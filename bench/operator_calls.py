"""Calls to PyTorch with their tensors placed on devices, and what came of them.

The part of bench/operators.py that knows tensors, and neither databases nor listings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

_DEVICES = ("cpu", "cuda")
"""What samples name: the database has others where there is a GPU."""


def tensors(value: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors inside a value, each with its path: all elements of a list are called `[]`."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item, f"{path}[]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors(item, f"{path}.{key}" if path else str(key))


def rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a value with every leaf inside it changed."""
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = [rebuilt(item, change) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: rebuilt(item, change) for key, item in value.items()}
    return change(value)


@dataclass(frozen=True)
class Call:
    """The arguments of one sample."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    finish: Callable[[Any], Any] = lambda result: result
    """What PyTorch's own tests differentiate of the result."""

    def operands(self) -> list[tuple[str, torch.Tensor]]:
        """The tensor arguments by name: `input`, `args[0]` and so on, and keywords."""
        found = []
        for number, value in enumerate(self.args):
            found += tensors(value, f"args[{number - 1}]" if number else "input")
        return found + [pair for key, value in self.kwargs.items() for pair in tensors(value, key)]

    def on(self, devices: Sequence[str], default: str) -> Call:
        """The same call with fresh tensors, the first on devices[0] and so on.

        An argument that is itself a device becomes `default`, a generator one of that device.
        """
        remaining = iter(devices)

        def change(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return moved(value, next(remaining))
            if isinstance(value, torch.device) or (isinstance(value, str) and value in _DEVICES):
                return torch.device(default)
            if isinstance(value, torch.Generator):
                return torch.Generator(default).manual_seed(value.initial_seed())
            return value

        return Call(rebuilt(self.args, change), rebuilt(self.kwargs, change), self.finish)

    def names_a_device(self) -> bool:
        """Whether the arguments say where the results shall be."""
        found = []
        rebuilt([self.args, self.kwargs], lambda value: found.append(is_device(value)))
        return any(found)


def is_device(value: Any) -> bool:
    return isinstance(value, (torch.Tensor, torch.device)) or (
        isinstance(value, str) and value in _DEVICES
    )


def moved(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A fresh leaf on a device, with the strides and the offset that the tensor has."""
    with torch.no_grad():
        source = tensor.detach()
        dense = source.layout is not torch.strided or source.is_contiguous()
        if not dense:
            source = torch.empty(0, dtype=source.dtype).set_(source.untyped_storage())
        copy = source.to(device, copy=True)
        if not dense:
            copy = copy.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return copy.requires_grad_(tensor.requires_grad)


@dataclass(frozen=True)
class Snapshot:
    """A tensor as it was at one moment."""

    device: str
    kind: tuple[Any, ...]
    """dtype, shape, strides, layout, and whether it needs a gradient."""
    shares: int
    """The number of the operand whose storage it shares, or -1."""
    data: tuple[torch.Tensor, ...]
    """Its values, on the CPU."""


def snapshot(value: Any, storages: dict[int, int] | None = None) -> Any:
    """A value with its tensors as they are now, and the rest of it as text."""
    if isinstance(value, torch.Tensor):
        return snapshot_of(value, storages or {})
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [snapshot(item, storages) for item in value]
    if isinstance(value, dict):
        return {str(key): snapshot(item, storages) for key, item in value.items()}
    return re.sub(r" at 0x\w+", "", repr(value))


def snapshot_of(tensor: torch.Tensor, storages: dict[int, int]) -> Snapshot:
    with torch.no_grad():
        parts = strided_parts(tensor.detach())
        plain = tensor.layout is torch.strided and not tensor.is_nested
        kind = (
            tensor.dtype,
            "nested" if tensor.is_nested else tuple(tensor.shape),
            tensor.stride() if plain else None,
            tensor.layout,
            tensor.requires_grad,
        )
        data = [part.cpu().clone(memory_format=torch.contiguous_format) for part in parts]
        devices = {str(part.device) for part in [tensor, *parts]}
    return Snapshot(
        " and ".join(sorted(devices)), kind, storages.get(storage_of(tensor), -1), tuple(data)
    )


def strided_parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that hold a tensor's values."""
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor]


def storage_of(tensor: torch.Tensor) -> int:
    """The address of a tensor's bytes; 0 where there are none."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return 0
    return tensor.untyped_storage().data_ptr()


@dataclass
class Outcome:
    """What came of a call: an error, or the rest."""

    error: Exception | None = None
    result: Any = None
    operands: list[Snapshot] = field(default_factory=list)
    """The operands as the call left them."""
    gradients: list[Any] = field(default_factory=list)
    """One for each operand, None for those that need none."""
    second: list[Any] = field(default_factory=list)
    no_gradient: str = ""
    """Why there are no gradients."""


def run(function: Callable[..., Any], call: Call, order: int = 0) -> Outcome:
    """Call a function; with `order` 1 differentiate, with 2 differentiate twice."""
    operands = [tensor for _, tensor in call.operands()]
    storages = {storage_of(tensor): number for number, tensor in enumerate(operands)}
    storages.pop(0, None)
    outcome = Outcome()
    torch.manual_seed(0)
    try:
        result = function(*call.args, **call.kwargs)
        outcome.result = snapshot(result, storages)
        outcome.operands = [snapshot(tensor) for tensor in operands]
    except Exception as error:
        outcome.error = error
        return outcome
    if order and any(tensor.requires_grad for tensor in operands):
        try:
            differentiate(call.finish(result), operands, order, outcome)
        except Exception as error:
            outcome.no_gradient = described(error)
    return outcome


def differentiate(result: Any, operands: list[torch.Tensor], order: int, outcome: Outcome) -> None:
    scalars = sums(result)
    leaves = [tensor for tensor in operands if tensor.requires_grad]
    if scalars and order == 1:
        torch.autograd.backward(scalars)
        outcome.gradients = [snapshot(tensor.grad) for tensor in operands]
    elif scalars:
        found = iter(torch.autograd.grad(scalars, leaves, create_graph=True, allow_unused=True))
        gradients = [next(found) if tensor.requires_grad else None for tensor in operands]
        outcome.gradients = [snapshot(gradient) for gradient in gradients]
        scalars = sums(gradients)
        if scalars:
            torch.autograd.backward(scalars)
            outcome.second = [snapshot(tensor.grad) for tensor in operands]


def sums(value: Any) -> list[torch.Tensor]:
    """A real number for each differentiable tensor."""
    totals = [tensor.sum() for _, tensor in tensors(value) if tensor.requires_grad]
    return [total.real + total.imag if total.is_complex() else total for total in totals]


def spread(items: Sequence[Any], most: int) -> Sequence[Any]:
    """At most so many of the items, evenly spaced."""
    return (
        [items[number * len(items) // most] for number in range(most)]
        if most < len(items)
        else items
    )


def described(error: BaseException | None) -> str:
    """The first line of an error, "" where there is none."""
    return f"{type(error).__name__}: {error}".partition("\n")[0] if error else ""


def on_a_clone(function: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place function called on a clone: a leaf that needs a gradient can't be written."""

    def inplace(first: Any, *args: Any, **kwargs: Any) -> Any:
        return function(rebuilt(first, clone), *args, **kwargs)

    return inplace


def clone(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def with_out(function: Callable[..., Any], device: str | None = None) -> Callable[..., Any]:
    """A function writing into tensors like those that it returns, or such on another device."""

    def blank(value: Any) -> Any:
        return torch.empty_like(value, device=device) if device else torch.empty_like(value)

    def into(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            out = rebuilt(function(*args, **kwargs), blank)
            result = function(*args, **kwargs, out=out)
        pairs = zip(tensors(result), tensors(out), strict=True)
        return result, [one is other for (_, one), (_, other) in pairs]

    return into


def differing(
    path: str,
    before: Any,
    after: Any,
    device_of: Callable[[str], str],
    exact: bool = True,
) -> Iterator[str]:
    """How a snapshot made on an accelerator differs from the plain CPU's.

    `device_of` tells where the tensor at a path belongs. Where it isn't to be `exact`, devices,
    dtypes, shapes and layouts are compared.
    """
    if isinstance(before, Snapshot) and isinstance(after, Snapshot):
        if after.device != device_of(path):
            yield f"{path}: on {after.device}, not on {device_of(path)}"
        kinds = [each.kind if exact else each.kind[:2] + each.kind[3:] for each in (before, after)]
        if kinds[0] != kinds[1]:
            yield f"{path}: {kinds[1]}, not {kinds[0]}"
        if exact:
            yield from differing_bits(path, before, after)
    elif type(before) is not type(after):
        yield f"{path}: {type(after).__name__}, not {type(before).__name__}"
    elif isinstance(before, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from differing(f"{path}[]", one, other, device_of, exact)
    elif isinstance(before, dict) and before.keys() == after.keys():
        for key in before:
            yield from differing(f"{path}.{key}", before[key], after[key], device_of, exact)
    elif before != after and exact:
        yield f"{path}: {after}, not {before}"


def differing_bits(path: str, before: Snapshot, after: Snapshot) -> Iterator[str]:
    if before.shares != after.shares:
        yield f"{path}: shares the storage of operand {after.shares}, not {before.shares}"
    if len(before.data) != len(after.data) or not all(map(same_bits, before.data, after.data)):
        yield f"{path}: other values"


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    first, second = (
        tensor.resolve_conj().resolve_neg().reshape(-1).view(torch.uint8) for tensor in (one, other)
    )
    return torch.equal(first, second)
