"""The kinds of accelerator that can be emulated, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of device."""

    type: str
    """As in `torch.device(type, index)`; also the name of its module, `torch.<type>`."""
    title: str
    """As PyTorch's messages write it."""
    most: int
    """How many of them one machine can have."""
    float64: bool
    """Whether tensors of double precision can live there."""
    checked_kernels: bool
    """Whether kernels compare the devices of their arguments before they run."""
    out_of_range: str
    """The error for an index that no device has; `{index}` and `{count}` are filled in."""


_CUDA_OUT_OF_RANGE = (
    "CUDA error: invalid device ordinal\n"
    "GPU device may be out of range, do you have enough GPUs?\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)

CUDA = Kind("cuda", "CUDA", 64, True, True, _CUDA_OUT_OF_RANGE)
XPU = Kind(
    "xpu", "XPU", 64, True, True,
    "The device index is out of range. It must be in [0, {count}), but got {index}.",
)  # fmt: skip
MPS = Kind("mps", "MPS", 1, False, False, "MPS backend supports only the device of index 0.")

KINDS = {kind.type: kind for kind in (CUDA, MPS, XPU)}


@dataclass(frozen=True, slots=True)
class Spec:
    """What to emulate: so many devices of one kind."""

    kind: Kind
    count: int

    def __str__(self) -> str:
        return f"{self.kind.type}:{self.count}"


def parse(kind: str, count: int | None = None) -> Spec:
    """Read `cuda`, `cuda:2` (two devices) or a kind and a number.

    Raises:
        ValueError: for another kind, or a number that no machine has.
    """
    name, colon, number = kind.partition(":")
    if name not in KINDS:
        raise ValueError(f"'{name}' can't be emulated: choose one of {', '.join(KINDS)}")
    if colon:
        if count is not None:
            raise ValueError(f"'{kind}' already says how many: leave out count={count}")
        if not number.isdecimal():
            raise ValueError(f"'{kind}': a number of devices is expected after the colon")
        count = int(number)
    found = KINDS[name]
    count = 1 if count is None else count
    if not 1 <= count <= found.most:
        least = f"from 1 to {found.most}" if found.most > 1 else "1 only"
        raise ValueError(f"{count} devices of kind '{name}' can't be emulated: {least}")
    return Spec(found, count)
