"""Reads a device string the way `torch.device` does, and words what it has against one alike."""

from __future__ import annotations

from dataclasses import dataclass

from devlint.flow.domain.lattice import Known

DEVICE_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""The device types of torch 2.13, in the order of its error message."""

BACKENDS = frozenset(
    ("npu", "mlu", "musa", "gcu", "sdaa", "neuron", "rbln", "spyre", "openreg", "dml", "tpu",
     "supa", "ptpu", "vacc", "dipu")
)  # fmt: skip
"""Device types that backend packages register; since torch 2.5 they load without an import."""

_OFTEN = ("cpu", "cuda", "mps", "xpu", "hpu", "npu", "tpu", "xla", "meta", "mtia")

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_DIGITS = frozenset("0123456789")
_LARGEST_INT = "2147483647"
"""Digits are counted first: Python won't read a number of thousands of them."""


@dataclass(frozen=True, slots=True)
class Misspelling:
    """Why a string names no device: the message of the error that `torch.device` raises, and the
    type that is none, where it is that."""

    message: str
    unknown_type: str | None = None


def parse(text: str, extra: frozenset[str] = frozenset()) -> Known | Misspelling:
    """The device that `text` spells, or what `torch.device(text)` has against it.

    `extra` are device types that backend packages add ("npu"). A string is a type, and perhaps
    a colon and an index without a sign or leading zeros.
    """
    if not text:
        return Misspelling("Device string must not be empty")
    name, colon, index = text.partition(":")
    if not name or not _LETTERS.issuperset(name) or (colon and not _is_index(index)):
        return Misspelling(_as_shown(f"Invalid device string: '{text}'"))
    if colon and (len(index) > len(_LARGEST_INT) or int(index) > int(_LARGEST_INT)):
        return Misspelling(f"Could not parse device index '{index}' in device string '{text}'")
    if name not in DEVICE_TYPES and name not in extra:
        types = ", ".join(DEVICE_TYPES)
        message = f"Expected one of {types} device type at start of device string: {name}"
        return Misspelling(message, name)
    return Known(name, _stored(int(index)) if colon else None)


def spells_device(text: str) -> bool:
    """Whether a string is a device that programs often name: anything else is left alone where
    nobody says that a device is meant."""
    name, colon, index = text.partition(":")
    return name in _OFTEN and (not colon or (bool(index) and _DIGITS.issuperset(index)))


def _is_index(text: str) -> bool:
    digits = bool(text) and _DIGITS.issuperset(text)
    return digits and (text == "0" or not text.startswith("0"))


def _stored(index: int) -> int | None:
    """What is left of an index: torch keeps it in a signed byte, where -1 stands for none."""
    stored = (index + 128) % 256 - 128
    return None if stored == -1 else stored


def _as_shown(message: str) -> str:
    """Torch's messages are C strings: they end at the first NUL."""
    return message.partition("\0")[0]
