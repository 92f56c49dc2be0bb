"""What an error says of the tensors that it is about, as plain data: it keeps no tensor alive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor

NO_STORAGE = (NotImplementedError, RuntimeError)
"""What asking for a storage or a shape raises: sparse and nested tensors, wrappers of functorch."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line of a function."""

    file: str
    line: int
    function: str
    """With the names of its classes where Python knows them (3.11 and later)."""
    first_line: int
    """Where the function begins: with the file it says which one it is."""

    @classmethod
    def of(cls, code: CodeType, line: int) -> Site:
        name = getattr(code, "co_qualname", code.co_name)
        return cls(code.co_filename, line, name, code.co_firstlineno)


@dataclass(frozen=True, slots=True)
class OperandFacts:
    """A tensor that an operation was given. It can be pickled, as errors are between processes."""

    name: str
    """Of the parameter, as PyTorch names it."""
    device: str
    dtype: str
    """As in `float32`; empty where only the device is known."""
    shape: tuple[int, ...] | None
    """Nothing for nested tensors."""
    requires_grad: bool
    identity: int
    """`id()` of the tensor, which means something while the operation runs."""
    memory: int | None
    """The address of its storage, which views share; nothing for tensors without one."""
    site: Site | None
    """Where it was made, or last moved where `moved` is empty, if that was noted."""
    moved: Site | None = None
    """Where it was last moved to another device, if that was noted besides."""

    def __str__(self) -> str:
        if not self.dtype:
            return f"on {self.device}"
        shape = "[...]" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"{self.dtype}{shape} on {self.device}"


@dataclass(frozen=True, slots=True)
class Reader:
    """How to ask a tensor where it is and where it comes from: an emulation has its own answers."""

    device: Callable[[Tensor], torch.device]
    site: Callable[[Tensor], Site | None]
    """Where it was made, or last moved if no more than that was noted."""
    moved: Callable[[Tensor], Site | None] = lambda tensor: None
    """Where it was last moved, if that was noted besides."""

    def facts(self, name: str, tensor: Tensor, device: object = None) -> OperandFacts:
        """The facts of a tensor. No function mode may be active."""
        return OperandFacts(
            name=name,
            device=str(self.device(tensor) if device is None else device),
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=shape_of(tensor),
            requires_grad=tensor.requires_grad,
            identity=id(tensor),
            memory=memory_of(tensor),
            site=self.site(tensor),
            moved=self.moved(tensor),
        )


REAL = Reader(cast(Any, Tensor.device).__get__, lambda tensor: None)
"""What tensors say themselves; where they were made nobody has noted."""


def unknown(name: str, device: str) -> OperandFacts:
    """What there is to say of a tensor of which PyTorch's text tells the device only."""
    return OperandFacts(name, device, "", None, False, 0, None, None)


def memory_of(tensor: Tensor) -> int | None:
    """What a tensor shares with its views and with nothing else, while it lives."""
    try:
        return int(torch._C.TensorBase.untyped_storage(tensor)._cdata)
    except NO_STORAGE:
        return None


def shape_of(tensor: Tensor) -> tuple[int, ...] | None:
    """The lengths of a tensor's dimensions, if it has any that are fixed."""
    try:
        return tuple(int(length) for length in tensor.shape)
    except (*NO_STORAGE, AttributeError):  # lengths that differ from row to row
        return None


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Whether a value is a tensor. `isinstance` may ask the value, and so run code of its own."""
    return issubclass(type(value), Tensor)
