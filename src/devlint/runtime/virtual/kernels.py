"""Operators whose kernels decide for themselves which devices may meet, and with which words."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from devlint.runtime.virtual import texts
from devlint.runtime.virtual.checks import (
    Call,
    Place,
    Rule,
    as_first,
    common,
    compare,
    element_wise,
    iterate,
    same,
    where_they_differ,
)
from devlint.runtime.virtual.errors import Operand, device_error
from devlint.runtime.virtual.tags import CPU, NEUTRAL, tensors_in


def index(call: Call) -> Place:
    """`x[i]`: indices may be on the CPU wherever `x` is."""
    self = call.operand("self")
    for tensor in tensors_in(call.argument("indices")):
        found = call.operand("index", tensor)
        if found.device is not CPU and found.differs_from(self):
            call.fail(
                "indices should be either on cpu or on the same device as the indexed tensor "
                f"({self.device})",
                [self, found],
            )
    return self.device


def index_put(call: Call) -> Place:
    """`x[i] = v`: a 0-dimensional value is copied, and so is one number under a mask.

    Indices are moved to where `x` is, wherever they are.
    """
    self = call.operand("self")
    values = call.operand("values")
    if not self.differs_from(values):
        return self.device
    accumulate = call.argument("accumulate", False)
    if values.tensor.dim() == 0 or (not accumulate and _fills_under_mask(call, self, values)):
        return self.device
    ordered = torch.are_deterministic_algorithms_enabled() and values.tensor.numel() > 1
    if (accumulate or ordered) and self.device is not CPU:
        call.fail(
            f"expected device {self.device} but got device {values.device} for value tensor",
            [self, values],
        )
    return iterate(call, [self, values], (), 0)


def _fills_under_mask(call: Call, self: Operand, values: Operand) -> bool:
    """Whether PyTorch turns the write into `masked_fill_` with a number."""
    if values.tensor.numel() != 1 or values.device is not CPU:
        return False
    return all(
        mask is None
        or (
            mask.dtype in (torch.bool, torch.uint8) and call.operand("", mask).device == self.device
        )
        for mask in call.argument("indices")
    )


def copy(call: Call) -> Place:
    """`copy_` crosses devices."""
    here = call.operand("self").device
    return call.operand("src").device if here is NEUTRAL else here


@where_they_differ
def convolution(call: Call, operands: list[Operand]) -> Place:
    """cuDNN and oneDNN compare types; the plain kernels leave it to their wrappers."""
    data, weight, *bias = operands
    if data.device is CPU and not _is_work_for_onednn(call, data.tensor, weight.tensor):
        if data.tensor.dim() == 5:
            text = texts.without_kernel("slow_conv3d_forward", call.machine.kind.title)
            raise device_error(NotImplementedError, text, operands, "convolution")
        return compare(call, operands, "_slow_conv2d_forward")
    for name, other in (("weight", weight), *(("bias", each) for each in bias)):
        if data.device == other.device:
            continue
        if data.device.type == other.device.type:
            break
        onednn = other is weight and data.device is CPU
        tail = " or input should be a MKLDNN tensor and weight is a dense tensor" if onednn else ""
        call.fail(
            f"Input type ({texts.type_string(data.tensor, data.device)}) and {name} type "
            f"({texts.type_string(other.tensor, other.device)}) should be the same{tail}",
            operands,
        )
    result = compare(call, operands)
    return iterate(call, [data, *bias], (), 0) if bias else result  # it is added at the end


_LITTLE = 20480
"""Numbers of one image that the CPU convolves without oneDNN."""


def _is_work_for_onednn(call: Call, data: Tensor, weight: Tensor) -> bool:
    """Whether the CPU would take oneDNN for it, as PyTorch's `use_mkldnn` decides."""
    transposed, groups = call.argument("transposed", False), call.argument("groups", 1)
    kernel, batch = weight.shape[2:], data.shape[0]
    large_kernel = len(kernel) > 1 and all(size > 3 for size in kernel[-2:])
    steps = (*call.argument("stride", ()), *call.argument("dilation", ()), *kernel[-2:])
    pays = batch >= 16 or any(step != 1 for step in steps) or torch.get_num_threads() > 1
    return (
        data.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and pays
        and (groups > 1 or large_kernel or batch > 1 or data.numel() > _LITTLE)
    ) or bool(transposed)


