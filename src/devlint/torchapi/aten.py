"""What torch's operators for CUDA do where their operands are on two devices.

Below `torch.add` stand operators such as `aten::add.Tensor`, and most of them have a kernel for
CUDA that begins with a look at devices. Which look that is stands in `aten.json`, which
`tools/operators.py` makes from the torch that it names. An operator that has no kernel for CUDA
because it is made of others isn't there: the others look.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import resources
from typing import TypedDict


class Check(str, Enum):
    """How the kernel for CUDA compares the devices of its operands."""

    EXACT = "exact"
    """All are on one device, or: "Expected all tensors to be on the same device, but got NAME is
    on DEVICE, different from other tensors on DEVICE (when checking argument in method KERNEL)"."""
    ITERATOR = "iterator"
    """All are on the first device in their order that isn't the CPU, save the scalars, or:
    "Expected all tensors to be on the same device, but found at least two devices, DEVICE and
    DEVICE!". Lists are compared row by row."""
    OUTPUT = "output"
    """The output is on the device of the input, or: "Expected out tensor to have device DEVICE,
    but got DEVICE instead". (An input on the CPU fails sooner, as the kernel is CUDA's.)"""
    OWN = "own"
    """Code of its own looks, or nothing does: nothing is known here."""
    NONE = "none"
    """There is one tensor at most, or no kernel for CUDA."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator, `aten::` left out of its name: "add.Tensor", "mm"."""

    name: str
    check: Check
    arguments: tuple[str, ...] = ()
    """The tensors that are compared, in that order: outputs come first. Tensors that are not
    given are passed over."""
    scalars: frozenset[str] = frozenset()
    """Those of them that may be on the CPU, whatever the others are on, if 0-dimensional. Of the
    rest some kernels say so in words of their own: the iterator lets them through."""
    most: int = 0
    """How many of `scalars` may be on the CPU in one call. One more, and the iterator says "Trying
    to pass too many CPU scalars to non-CPU kernel!"."""
    kernel: str = ""
    """exact: the name in the error's text, such as "wrapper_CUDA_addmm"."""
    cuda: bool = True
    """False: it fails with a tensor on CUDA, whatever the others are on."""


class _Exact(TypedDict):
    structured: dict[str, str]
    unstructured: dict[str, str]


class _Data(TypedDict):
    torch: str
    exact: _Exact
    iterator: dict[str, str]
    output: dict[str, str]
    several: str
    own: str
    unchecked: str
    without_cuda: str


@dataclass(frozen=True)
class AtenTable:
    """The operators of one release of torch."""

    torch: str
    """The release that they were taken from, such as "2.13.0"."""
    _found: Mapping[str, _Place] = field(repr=False)

    def operator(self, name: str) -> Operator | None:
        """What is known of an operator; None where there is nothing, or it is made of others."""
        place = self._found.get(name)
        return None if place is None else _operator(name, place)

    def names(self) -> Iterator[str]:
        return iter(self._found)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an operator's name stands in the data: with the others that are like it."""

    check: Check
    arguments: str = ""
    """`out | self* other*`: outputs, then inputs; those with a star are `scalars`."""
    structured: bool = False
    """How the kernel's name is put together."""
    several: bool = False
    """Two `scalars` may be on the CPU, not one only."""
    cuda: bool = True


@cache
def load() -> AtenTable:
    """The table that devlint brings along."""
    data: _Data = json.loads((resources.files(__package__) / "aten.json").read_bytes())
    found: dict[str, _Place] = {}
    for structured, groups in (
        (True, data["exact"]["structured"]),
        (False, data["exact"]["unstructured"]),
    ):
        for arguments, names in groups.items():
            place = _Place(Check.EXACT, arguments, structured)
            found.update(dict.fromkeys(names.split(), place))
    several = set(data["several"].split())
    for arguments, names in data["iterator"].items():
        one, many = (_Place(Check.ITERATOR, arguments, several=each) for each in (False, True))
        found.update((name, many if name in several else one) for name in names.split())
    for arguments, names in data["output"].items():
        found.update(dict.fromkeys(names.split(), _Place(Check.OUTPUT, arguments)))
    found.update(dict.fromkeys(data["own"].split(), _Place(Check.OWN)))
    found.update(dict.fromkeys(data["unchecked"].split(), _Place(Check.NONE)))
    found.update(dict.fromkeys(data["without_cuda"].split(), _Place(Check.NONE, cuda=False)))
    return AtenTable(data["torch"], found)


@cache
def _operator(name: str, place: _Place) -> Operator:
    outputs, bar, inputs = place.arguments.rpartition("|")
    words = [*outputs.split(), *inputs.split()]
    scalars = frozenset(word.removesuffix("*") for word in words if word.endswith("*"))
    return Operator(
        name,
        place.check,
        tuple(word.removesuffix("*") for word in words),
        scalars,
        2 if place.several else min(len(scalars), 1),
        _kernel(name, place.structured, bool(bar)) if place.check is Check.EXACT else "",
        place.cuda,
    )


def _kernel(name: str, structured: bool, output: bool) -> str:
    """torchgen's two ways to name the function around a kernel."""
    base, _, overload = name.partition(".")
    if output:
        base += "_out"
    if structured:
        return "_".join(filter(None, ("wrapper_CUDA", base, overload)))
    return f"wrapper_CUDA_{overload}_{base}"
