"""Where a tensor is said to be: a tag on the storage that it and its views share.

Every tensor stays an ordinary CPU tensor. torch keeps one Python object for a storage as long
as the storage lives, so an attribute of that object is shared by views, detached copies, saved
tensors and whatever `.data =` assigns. A storage without a tag is where it really is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor

from devlint.runtime.explaining.stack import users_frame
from devlint.runtime.operands import NO_STORAGE, Site

CPU = torch.device("cpu")
NEUTRAL = torch.device("meta", 127)
"""Made by C++ for itself within one call (`at::zeros(..., input.options())`): fits any device."""

PLAIN = (
    frozenset({Tensor, torch.nn.Parameter, torch.nn.Buffer})
    if hasattr(torch.nn, "Buffer")
    else frozenset({Tensor, torch.nn.Parameter})
)
"""The types whose storage holds their data."""

TENSORLESS = frozenset(
    {int, float, bool, str, type(None), slice, type(...), torch.dtype, complex, torch.Size}
)
"""Types of arguments that hold no tensor."""

storage_of: Callable[[Tensor], Any] = torch._C.TensorBase.untyped_storage
"""The storage of a tensor: one Python object as long as the storage lives."""
real_device: Callable[[Tensor], torch.device] = getattr(Tensor, "device").__get__  # noqa: B009


def attribute(name: str) -> Any:
    """The descriptor of an attribute of tensors: its `__get__` is what a function mode sees."""
    return getattr(Tensor, name)


is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
unwrapped = torch._C._functorch.get_unwrapped

# The default of all storages while an emulation is on: see `patches`.
STORAGE_DEFAULTS = {"_devlint_device": CPU, "_devlint_site": None, "_devlint_pinned": False}


def place(tensor: Tensor) -> torch.device:
    """The device that a tensor is said to be on. No function mode may be active."""
    if type(tensor) not in PLAIN and "_devlint_device" in tensor.__dict__:
        said: torch.device = tensor.__dict__["_devlint_device"]  # when the wrapper was made
        return said
    try:
        tag: torch.device = carrier_of(tensor)._devlint_device
    except NO_STORAGE:
        tag = tensor.__dict__.get("_devlint_device", CPU)
    return tag if tag is not CPU or tensor.is_cpu else real_device(tensor)


def shown_place(tensor: Tensor) -> torch.device:
    """As `place`, of what users can see: what was made for no device is on the CPU."""
    found = place(tensor)
    return CPU if found is NEUTRAL else found


def is_tagged(tensor: Tensor) -> bool:
    """Whether anything has said where the tensor is: a gradient may not have been told yet."""
    try:
        return "_devlint_device" in carrier_of(tensor).__dict__
    except NO_STORAGE:
        return "_devlint_device" in tensor.__dict__


def put(tensor: Tensor, device: torch.device) -> None:
    """Put a tensor, and all that shares its storage, on a device."""
    with torch._C.DisableTorchFunction():  # tensors that are uninitialised refuse to be asked
        for part in parts_of(tensor):
            try:
                storage_of(part)._devlint_device = device
            except NO_STORAGE:
                part._devlint_device = device  # type: ignore[attr-defined]


def settle(value: Any, device: torch.device) -> None:
    """Put the tensors of a result that are new where they were computed."""
    kind = type(value)
    if kind in PLAIN:
        try:
            storage = storage_of(value)
        except NO_STORAGE:
            _settle_parts(value, device)
            return
        held = storage._devlint_device
        if held is CPU or held is NEUTRAL:
            _claim(storage, held, device, value)
    elif kind is list or kind is tuple or isinstance(value, (list, tuple)):
        for item in value:
            settle(item, device)
    elif isinstance(value, Tensor):
        _settle_parts(value, device)
    elif isinstance(value, dict):
        for item in value.values():
            settle(item, device)


def _settle_parts(tensor: Tensor, device: torch.device) -> None:
    with torch._C.DisableTorchFunction():  # as in `put`
        for part in list(parts_of(tensor)):
            try:
                storage = storage_of(part)
            except NO_STORAGE:
                if part.__dict__.get("_devlint_device", CPU) in (CPU, NEUTRAL):
                    part._devlint_device = device  # type: ignore[attr-defined]
            else:
                _claim(storage, storage._devlint_device, device, part)


def _claim(storage: Any, held: torch.device, device: torch.device, part: Tensor) -> None:
    if (held is CPU and not part.is_meta) or (held is NEUTRAL and device is not NEUTRAL):
        storage._devlint_device = device


Instruction = tuple[CodeType, int]
"""A function's code and the offset of an instruction in it: cheaper to note than a line."""