@where_they_differ
def batch_norm(call: Call, operands: list[Operand]) -> Place:
    """cuDNN takes what has more than two dimensions, a weight and a bias."""
    data = operands[0]
    named = {operand.name for operand in operands}
    cudnn = call.machine.owns(data.device) and data.tensor.dim() > 2 and {"weight", "bias"} <= named
    return compare(call, operands, "cudnn_batch_norm" if cudnn else "native_batch_norm")


@where_they_differ
def matrix_vector(call: Call, operands: list[Operand]) -> Place:
    """`mv` adds the product to an empty tensor that it makes where the vector is."""
    matrix, vector, *out = operands
    result, kernel = (out[0], "addmv.out") if out else (replace(vector, name="self"), "addmv_")
    return compare(call, [result, replace(matrix, name="mat"), vector], kernel)


@where_they_differ
def logical(call: Call, operands: list[Operand]) -> Place:
    """`logical_and` writes into an empty tensor that it makes where the first operand is."""
    self, other, *out = operands
    written = out[0] if out else self
    shared = call.accelerator(operands)
    if written.device not in (shared, NEUTRAL):
        call.fail(texts.two_devices(shared, written.device), operands)
    return iterate(call, [self, other], {"self", "other"}, 1)


@where_they_differ
def into_new(call: Call, operands: list[Operand]) -> Place:
    """`complex` and `polar` write into an empty tensor that they make where the first one is."""
    return compare(call, operands, f"{call.signature.base}.out")


@where_they_differ
def sparse_tensor(call: Call, operands: list[Operand]) -> Place:
    compared = [operand for operand in operands if operand.name in ("indices", "values")]
    kernel = "wrapper_SparseCUDA___sparse_coo_tensor_with_dims_and_tensors"
    return compare(call, compared, kernel=kernel)


def masked_fill(call: Call) -> Place:
    self = call.operand("self")
    mask = call.operand("mask")
    value = call.argument("value")
    if NEUTRAL in (self.device, mask.device):
        return self.device
    if isinstance(value, Tensor) and self.device is CPU:
        filled = call.operand("value", value)
        if call.machine.owns(mask.device) or call.machine.owns(filled.device):
            call.fail("masked_fill_: Expected inputs to be on same device", [self, mask, filled])
    if self.device != mask.device:
        call.fail(
            "expected self and mask to be on the same device, but got mask on "
            f"{mask.device} and self on {self.device}",
            [self, mask],
        )
    return self.device


@where_they_differ
def where(call: Call, operands: list[Operand]) -> Place:
    """All 0-dimensional operands are moved to the first accelerator among them."""
    target = call.accelerator(operands)
    for operand in operands:
        if operand.tensor.dim() > 0 and operand.device not in (NEUTRAL, target):
            call.fail(texts.two_devices(target, operand.device), operands)
    return target


def beside_first(call: Call) -> Place:
    """Each is compared with the first one, by the function itself and in words of its own."""
    first, *others = call.operands()
    for index, other in enumerate(others, 1):
        if other.differs_from(first):
            text = _BESIDE_FIRST[call.signature.base].format(
                first.device, other.device, index=index, name=other.name
            )
            call.fail(text, [first, other])
    return first.device


_BESIDE_FIRST = {
    "block_diag": "torch.block_diag: input tensors must all be on the same device. Input 0 is on "
    "device {0} and input {index} is on device {1}",
    "cholesky_solve": "Expected b and A to be on the same device, but found b on {0} and A on {1} "
    "instead.",
    "segment_reduce": "Expected data.get_device() == {name}_value.get_device() to be true, but got "
    "false.  (Could this error message be improved?  If so, please report an enhancement request "
    "to PyTorch.)",
}


def index_fill(call: Call) -> Place:
    """The value is read from wherever it is."""
    self = call.operand("self")
    return iterate(call, [self, call.operand("index")], (), 0)


@where_they_differ
def addcmul(call: Call, operands: list[Operand]) -> Place:
    """Of three operands one may be a CPU scalar, and only the last."""
    if call.signature.base.endswith("_") or texts.RELEASE < (2, 7):
        return element_wise(call)
    shared = iterate(call, operands, {operand.name for operand in operands}, 1)
    for operand in operands[:2]:
        if operand.device is CPU:
            call.fail(texts.addcmul_scalar(operand.name), operands)
    return shared


@where_they_differ
def search(call: Call, operands: list[Operand]) -> Place:
    """`sorter` can be given by keyword only, and such arguments aren't compared by the wrapper."""
    *compared, last = operands
    boundaries, agreed = common(compared)
    if last.name == "sorter" and agreed:
        call.fail(
            "torch.searchsorted(): sorter and boundary tensors should have same device type, but "
            f"got sorter tensor device type {last.device} and input value tensor device type "
            f"{boundaries}",
            operands,
        )
    return compare(call, operands)


