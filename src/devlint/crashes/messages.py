"""PyTorch's own texts about devices, of all its versions: what kind each is of, and what it tells.

A table, one row a family of texts. The names and the devices in a text are all that there is to
say where frames know no more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "meeting", "index", "numpy", "host", "generator", "pinned", "lengths", "optimizer", "fused",
    "gradient", "leaf", "state", "replica", "parameters", "load", "missing", "ordinal", "fork",
    "empty", "backend",
]  # fmt: skip

_DEVICE = r"[\"'(]?(?P<{}>[\w:]+(?:\.\w+)*)[\"')]?"
_NAME = r"['\"`(]?(?P<{}>\w+)['\"`)]?"


def _row(kind: Kind, pattern: str) -> tuple[Kind, re.Pattern[str]]:
    """A row: `@on` and `@at` stand for devices, `@name` and `@other` for names."""
    for group, part in (("on", _DEVICE), ("at", _DEVICE), ("name", _NAME), ("other", _NAME)):
        pattern = pattern.replace(f"@{group}", part.format(group))
    return kind, re.compile(pattern)


_OPERATOR = (
    r"(?:.{0,80}? in (?:method|call to) (?:wrapper_)?(?:[A-Z]\w*?_)*_*(?:th_)?(?P<op>[a-z]\w*))?"
)

# `on` and `name` are of the tensor that PyTorch takes for the stranger, `at` and `other` of what
# it met. `pairs` is the beginning of names and devices that follow each other.
_FAMILIES = (
    # Kernels that compare their arguments before they run: from torch 2.8 on, before, long before.
    _row("meeting", r"same device, but got @name is on @on, different from other tensors on @at"
         + _OPERATOR),
    _row("meeting", r"at least two devices, @at and @on! \(when checking "
         r"(?:argument|arugment) for argument @name" + _OPERATOR),
    _row("meeting", r"at least two devices, @at and @on!"),
    _row("meeting", r"Expected object of (?:backend|device type|type) @at but (?:got|found) "
         r"(?:backend|device type|type) @on for (?:sequence element \d+ in sequence )?argument "
         r"#\d+ @name" + _OPERATOR),
    _row("meeting", r"Tensor for (?:argument #\d+ )?@name is on @on, (?:.*?,? ?)but expected "
         r"(?:it|them) to be on @at \(while checking arguments for (?P<op>\w+)\)"),
    _row("meeting", r"Expected tensor for argument #\d+ @other to have the same device as tensor "
         r"for argument #\d+ @name; but device @at does not equal @on"),
    _row("meeting", r"Expected tensor to have @at (?:Device|DeviceType), but got tensor with "
         r"@on (?:Device|DeviceType) \(while checking arguments for (?P<op>\w+)\)"),
    _row("meeting", r"(?P<op>\w+):? expected @name to be (?:a )?@at tensor, but got "
         r"(?:a )?(?:tensor on )?@on"),
    # Kernels and functions with words of their own.
    _row("meeting", r"(?P<name>[Ii]nput) type @on and (?P<other>weight|bias) type @at should be"),
    _row("meeting", r"(?P<name>[Ii]nput) and (?P<other>hidden|parameter) tensors are not at the "
         r"same device, found input tensor at @on and \w+ tensor at @at"),
    _row("meeting", r"(?P<op>masked_fill|put_|take|index_copy_|grid_sampler|weight_norm|quantile"
         r"|stft|istft|reduce_op|v?dot|tensordot|multi_dot)\(?\)?:? .*?same device,? but "
         r"(?P<pairs>.*)"),
    _row("meeting", r"to have the same device type, but got (?P<pairs>query.*)"),
    _row("meeting", r"same device,? but (?:got|found) (?P<pairs>(?:the )?[\w.]+(?: tensor)? "
         r"on .*)"),
    _row("meeting", r"X1 and X2 must have the same device(?: type)?\.? ?(?P<pairs>.*)"),
    _row("meeting", r"same device type, but got @other tensor device type @at and "
         r"@name(?: value)? tensor device type @on"),
    _row("meeting", r"expected device @at but got device @on for @name tensor"),
    _row("meeting", r"storage of a tensor on device @at to a storage on different device @on"),
    _row("meeting", r"be on the same device(?:\. Received| but got) @at and @on"),
    _row("meeting", r"two tensors on different devices\. Got: @at and @on"),
    _row("meeting", r"Device Propagation for (?:aten\.)?(?P<op>\w+)\S*, found two different devices"
         r" @at, @on"),
    _row("meeting", r"Tensor on device @on is not on the expected device @at"),
    _row("meeting", r"Expected (?P<name>scalars) to be on @at, got @on"),
    _row("index", r"@name should be either on .* the indexed tensor \((?P<at>[\w:]+)\)"),
    _row("index", r"indices should be on the same device as the indexed tensor"),
    # Gradients, and what steps with them.
    _row("gradient", r"(?P<op>\w+Backward\w*) returned an invalid gradient at index "
         r"(?P<number>\d+) - "
         r"expected device @at but got @on"),
    _row("meeting", r"assign a gradient (?:with device type|of type|located on device with index) "
         r"@on to a tensor (?:with device type|of type|located on device with index) @at"),
    _row("optimizer", r"Tensors of the same index must be on the same device and the same dtype"),
    _row("fused", r"(?P<name>fused=True|capturable=True)?`?.{0,60}supported devices: .*? but "
         r"[\w.]+ and @on"),
    _row("fused", r"If (?P<name>capturable=True), params and .* must be on supported devices"),
    _row("leaf", r"can't optimize a non-leaf Tensor"),
    # One tensor that the host is to read, or one thing in the wrong place.
    _row("numpy", r"can't convert (?P<on>[\w:]+) device type tensor to numpy|"
         r"(?:convert|converting) CUDA tensor to numpy"),
    _row("host", r"(?P<op>apply_|map2?_) is only implemented on CPU tensors"),
    _row("host", r"(?P<op>tensor_split) expected \w+ to be on cpu"),
    _row("state", r"RNG state must be a torch\.ByteTensor|expected a torch\.ByteTensor, but got"),
    _row("generator", r"Expected an? @at (?:device type for generator|generator device) but "
         r"found @on"),
    _row("pinned", r"cannot pin '|[Oo]nly (?:dense )?CPU tensors can be pinned"),
    _row("lengths", r"'lengths' argument should be.* but got \d+D @on "),
    # Models in more than one place.
    _row("replica", r"parameters and buffers on device @at \(device_ids\[0\]\) but found one of "
         r"them on device: @on"),
    _row("replica", r"DistributedDataParallel's input module must be on the same type of devices, "
         r"but input module parameters (?:are )?locate"),
    _row("replica", r"device_ids and output_device arguments only work with .*"
         r"module parameters \{(?:device\(type=@on\)\}|device)"),
    _row("parameters", r"Found two parameters on different devices"),
    # What the machine or the process doesn't have.
    _row("load", r"deserialize object on a(?:n)? @on device but .*is_available\(\) is False"),
    _row("load", r"deserialize object on @on device (?P<number>\d+) but .*device_count\(\) is "
         r"(?P<count>\d+)"),
    _row("missing", r"Torch not compiled with @on enabled"),
    _row("missing", r"PyTorch is not linked with support for @on devices"),
    _row("missing", r"No (?P<on>CUDA|XPU|HPU)\w* GPUs are available|Found no NVIDIA driver"
         r"|Cannot access accelerator device when none is available"),
    _row("ordinal", r"(?P<on>CUDA|HIP|XPU) error: invalid device ordinal|^Invalid device id$"
         r"|device=\d+, num_gpus=\d+"),
    _row("fork", r"[Cc]annot re-?initialize @on in forked subprocess"),
    _row("empty", r"Cannot copy out of @on tensor; no data"),
    _row("backend", r"No backend type associated with device type @on"),
    # Whatever else speaks of places; the frames must know which they are.
    _row("meeting", r"on the same device|at the same device|to be on same device"
         r"|different devices?\b|[Ii]nput type \(.*\) and \w+ type \(.*\) should be the same"
         r"|the same device|same device type|CPU scalars to non-CPU kernel|expected device "
         r"|but got device |is on (cpu|cuda|xpu|mps)|storage has not been allocated"
         r"|expected them to be on GPU|gradient (of type|located)|CPU Scalar support"
         r"|tensor to have (device )?[\w:]+( Device| DeviceType)?, but got"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """What PyTorch's text says."""

    kind: Kind
    text: str
    operands: tuple[tuple[str, str], ...] = ()
    """Names and devices of two tensors, the stranger first; what isn't said is empty."""
    operation: str = ""
    number: str = ""
    """Of a device that there isn't, or of the input that a gradient is for."""

    @property
    def device(self) -> str:
        """Where the stranger is."""
        return self.operands[0][1] if self.operands else ""

    @property
    def home(self) -> str:
        """Where it is expected."""
        return self.operands[1][1] if len(self.operands) > 1 else ""


