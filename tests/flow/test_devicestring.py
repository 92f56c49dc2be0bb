"""`devicestring.parse` against `torch.device` itself."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from devlint.flow.domain.devicestring import DEVICE_TYPES, Misspelling, parse
from devlint.flow.domain.lattice import Known

pytestmark = pytest.mark.filterwarnings("ignore:'mkldnn' is no longer used")


def what_torch_says(text: str) -> Known | str:
    try:
        device = torch.device(text)
    except RuntimeError as error:
        return str(error)
    return Known(device.type, device.index)


def read(text: str) -> Known | str:
    found = parse(text)
    return found if isinstance(found, Known) else found.message


STRINGS = [
    "cpu", "cuda", "cuda:0", "cuda:7", "cuda:10", "mps", "mps:0", "meta", "meta:3", "xpu:1",
    "gpu", "GPU", "CUDA", "Cuda", "CPU", "CUDA:0", "gpu:0", "gpu0", "cu", "cudas", "npu", "tpu",
    "tpu:1", "rocm", "metal", "auto", "_x", "cuda_0", "cuda_", "a:0", "none", "None",
    "", " ", ":", ":0", "0", "1", "-1", "cuda:", "cuda:-1", "cuda:+1", "cuda0", "cuda1", "cuda-0",
    "cuda.0", "cuda/0", "cuda:a", "cuda:O", "cuda::0", "cuda:0:1", "cuda:0,1", "cuda:0, cuda:1",
    "cuda ", " cuda", "cuda: 0", "cuda:0 ", "cuda\n", "cuda:0\n", "cuda\0", "cuda:\0", "cu\0da",
    "cuda:00", "cuda:01", "cpu:0", "cpu:1", "cpu:-1", "cuda:1_0", "cuda:0x1", "cuda:1e1",
    "cuda:\u0664", "cuda:\u00b2", "\u00e9", "cud\u0430", "cuda:\uff11",
    "cuda:127", "cuda:128", "cuda:254", "cuda:255", "cuda:256", "cuda:65535", "cuda:2147483647",
    "cuda:2147483648", "gpu:2147483648", "cuda:99999999999999999999", "gpu:", "gpu:01", "gpu:0:1",
    "cuda:" + "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", [*STRINGS, *DEVICE_TYPES, *(f"{t}:1" for t in DEVICE_TYPES)])
def test_a_string_is_read_as_torch_reads_it(text: str) -> None:
    assert read(text) == what_torch_says(text)


near_devices = st.lists(
    st.sampled_from(
        ["cuda", "cpu", "mps", "gpu", "c", ":", "0", "1", "9", "-", " ", "_", "\0", "é"]
    ),
    max_size=6,
).map("".join)


@given(st.text(max_size=12) | near_devices)
@example("cuda:0")
def test_any_string_is_read_as_torch_reads_it(text: str) -> None:
    assert read(text) == what_torch_says(text)


@given(st.sampled_from(DEVICE_TYPES), st.integers(0, 2**40))
def test_any_index_is_read_as_torch_reads_it(device_type: str, index: int) -> None:
    text = f"{device_type}:{index}"
    assert read(text) == what_torch_says(text)


def test_the_types_are_those_that_torch_lists() -> None:
    listed = what_torch_says("nowhere")
    assert isinstance(listed, str)
    assert listed.startswith(f"Expected one of {', '.join(DEVICE_TYPES)} device type")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("npu", Known("npu")), ("npu:3", Known("npu", 3)), ("cuda", Known("cuda"))],
)
def test_types_of_other_backends_are_added(text: str, expected: Known) -> None:
    assert parse(text, frozenset({"npu"})) == expected


def test_an_added_type_follows_the_same_syntax() -> None:
    assert parse("npu:", frozenset({"npu"})) == Misspelling("Invalid device string: 'npu:'")
    unknown = parse("tpu", frozenset({"npu"}))
    assert isinstance(unknown, Misspelling)
    assert unknown.unknown_type == "tpu"
