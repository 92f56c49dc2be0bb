"""Whether the inputs of a layer are where its parameters and buffers are.

Only layers of torch.nn are judged, whose `forward` is known to move nothing: a module of the
program may move what it gets, use it as an index, or keep a table on the CPU on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.modules import module as module_room

from devlint.runtime.explaining.lookup import own_tensors, tensors_of
from devlint.runtime.guard.compiler import unseen_by_compiler, without_compiler
from devlint.runtime.reader import place
from devlint.runtime.virtual.running import running_world
from devlint.runtime.virtual.tags import PLAIN, TENSORLESS

_PACKAGE = "torch.nn.modules."

_mode_count: Callable[[], int] = torch._C._len_torch_function_stack


def is_layer(kind: type) -> bool:
    """Whether the code that a module of a class runs is a layer's of torch.nn, and only that."""
    forward = getattr(kind, "forward", None)
    home = str(getattr(forward, "__globals__", {}).get("__name__", ""))
    return home.startswith(_PACKAGE) and not any(_changes(base, kind) for base in _own_bases(kind))


def _own_bases(kind: type) -> Iterator[type]:
    """A class and its bases, up to the layer of torch.nn that it is made from."""
    return takewhile(lambda base: not base.__module__.startswith(_PACKAGE), kind.__mro__)


def _changes(base: type, kind: type) -> bool:
    """Whether a class does something that its layer would do another way."""
    layer = next(each for each in kind.__mro__ if each.__module__.startswith(_PACKAGE))
    for name, value in list(vars(base).items()):
        if name in ("__getattr__", "__getattribute__") or isinstance(value, property):
            return True
        is_special = name.startswith("__") or name in ("reset_parameters", "extra_repr")
        if not is_special and callable(value) and callable(getattr(layer, name, None)):
            return True
    return False


def seems_to_disagree(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], under_modes: bool = False
) -> bool:
    """Whether a layer's parameters and what it gets are on several devices.

    This runs before every call of a layer, so it is quick, and calls nothing of Python's for plain
    tensors: numbers stand for devices, and buffers count only where there are no parameters. What
    it passes over PyTorch doesn't, and where it asks in vain `disagreement` decides.
    """
    if _mode_count() and not under_modes:
        return _seems_to_disagree_under_modes(module, args, kwargs)
    home: int | None = None
    for tensor in module._parameters.values():
        if type(tensor) in PLAIN:
            found = tensor.get_device()  # type: ignore[union-attr]
            if home is None:
                home = found
            elif found != home:
                return True
    if home is None:
        return bool(module._buffers) and _buffers_seem_to_disagree(module, args, kwargs)
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is Tensor:
            if value.get_device() != home:
                return True
        elif kind not in TENSORLESS and _is_elsewhere(value, home):
            return True
    return False


unseen_by_compiler(seems_to_disagree.__code__)


@without_compiler
def _seems_to_disagree_under_modes(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    if running_world() is not None:
        return bool(module._parameters or module._buffers)
    with torch._C.DisableTorchFunction():  # modes would be asked for each device
        return seems_to_disagree(module, args, kwargs, under_modes=True)


@without_compiler
def _buffers_seem_to_disagree(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    plain = (each for each in module._buffers.values() if type(each) in PLAIN)
    places = {each.get_device() for each in plain}  # type: ignore[union-attr]
    return len(places) > 1 or any(
        _is_elsewhere(value, home) for home in places for value in (*args, *kwargs.values())
    )


@without_compiler
def _is_elsewhere(value: Any, home: int | None) -> bool:
    """Whether a tensor in an argument is on another device."""
    if type(value) is tuple and all(type(each) is Tensor for each in value):  # an LSTM's state
        return any(each.get_device() != home for each in value)
    return any(tensor.get_device() != home for _, tensor in _tensors("", value))


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two tensors of a layer's call that are on different devices."""

    name: str
    """Of the one that is in the wrong place: `args[0]`, or one of the layer's own."""
    tensor: Tensor
    own_name: str
    own: Tensor


def disagreement(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Disagreement | None:
    """What a layer has or gets that isn't where its first parameter is, if that is an error."""
    if not is_layer(type(module)) or _is_changed_by_others(module):
        return None
    own = [(name, t) for name, t in own_tensors(module) if _counts(t)]
    if not own:
        return None
    first, home = own[0]
    device = place(home)
    given = [
        *((f"args[{index}]", value) for index, value in enumerate(args)),
        *kwargs.items(),
    ]
    inputs = (
        found
        for name, value in given
        if not _is_left_to_torch(module, name)
        for found in _tensors(name, value)
    )
    for name, tensor in (*own[1:], *inputs):
        if _counts(tensor) and place(tensor) != device:
            return Disagreement(name, tensor, first, home)
    return None


def _is_changed_by_others(module: nn.Module) -> bool:
    """Whether somebody's hook, or somebody's `forward`, may move the inputs first."""
    return bool(
        "forward" in module.__dict__
        or module._forward_pre_hooks
        or module_room._global_forward_pre_hooks
        or getattr(module, "_compiled_call_impl", None) is not None
    )


def _is_left_to_torch(module: nn.Module, name: str) -> bool:
    """Whether an argument may be anywhere: a causal mask isn't used where a flag says the same."""
    return isinstance(module, nn.MultiheadAttention) and name in ("args[5]", "attn_mask")


def _counts(tensor: Tensor) -> bool:
    """Whether a tensor has to be where the others are."""
    if type(tensor) not in PLAIN:
        return False
    try:
        return tensor.dim() > 0 and tensor.numel() > 0 and place(tensor).type != "meta"
    except (NotImplementedError, RuntimeError):  # what has no size has no place either
        return False


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """The plain tensors in an argument of a layer. Nothing of the program is run to find them."""
    for found in tensors_of(name, value):
        if type(found.tensor) in PLAIN:
            yield found.text, cast(Tensor, found.tensor)