_END = 4000
"""Characters at both ends of a long text that are read: what is between is a traceback."""


def read_words(text: str) -> Words | None:
    """What a text says of devices; nothing if it isn't one of PyTorch's about them."""
    if not may_be_about_devices(text):
        return None
    if len(text) > 2 * _END:
        text = f"{text[:_END]}\n{text[-_END:]}"
    for kind, pattern in _FAMILIES:
        match = pattern.search(text)
        if match is not None:
            return _words(kind, text, match)
    return None


def _words(kind: Kind, text: str, match: re.Match[str]) -> Words:
    found = {name: value or "" for name, value in match.groupdict().items()}
    if "pairs" in found:
        operands = _sorted([(name, _device(on)) for name, on in _PAIR.findall(found["pairs"])])
    else:
        stranger = found.get("name", "").replace("Input", "input"), _device(found.get("on", ""))
        met = found.get("other", ""), _device(found.get("at", ""))
        operands = (stranger, met) if any((*stranger, *met)) else ()
    if operands and not any(name for name, _ in operands) and all(on for _, on in operands):
        operands = _sorted([*operands]) if kind == "meeting" else operands
    if kind == "meeting" and operands and len({device for _, device in operands}) < 2:
        operands = ()  # it is about types
    return Words(kind, text, operands, found.get("op", ""), found.get("number", ""))


