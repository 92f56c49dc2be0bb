"""PyTorch's own messages, word for word, for the installed release.

A person who searches for the message finds the same pages as for the real one.
"""

from __future__ import annotations

import torch
from torch import Tensor

RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
"""Of the installed torch: (2, 13)."""

_SCALAR_TYPES = {
    torch.float32: "Float", torch.float64: "Double", torch.float16: "Half",
    torch.bfloat16: "BFloat16", torch.int64: "Long", torch.int32: "Int", torch.int16: "Short",
    torch.int8: "Char", torch.uint8: "Byte", torch.bool: "Bool",
    torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
    torch.complex32: "ComplexHalf",
}  # fmt: skip

LEGACY_TYPES = {f"{name}Tensor": dtype for dtype, name in _SCALAR_TYPES.items()}
"""The dtype of each `torch.FloatTensor` and its like."""


def scalar_type(tensor: Tensor) -> str:
    """As in `Long`."""
    return _SCALAR_TYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))


def type_string(tensor: Tensor, device: torch.device) -> str:
    """As in `torch.cuda.FloatTensor`."""
    module = "" if device.type == "cpu" else f"{device.type}."
    sparse = "sparse." if tensor.layout is torch.sparse_coo else ""
    return f"torch.{module}{sparse}{scalar_type(tensor)}Tensor"


def same_device(
    name: str, device: object, common: object, kernel: str, backend: str = "CUDA"
) -> str:
    """What a kernel says that compares its arguments before it runs."""
    kernel = kernel.replace("CUDA", backend)
    if RELEASE >= (2, 8):
        return (
            f"Expected all tensors to be on the same device, but got {name} is on {device}, "
            f"different from other tensors on {common} (when checking argument in method {kernel})"
        )
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{common} and {device}! (when checking argument for argument {name} in method {kernel})"
    )


def two_devices(common: object, device: object) -> str:
    """What element-wise operations say."""
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{common} and {device}!"
    )


def to_numpy(device: object) -> str:
    return (
        f"can't convert {device} device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )


def gradient_device(index: int, expected: object, found: object) -> str:
    return f"invalid gradient at index {index} - expected device {expected} but got {found}"


def generator_device(expected: str, found: str) -> str:
    return f"Expected a '{expected}' device type for generator but found '{found}'"


def legacy_device(expected: str, found: str) -> str:
    return f"legacy constructor expects device type: {expected} but device type: {found} was passed"


def no_float64(title: str) -> str:
    return (
        f"Cannot convert a {title} Tensor to float64 dtype as the {title} framework doesn't "
        "support float64. Please use float32 instead."
    )


def addcmul_scalar(name: str) -> str:
    text = (
        f"CPU Scalar support for {name} argument is not supported when calling addcmul on CUDA "
        "tensors."
    )
    if name == "tensor1":
        text += (
            " However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and "
            "tensor2 terms."
        )
    return text


def assigned_gradient(tensor: torch.device, gradient: torch.device) -> str:
    """What `.grad =` says."""
    if tensor.type != gradient.type:
        found, expected, at = (
            f"with device type '{gradient.type}'",
            f"'{tensor.type}'",
            "with device type",
        )
    else:
        found = f"located on device with index '{gradient.index}'"
        expected, at = f"'{tensor.index}'", "located on device with index"
    return (
        f"attempting to assign a gradient {found} to a tensor {at} {expected}. "
        "Please ensure that the gradient and the tensor are on the same device"
    )


def without_kernel(operator: str, title: str) -> str:
    """What the dispatcher says of an operator that only the CPU has. The list of backends that
    it ends with is that of the build, and left out.
    """
    return (
        f"Could not run 'aten::{operator}' with arguments from the '{title}' backend. This could "
        "be because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build). If you are a Facebook employee "
        "using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible "
        f"resolutions. 'aten::{operator}' is only available for these backends: [CPU"
    )