def users_instruction(frame: FrameType | None) -> Instruction | None:
    """Where the program is, or else a library, in a frame or in one that called it."""
    found = users_frame(frame)
    return None if found is None else (found.f_code, found.f_lasti)


def site(tensor: Tensor) -> Site | None:
    """The line where a tensor was made, or last moved if nothing more was noted."""
    held = notes_of(tensor)
    is_traced = "_devlint_made" in held or "_devlint_moved" in held
    return _line_of(held.get("_devlint_made" if is_traced else "_devlint_site"))


def moved_site(tensor: Tensor) -> Site | None:
    """The line where a tensor was last moved, if a tracing has noted that."""
    return _line_of(notes_of(tensor).get("_devlint_moved"))


def note_move(tensor: Tensor, source: Tensor, where: Instruction | None) -> None:
    """Remember where a tensor was moved, and of what it was moved from where that was made."""
    held = notes_of(tensor)
    held["_devlint_made"] = notes_of(source).get("_devlint_made")
    held["_devlint_moved"] = where


def note_making(tensor: Tensor, where: Instruction | None) -> None:
    """Remember where a tensor was made, unless something was noted of it before."""
    notes_of(tensor).setdefault("_devlint_made", where)


def own_storage(tensor: Tensor) -> Any:
    """The storage of an ordinary tensor, which bears its tag; nothing for other tensors."""
    try:
        return storage_of(tensor) if type(tensor) in PLAIN else None
    except NO_STORAGE:
        return None


def notes_of(tensor: Tensor) -> dict[str, Any]:
    """What is noted on the storage of a tensor, to be added to; of one without storage, nothing
    can be."""
    try:
        held: dict[str, Any] = carrier_of(tensor).__dict__
    except Exception:  # whatever a subclass says of its parts, the program goes on
        return {}
    return held


def _line_of(instruction: Instruction | None) -> Site | None:
    if instruction is None:
        return None
    code, offset = instruction
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line)
    return Site.of(code, next(lines, code.co_firstlineno))


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """All tensors among arguments, in lists, tuples and dicts too."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            if not TENSORLESS.issuperset(map(type, value)):  # data: as many numbers as there are
                yield from tensors_in(value)
        elif isinstance(value, dict):
            yield from tensors_in(value.values())


def argument(args: Any, kwargs: Any, index: int, name: str, default: Any = None) -> Any:
    """What a call gives for a parameter, by position or by name."""
    return args[index] if index < len(args) else kwargs.get(name, default)


def carrier_of(tensor: Tensor) -> Any:
    """The storage that bears the tag of a tensor."""
    if type(tensor) in PLAIN:
        try:
            return storage_of(tensor)
        except NO_STORAGE:
            pass
    with torch._C.DisableTorchFunction():  # what a subclass does with the question isn't ours
        return storage_of(next(parts_of(tensor)))


def parts_of(tensor: Tensor) -> Iterator[Tensor]:
    """The tensors that hold the data of a tensor: itself, or what it is made of."""
    while is_wrapped(tensor):
        tensor = unwrapped(tensor)
    layout = tensor.layout
    if type(tensor) not in PLAIN and hasattr(tensor, "__tensor_flatten__"):
        names, _ = tensor.__tensor_flatten__()
        inner = [part for name in names if isinstance(part := getattr(tensor, name), Tensor)]
        for part in inner:
            yield from parts_of(part)
        if not inner:
            yield tensor
    elif layout is torch.sparse_coo:
        yield tensor._values()
        yield tensor._indices()
    elif layout in _COMPRESSED:
        yield tensor.values()
        rows = layout in (torch.sparse_csr, torch.sparse_bsr)
        yield tensor.crow_indices() if rows else tensor.ccol_indices()
        yield tensor.col_indices() if rows else tensor.row_indices()
    else:
        yield tensor


_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