_PAIR = re.compile(
    r"\b(\w+)['\")]?(?:\.device)?(?: tensor(?: [ab]\b)?)?(?: is)?(?: on| =|:)? "
    r"((?:cpu|cuda|xpu|mps|hpu|meta)(?::\d+)?)\b"
)


_STRANGERS = "cpu meta"
"""Devices that a tensor is on by mistake, rather than on another."""


def _sorted(pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The stranger, and one that it met: the one on the CPU, or else the first."""
    for odd in sorted(pairs, key=lambda pair: _STRANGERS.find(pair[1]), reverse=True):
        for other in pairs:
            if other[1] != odd[1]:
                return odd, other
    return ()


def _device(word: str) -> str:
    """What PyTorch means by `torch.cuda.FloatTensor`, `CUDA` or `0`."""
    word = word.removeprefix("torch.")
    if word.isdigit():
        return f"device {word}"
    if word.startswith(("CPU", "CUDA")):
        return "cpu" if word.startswith("CPU") else "cuda"
    if word.endswith("Tensor"):
        word = word.partition(".")[0] if "." in word else "cpu"
    return "cuda" if word == "GPU" else word.lower()


_HINTS = (
    "evice", "CPU", "cpu", "CUDA", "cuda", "GPU", "meta tensor", "storage has not been",
    "non-leaf Tensor", "torch.ByteTensor",
)  # fmt: skip


def may_be_about_devices(text: str) -> bool:
    """Whether a text can be about devices at all, at the cost of a look."""
    return any(hint in text for hint in _HINTS)