def foreach(call: Call) -> Place:
    """Lists of tensors, row by row, as the operator for one tensor; `_foreach_copy_` copies."""
    base = call.signature.base
    given = [(name, call.argument(name)) for name in call.signature.tensors]
    lists = [
        [call.operand(name, item) for item in value]
        for name, value in given
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor)
    ]
    if not lists:
        return NEUTRAL
    for name, value in given:
        if isinstance(value, Tensor):
            _check_scalar(call, lists[0], call.operand(name, value))
    if not base.startswith("_foreach_copy"):
        operator, *names = _SINGLE.get(base, ("",))
        for row in zip(*lists, strict=False):
            if common(row)[1]:
                continue
            if operator:
                renamed = [replace(o, name=name) for name, o in zip(names, row, strict=False)]
                compare(call, renamed, operator)
            else:
                iterate(call, list(row), {operand.name for operand in row}, 1)
    return [operand.device for operand in lists[0]]


def _check_scalar(call: Call, tensors: list[Operand], scalar: Operand) -> None:
    """One scalar for all, as a tensor: a CPU one is read, another is where the tensors are."""
    first = tensors[0]
    if not common(tensors)[1]:  # one by one
        for tensor in tensors:
            if not common((tensor, scalar))[1]:
                iterate(call, [tensor, scalar], {tensor.name, scalar.name}, 1)
    elif call.machine.owns(first.device):
        free = scalar.device is CPU and not call.signature.base.startswith("_foreach_add")
        if not free and scalar.device not in (NEUTRAL, first.device):
            verb = "is expected" if call.signature.base.endswith("_") else "expected"
            text = f"scalar tensor {verb} to be on {first.device} but is on {scalar.device}"
            call.fail(text, [first, scalar])


_SINGLE = {
    f"_foreach_{name}{end}": (f"clamp_{limit}{end}.Tensor", "self", limit)
    for name, limit in (
        ("maximum", "min"), ("clamp_min", "min"), ("minimum", "max"), ("clamp_max", "max"),
    )
    for end in ("", "_")
}  # fmt: skip
"""Those that aren't element-wise for one tensor: its operator and the names of its arguments."""


def packed(call: Call) -> Place:
    """Lengths stay on the CPU, and so do the batch sizes that come back."""
    data = call.operand("input")
    lengths = call.operand("lengths")
    if call.machine.owns(lengths.device):
        call.fail(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.tensor.dim()}D {lengths.device} {texts.scalar_type(lengths.tensor)} tensor",
            [data, lengths],
        )
    return [data.device, CPU]


@where_they_differ
def embedding(call: Call, operands: list[Operand]) -> Place:
    """It selects rows of the weight."""
    weight, indices = operands
    renamed = [weight, replace(indices, name="index")]
    return compare(call, renamed, kernel="wrapper_CUDA__index_select")


_BY_NAME: dict[Rule, str] = {
    as_first: """
        _to_copy set_ _local_scalar_dense lift_fresh _has_compatible_shallow_copy_type is_same_size
        _ctc_loss _ctc_loss_backward _pack_padded_sequence_backward fill_.Tensor fill.Tensor
        resize_as_ resize_ record_stream repeat_interleave.Tensor bernoulli_.Tensor bernoulli.Tensor
        select_scatter slice_scatter diagonal_scatter as_strided_scatter
    """,
    same: "stack _scaled_dot_product_flash_attention_for_cpu",
    addcmul: "addcmul addcmul_",
    batch_norm: "native_batch_norm _native_batch_norm_legit",
    beside_first: " ".join(_BESIDE_FIRST),
    convolution: "convolution _convolution mkldnn_convolution",
    copy: "copy_ copy",
    embedding: "embedding",
    index: "index.Tensor _unsafe_index.Tensor",
    index_fill: "index_fill.int_Tensor index_fill_.int_Tensor",
    index_put: "index_put_ index_put _index_put_impl_ _unsafe_index_put",
    into_new: "complex polar",
    logical: "logical_and logical_or logical_xor",
    masked_fill: "masked_fill masked_fill_",
    matrix_vector: "mv",
    packed: "_pack_padded_sequence",
    search: "searchsorted.Tensor searchsorted.Scalar",
    sparse_tensor: "_sparse_coo_tensor_with_dims_and_tensors",
    where: "where.self where.self_out",
}
RULES = {name: rule for rule, names in _BY_NAME.items() for name in names.split()}
"""By overload, or for all overloads of a name."""
