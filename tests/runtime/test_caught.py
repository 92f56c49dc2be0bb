"""Errors that somebody has caught: chains, groups, texts of workers, all of PyTorch's wordings."""

from __future__ import annotations

import builtins
import dataclasses
import linecache
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.pool import RemoteTraceback  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch._utils import ExceptionWrapper
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from devlint import emulate
from devlint.config import rulebook
from devlint.crashes.messages import read_words
from devlint.runtime.explain import Explanation, explain
from devlint.runtime.explaining.caught import Told, explain_error, tell
from devlint.runtime.explaining.notes import NAME
from devlint.runtime.explaining.stack import live
from devlint.runtime.explaining.written import read_written
from devlint.runtime.operands import REAL, OperandFacts, Reader, Site
from devlint.runtime.virtual.errors import READER
from devlint.runtime.virtual.tags import shown_place

REAL_LIKE = Reader(shown_place, lambda tensor: None)
"""What a real accelerator would tell: devices, and no notes of an emulation."""
WORDS = "Expected all tensors to be on the same device, but found at least two devices, "
exact = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)


def mixed() -> None:
    """Fails as an addition of two places does."""
    x = torch.ones(3)
    y = torch.ones(3).cuda()
    y + x


def bare(error: BaseException) -> BaseException:
    """An error as a real accelerator raises it: devlint hasn't seen it yet."""
    for name in ("devlint_explanation", "devlint_operands", "devlint_operation", "__notes__"):
        error.__dict__.pop(name, None)
    return error


@pytest.fixture
def card() -> Iterator[None]:
    with emulate("cuda", count=2):
        yield


on_card = pytest.mark.usefixtures("card")


def caught(function: Callable[[], object]) -> Exception:
    """What a function raises."""
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def real(function: Callable[[], object]) -> Exception:
    """What a function raises, as a real accelerator would."""

    def run() -> None:
        try:
            function()
        except Exception as error:
            bare(error)
            raise

    return caught(run)


def notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


# --- chains


@on_card
def test_an_error_gets_a_note_and_stays_what_it_is() -> None:
    error = real(mixed)
    before = type(error), str(error), error.args, error.__traceback__
    told = tell(error, (), REAL_LIKE)
    assert told is not None
    assert told.headline == "y + x takes y on cuda:0 and x on cpu"
    assert (type(error), str(error), error.args, error.__traceback__) == before
    assert notes(error) == [str(told)]
    assert error.devlint_explanation is told  # type: ignore[attr-defined]


@on_card
def test_what_is_told_once_is_not_told_again() -> None:
    error = real(mixed)
    told = tell(error, (), REAL_LIKE)
    assert tell(error, live(), REAL) is told
    assert len(notes(error)) == 1


@on_card
def test_the_error_of_an_emulation_is_explained_already() -> None:
    error = caught(mixed)
    assert len(notes(error)) == 1
    assert tell(error) is error.devlint_explanation  # type: ignore[attr-defined]
    assert len(notes(error)) == 1


@on_card
def test_the_note_is_on_the_error_that_python_prints_first() -> None:
    def wrapped() -> None:
        try:
            mixed()
        except RuntimeError as error:
            bare(error)
            raise ValueError("training failed") from error

    error = caught(wrapped)
    told = explain_error(error, (), REAL_LIKE)
    assert told is not None
    assert told.error is told.carrier is error.__cause__
    tell(error, (), REAL_LIKE)
    assert notes(error) == []
    assert len(notes(told.carrier)) == 1


@on_card
def test_an_error_that_came_up_on_the_way_is_passed_over() -> None:
    def wrapped() -> None:
        try:
            mixed()
        except RuntimeError as error:
            bare(error)
            {}["metrics"]

    error = caught(wrapped)
    assert isinstance(error, KeyError)
    tell(error, (), REAL_LIKE)
    assert notes(error) == []
    assert error.__context__ is not None
    assert len(notes(error.__context__)) == 1


@on_card
def test_a_hidden_error_gives_its_note_to_the_one_that_is_shown() -> None:
    def wrapped() -> None:
        try:
            mixed()
        except RuntimeError as error:
            bare(error)
            raise ValueError("training failed") from None

    error = caught(wrapped)
    told = explain_error(error, (), REAL_LIKE)
    assert told is not None
    assert (told.error, told.carrier) == (error.__context__, error)
    tell(error, (), REAL_LIKE)
    assert len(notes(error)) == 1
    assert tell(error) is tell(error)
    assert len(notes(error)) == 1


@on_card
def test_an_emulated_error_that_is_hidden_is_shown_by_another() -> None:
    def wrapped() -> None:
        try:
            mixed()
        except RuntimeError:
            raise ValueError("training failed") from None

    error = caught(wrapped)
    told = tell(error)
    assert told is not None
    assert notes(error) == [str(told)]


@on_card
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 has groups")
def test_the_members_of_a_group_are_looked_at() -> None:
    group_of: Any = vars(builtins)["ExceptionGroup"]

    def wrapped() -> None:
        errors = []
        for function in (lambda: {}["a"], mixed):
            try:
                function()
            except Exception as error:
                errors.append(bare(error))
        raise group_of("two failed", errors)

    error = caught(wrapped)
    tell(error, (), REAL_LIKE)
    assert notes(error) == []
    assert [len(notes(member)) for member in error.exceptions] == [0, 1]  # type: ignore[attr-defined]


@on_card
def test_the_frames_above_the_one_that_catches_are_known() -> None:
    """Which line gave the tensor to the model is above the module that has caught the error."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.told: Explanation | None = None

        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.fc(x)
            except RuntimeError as error:
                with torch._C.DisableTorchFunction():
                    bare(error)
                self.told = tell(error, live(), REAL_LIKE)
                raise

    model = Net()

    def train() -> None:
        images = torch.ones(2, 2)
        model.cuda()(images)

    caught(train)
    assert model.told is not None
    assert model.told.module == "fc (Linear)"
    lines = dict(model.told.lines)
    assert lines["passed at"].endswith("model.cuda()(images)")
    assert model.told.fix.startswith("move it before the call: images = images.to(")


@on_card
def test_an_inner_error_has_the_frames_of_the_outer_one_above_it() -> None:
    """A library that wraps errors in its own hides no line of the program."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.fc(x)
            except RuntimeError as error:
                with torch._C.DisableTorchFunction():
                    bare(error)
                raise ValueError("a batch failed") from error

    def train() -> None:
        images = torch.ones(2, 2)
        Net().cuda()(images)

    told = tell(caught(train), (), REAL_LIKE)
    assert told is not None
    assert told.headline == "fc (Linear) received args[0] on cpu; its weight is on cuda:0"
    assert dict(told.lines)["passed at"].endswith("Net().cuda()(images)")


def test_errors_in_a_circle_come_to_an_end() -> None:
    first, second = ValueError("cuda"), ValueError("cuda")
    first.__cause__, second.__cause__ = second, first
    assert tell(first) is None


def test_other_errors_are_left_alone() -> None:
    for error in (
        KeyError("device"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has 8 GiB."),
        RuntimeError("CUDA error: device-side assert triggered"),
        RuntimeError("Input type (float) and bias type (c10::Half) should be the same"),
        RuntimeError(
            "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) "
            "should be the same"
        ),
        ValueError("all inputs must be on the same device"),
        ValueError(),
        ValueError(3, None),
        SystemExit("cuda"),
    ):
        assert tell(error, live()) is None, error
        assert not notes(error)
        assert not hasattr(error, NAME)


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    """An error that refuses new attributes."""

    text: str


class HostileError(Exception):
    """Breaks whatever is asked of it."""

    def __str__(self) -> str:
        raise ValueError("asked")

    __repr__ = __eq__ = __bool__ = __getattr__ = __str__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> None:
        raise ValueError("asked")


@on_card
@pytest.mark.parametrize("kind", [FrozenError, HostileError])
def test_errors_of_strange_classes_are_told_as_well(kind: type[Exception]) -> None:
    def wrapped() -> None:
        try:
            mixed()
        except RuntimeError as error:
            bare(error)
            raise kind("training failed") from None

    error = caught(wrapped)
    told = tell(error, (), REAL_LIKE)
    assert told is not None
    assert error.__dict__["__notes__"] == [str(told)]


@on_card
def test_notes_that_are_none_stay() -> None:
    error = real(mixed)
    error.__notes__ = ("mine",)  # type: ignore[attr-defined]
    assert tell(error, (), REAL_LIKE) is not None
    assert error.__notes__ == ("mine",)  # type: ignore[attr-defined]


@on_card
def test_an_error_with_an_explanation_can_go_to_another_process() -> None:
    error = real(mixed)
    told = tell(error, (), REAL_LIKE)
    again = pickle.loads(pickle.dumps(error))
    assert notes(again) == [str(told)]
    assert tell(again) == told


def test_most_errors_cost_next_to_nothing() -> None:
    errors = [KeyError("a"), StopIteration(), ValueError("bad value " * 300), OSError(2, "gone")]
    stack = live()

    def seconds() -> float:
        start = time.thread_time()
        for _ in range(250):
            for error in errors:
                tell(error, stack)
        return time.thread_time() - start

    assert min(seconds() for _ in range(4)) / 1000 < 50e-6


# --- the fields


@on_card
def test_the_fields_say_what_the_lines_say() -> None:
    model = nn.Sequential(nn.Linear(3, 3))

    def train() -> None:
        images = torch.ones(2, 3)
        model.cuda()(images)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.module == "Sequential"
    assert told.argument == "images"
    assert told.devices == ("cpu", "cuda:0")
    assert told.rule == "input-on-other-device"
    assert told.is_mismatch
    assert told.lines[-2] == ("fix", f"{told.fix}  [{told.code}]")
    url = rulebook.page_url(told.rule)
    assert told.lines[-1] == ("more", f"devlint rule {told.code}, {url}")
    assert str(told) == told.as_text("devlint: ")
    assert told.as_text().startswith("Sequential received")


@on_card
def test_what_the_host_reads_is_no_meeting() -> None:
    told = tell(real(lambda: torch.ones(3).cuda().numpy()), (), REAL_LIKE)
    assert told is not None
    assert (told.rule, told.is_mismatch) == ("numpy-on-accelerator", False)
    assert told.devices[0] == "cuda:0"


def test_a_layer_that_is_checked_before_its_kernels() -> None:
    """The innermost frame is then torch's way into the layer."""
    found: list[Explanation | None] = []

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])

        def forward(self, x: Tensor) -> Tensor:
            return self.layers[0](x)

    def hook(module: nn.Module, args: Any) -> None:
        frame = sys._getframe(1)
        with torch._C.DisableTorchFunction():
            operands = [READER.facts("args[0]", args[0]), READER.facts("weight", module.weight)]
        text = "Expected all tensors to be on the same device"
        found.append(explain(live(frame), text, operands, READER))

    with emulate("cuda"):
        model = Net()
        model.layers[0].register_forward_pre_hook(hook)
        images = torch.ones(2, 2)
        with pytest.raises(RuntimeError):
            model.cuda()(images)
    (told,) = found
    assert told is not None
    assert told.headline == "layers.0 (Linear) received args[0] on cpu; its weight is on cuda:0"
    assert told.is_mismatch


# --- PyTorch's wordings


class Wording(NamedTuple):
    text: str
    kind: str
    stranger: tuple[str, str]
    met: tuple[str, str] = ("", "")
    rule: str = "operands-on-other-devices"
    has_fix: bool = True


def meeting(text: str, stranger: tuple[str, str], met: tuple[str, str], rule: str = "") -> Wording:
    return Wording(text, "meeting", stranger, met, rule or "operands-on-other-devices")


WORDINGS = [
    meeting(
        "Expected all tensors to be on the same device, but got mat1 is on cpu, different from "
        "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
        ("mat1", "cpu"),
        ("", "cuda:0"),
    ),
    meeting(
        f"{WORDS}cuda:0 and cpu! (when checking argument for argument mat1 in method "
        "wrapper_CUDA_addmm)",
        ("mat1", "cpu"),
        ("", "cuda:0"),
    ),
    meeting(
        f"{WORDS}cpu and cuda:0! (when checking arugment for argument index in method "
        "wrapper_index_select)",
        ("index", "cuda:0"),
        ("", "cpu"),
    ),
    meeting(f"{WORDS}cuda:0 and cpu!", ("", "cpu"), ("", "cuda:0")),
    meeting(f"{WORDS}cuda:1 and cuda:0!", ("", "cuda:0"), ("", "cuda:1")),
    meeting(
        "Expected object of device type cuda but got device type cpu for argument #2 'mat1' in "
        "call to _th_addmm",
        ("mat1", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "Expected object of backend CPU but got backend CUDA for argument #2 'weight'",
        ("weight", "cuda"),
        ("", "cpu"),
    ),
    meeting(
        "Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for "
        "argument #2 'weight'",
        ("weight", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking "
        "arguments for addmm)",
        ("mat1", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, but expected them "
        "to be on GPU (while checking arguments for addmm)",
        ("out", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "Expected tensor for argument #1 'input' to have the same device as tensor for argument "
        "#2 'weight'; but device 0 does not equal 1 (while checking arguments for conv)",
        ("weight", "device 1"),
        ("input", "device 0"),
    ),
    meeting(
        "Expected tensor to have cuda DeviceType, but got tensor with cpu DeviceType (while "
        "checking arguments for embedding)",
        ("", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "Expected all tensors to be on the same device. addmm: expected 'mat1' to be a CPU "
        "tensor, but got tensor on cuda:0",
        ("mat1", "cuda:0"),
        ("", "cpu"),
    ),
    meeting(
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the "
        "same or input should be a MKLDNN tensor and weight is a dense tensor",
        ("input", "cpu"),
        ("weight", "cuda"),
    ),
    meeting(
        "Input type (CUDAFloatType) and weight type (CPUFloatType) should be the same",
        ("input", "cuda"),
        ("weight", "cpu"),
    ),
    meeting(
        "Input type (torch.FloatTensor) and bias type (torch.cuda.FloatTensor) should be the same",
        ("input", "cpu"),
        ("bias", "cuda"),
    ),
    meeting(
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and "
        "hidden tensor at cpu",
        ("input", "cuda:0"),
        ("hidden", "cpu"),
    ),
    meeting(
        "Expected query, key, and value to have the same device type, but got query.device: "
        "cuda:0 key.device: cpu and value.device: cuda:0 instead.",
        ("key", "cpu"),
        ("query", "cuda:0"),
    ),
    meeting(
        "grid_sampler(): expected input and grid to be on same device, but input is on cuda:0 "
        "and grid is on cpu",
        ("grid", "cpu"),
        ("input", "cuda:0"),
    ),
    meeting(
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
        ("mask", "cpu"),
        ("self", "cuda:0"),
    ),
    meeting(
        "put_(): self, index and source expected to be in the same device, but got self.device = "
        "cuda:0, index.device = cpu, and source.device = cuda:0",
        ("index", "cpu"),
        ("self", "cuda:0"),
    ),
    meeting(
        "index_copy_(): self, index and source expected to be in the same device, but got (self) "
        "cuda:0, (index) cpu, and (source) cuda:0",
        ("index", "cpu"),
        ("self", "cuda:0"),
    ),
    meeting(
        "Expected b and A to be on the same device, but found b on cpu and A on cuda:0 instead.",
        ("b", "cpu"),
        ("A", "cuda:0"),
    ),
    meeting(
        "stft input and window must be on the same device but got self on cuda:0 and window on cpu",
        ("window", "cpu"),
        ("self", "cuda:0"),
    ),
    meeting(
        "boundaries tensor and input value tensor should have same device type, but got "
        "boundaries tensor device type cpu and input value tensor device type cuda",
        ("input", "cuda"),
        ("boundaries", "cpu"),
    ),
    meeting("expected device cuda:0 but got device cpu for value tensor", ("value", "cpu"),
            ("", "cuda:0")),
    meeting(
        'Attempted to set the storage of a tensor on device "cpu" to a storage on different '
        'device "cuda:0".  This is no longer allowed; the devices must match.',
        ("", "cpu"),
        ("", "cuda:0"),
    ),
    meeting(
        "torch.cat(): all input tensors must be on the same device. Received cuda:0 and cpu",
        ("", "cpu"),
        ("", "cuda:0"),
    ),
    meeting("Cannot compare two tensors on different devices. Got: cuda:0 and cpu", ("", "cpu"),
            ("", "cuda:0")),
    meeting("X1 and X2 must have the same device type. X1: cuda X2: cpu", ("X2", "cpu"),
            ("X1", "cuda")),
    meeting(
        "tensordot: Expected the output and input tensors to be on the same device, but got the "
        "output tensor on cpu, input tensor a on cuda:0, and input tensor b on cuda:0",
        ("output", "cpu"),
        ("input", "cuda:0"),
    ),
    meeting(
        "Dynamo failed to run FX node with fake tensors: call_function <built-in function add>: "
        "got RuntimeError('Unhandled FakeTensor Device Propagation for aten.add.Tensor, found "
        "two different devices cuda:0, cpu')",
        ("", "cpu"),
        ("", "cuda:0"),
    ),
    meeting("Expected scalars to be on CPU, got cuda:0 instead.", ("scalars", "cuda:0"),
            ("", "cpu")),
    meeting(
        "attempting to assign a gradient with device type 'cpu' to a tensor with device type "
        "'cuda'. Please ensure that the gradient and the tensor are on the same device",
        ("", "cpu"),
        ("", "cuda"),
    ),
    meeting(
        "attempting to assign a gradient of type 'torch.FloatTensor' to a tensor of type "
        "'torch.cuda.FloatTensor'. Please ensure that the gradient and the tensor are the same",
        ("", "cpu"),
        ("", "cuda"),
    ),
    Wording("Tensor on device meta is not on the expected device cpu!", "meeting",
            ("", "meta"), ("", "cpu"), ""),
    Wording(
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        "index", ("indices", ""), ("", "cpu"), "index-on-other-device",
    ),
    Wording(
        "Function AddmmBackward0 returned an invalid gradient at index 1 - expected device "
        "cuda:0 but got cpu",
        "gradient", ("", "cpu"), ("", "cuda:0"), "",
    ),
    Wording(
        "Tensors of the same index must be on the same device and the same dtype except `step` "
        "tensors that can be CPU and float32/64",
        "optimizer", ("", ""), rule="optimizer-before-move",
    ),
    Wording(
        "`fused=True` requires all the params to be floating point Tensors of supported devices: "
        "['mps', 'cuda', 'xpu'] but torch.float32 and cpu",
        "fused", ("fused=True", "cpu"), rule="",
    ),
    Wording(
        "If capturable=True, params and state_steps must be on supported devices: ['cuda'].",
        "fused", ("capturable=True", ""), rule="",
    ),
    Wording(
        "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
        "to host memory first.",
        "numpy", ("", "cuda:0"), rule="accelerator-tensor-in-host-library",
    ),
    Wording(
        "can't convert CUDA tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
        "first.",
        "numpy", ("", ""), rule="accelerator-tensor-in-host-library",
    ),
    Wording("apply_ is only implemented on CPU tensors", "host", ("", ""),
            rule="cpu-only-argument"),
    Wording("map2_ is only implemented on CPU tensors", "host", ("", ""),
            rule="cpu-only-argument"),
    Wording(
        "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0",
        "host", ("", ""), rule="cpu-only-argument",
    ),
    Wording("Expected a 'cuda' device type for generator but found 'cpu'", "generator",
            ("", "cpu"), ("", "cuda"), "generator-on-other-device"),
    Wording("Expected a 'cuda:0' generator device but found 'cpu'", "generator",
            ("", "cpu"), ("", "cuda:0"), "generator-on-other-device"),
    Wording("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned", "pinned",
            ("", ""), rule=""),
    Wording("'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
            "lengths", ("", "cuda:0"), rule="cpu-only-argument"),
    Wording(
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found "
        "one of them on device: cpu",
        "replica", ("", "cpu"), ("", "cuda:0"), "module-wrapped-before-move",
    ),
    Wording(
        "DistributedDataParallel's input module must be on the same type of devices, but input "
        "module parameters locate in {'cuda', 'cpu'}.",
        "replica", ("", ""), rule="module-wrapped-before-move",
    ),
    Wording("Found two parameters on different devices, this is currently not supported.",
            "parameters", ("", ""), rule=""),
    Wording(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
        "False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU.",
        "load", ("", "cuda"), rule="load-without-map-location",
    ),
    Wording(
        "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. "
        "Please use torch.load with map_location to map your storages to an existing device.",
        "load", ("", "cuda"), rule="load-without-map-location",
    ),
    Wording("Torch not compiled with CUDA enabled", "missing", ("", "cuda"), rule=""),
    Wording("PyTorch is not linked with support for cuda devices", "missing", ("", "cuda"),
            rule=""),
    Wording("No CUDA GPUs are available", "missing", ("", "cuda"), rule=""),
    Wording("Found no NVIDIA driver on your system. It needs a device.", "missing", ("", ""),
            rule=""),
    Wording(
        "CUDA error: invalid device ordinal\nCUDA kernel errors might be asynchronously reported",
        "ordinal", ("", "cuda"), rule="",
    ),
    Wording("Invalid device id", "ordinal", ("", ""), rule=""),
    Wording(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' start method",
        "fork", ("", "cuda"), rule="accelerator-in-worker",
    ),
    Wording(
        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead",
        "empty", ("", "meta"), rule="",
    ),
    Wording("No backend type associated with device type cpu", "backend", ("", "cpu"),
            rule="cpu-tensor-in-collective"),
]  # fmt: skip


def raiser(text: str) -> Callable[..., Any]:
    """A function of torch that fails with a text."""
    code = compile("def operation(*args): raise RuntimeError(text)", torch.__file__, "exec")
    names = {"text": text}
    exec(code, names)
    return names["operation"]  # type: ignore[return-value]


def handed_on(left: object, right: object, operation: Callable[..., Any]) -> None:
    operation(left, right)


@pytest.mark.parametrize("case", WORDINGS, ids=lambda case: case.text[:60])
def test_each_wording_is_known(case: Wording) -> None:
    words = read_words(case.text)
    assert words is not None
    assert words.kind == case.kind
    operands = (*words.operands, ("", ""), ("", ""))[:2]
    assert operands == (case.stranger, case.met)


@pytest.mark.parametrize("case", WORDINGS, ids=lambda case: case.text[:60])
def test_each_wording_is_explained_where_frames_know_nothing(case: Wording) -> None:
    try:
        handed_on(1, 2, raiser(case.text))
    except RuntimeError as error:
        told = tell(error)
    assert told is not None
    assert told.rule == case.rule
    assert bool(told.fix) == case.has_fix
    assert dict(told.lines)["used at"].endswith("operation(left, right)")
    for device in (case.stranger[1], case.met[1]):
        assert any(found.startswith(device) for found in (*told.devices, ""))
        assert device in str(told)


@on_card
def test_the_text_tells_which_part_of_a_line_is_meant() -> None:
    """Two parts have no value that is known: what PyTorch calls them is said."""

    def fails(x: Tensor, w: Tensor, operation: Callable[..., Any]) -> None:
        operation(x.fft(), w.fft())

    with pytest.raises(RuntimeError) as error:
        fails(Fft(), Fft(), raiser(WORDINGS[0].text))  # type: ignore[arg-type]
    told = tell(error.value, (), REAL_LIKE)
    assert told is not None
    assert told.headline.startswith("operation(x.fft(), w.fft()) takes")
    assert told.headline.endswith("takes mat1 on cpu and another tensor on cuda:0")
    assert dict(told.lines)["operand"] == "mat1 of addmm: on cpu"
    assert told.fix == "move mat1 to cuda:0 before this line"


class Fft:
    def fft(self) -> int:
        return 1


LOADS = """
import torch

def restore(path):
    return torch.load(path, weights_only=True)
"""


def test_a_file_of_another_machine(tmp_path: Path) -> None:
    with emulate("cuda", count=2):
        torch.save(torch.ones(2, device="cuda:1"), tmp_path / "model.pt")
    names: dict[str, Any] = {}
    source = tmp_path / "restore.py"
    source.write_text(LOADS, "utf-8")
    exec(compile(LOADS, str(source), "exec"), names)
    if torch.cuda.is_available():
        pytest.skip("this machine can load it")
    # Older ones say that loading has failed, and keep the words of the cause.
    with pytest.raises((RuntimeError, pickle.UnpicklingError)) as error:
        names["restore"](tmp_path / "model.pt")
    told = tell(error.value)
    assert told is not None
    assert told.rule == "load-without-map-location"
    shown = 'torch.load(path, weights_only=True, map_location="cpu")'
    assert told.fix == f"say where to load them: {shown}"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda: torch.ones(2).cuda(), "hardcoded-cuda-call"),
        (lambda: torch.ones(2, device="cuda"), "hardcoded-cuda-device"),
        (lambda: torch.cuda.synchronize(), "unguarded-cuda-api"),
    ],
)
def test_a_machine_without_an_accelerator(function: Callable[[], Any], rule: str) -> None:
    with pytest.raises((RuntimeError, AssertionError)) as error:
        function()
    told = tell(error.value)
    assert told is not None
    if sys.version_info >= (3, 11):
        assert told.rule == rule
    assert not told.is_mismatch


# --- text in the place of frames

PROGRAM = """\
import torch
from torch import nn
import torch.nn.functional as F


class Data:
    def __getitem__(self, index):
        mean = torch.zeros(3)
        x = torch.ones(3, device="cuda") + mean
        return x

    def discards(self, x):
        x.to("cuda")
        return F.relu(self.table + x)

    def array(self, x):
        return x.numpy()


class Net(nn.Module):
    def forward(self, x):
        return self.fc(x)
"""
SENT = "Caught RuntimeError in DataLoader worker process 0.\nOriginal "
TORCH = "/opt/lib/python3.11/site-packages/torch"


def line(text: str) -> int:
    return 1 + next(i for i, each in enumerate(PROGRAM.splitlines()) if text in each)


def traceback_text(
    text: str, error: str, marks: bool = True, below: tuple[str, ...] = (), function: str = ""
) -> str:
    """The text of a traceback that ends in a line of the program."""
    number = line(text)
    shown = PROGRAM.splitlines()[number - 1].strip()
    start = shown.find(text)
    lines = [
        "Traceback (most recent call last):",
        f'  File "{TORCH}/utils/data/_utils/worker.py", line 349, in _worker_loop',
        "    data = fetcher.fetch(index)",
        "           ^^^^^^^^^^^^^^^^^^^^",
        f'  File "program.py", line {number}, in {function or "__getitem__"}',
        f"    {shown}",
    ]
    if marks and text != shown:
        lines.append("    " + " " * start + "~" * (len(text) - 1) + "^")
    return "\n".join([*lines, *below, f"RuntimeError: {error}", ""])


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    linecache.clearcache()
    return tmp_path


ADDITION = 'torch.ones(3, device="cuda") + mean'


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize(
    ("frame", "sender"),
    [
        ("Caught RuntimeError in DataLoader worker process 0.\nOriginal {}",
         "DataLoader worker process 0"),
        ("Caught RuntimeError in replica 0 on device 0.\nOriginal {}", "replica 0 on device 0"),
        ("\n\n-- Process 1 terminated with the following error:\n{}", "Process 1"),
        ('\n"""\n{}"""', ""),
    ],
)  # fmt: skip
def test_a_worker_sends_text(program: Path, frame: str, sender: str, marks: bool) -> None:
    text = frame.format(traceback_text(ADDITION, f"{WORDS}cuda:0 and cpu!", marks))
    error = RuntimeError(text)
    told = tell(error)
    assert told is not None
    lines = dict(told.lines)
    assert lines.get("raised in", "") == sender
    assert lines["used at"] == f"program.py:{line(ADDITION)}  x = {ADDITION}"
    assert told.headline == f"{ADDITION} takes mean on cpu and another tensor on cuda:0"
    assert lines["made at"] == f"program.py:{line('mean =')}  mean = torch.zeros(3)"
    assert "program.py:8: torch.zeros(3, device=" in told.fix
    assert told.rule == "operands-on-other-devices"
    assert told.devices == ("cpu", "cuda:0")
    assert told.is_mismatch
    assert notes(error) == [str(told)]


def test_a_move_that_a_worker_discards(program: Path) -> None:
    text = traceback_text("self.table + x", f"{WORDS}cuda:0 and cpu!", function="discards")
    told = tell(
        RuntimeError(f"Caught RuntimeError in DataLoader worker process 3.\nOriginal {text}")
    )
    assert told is not None
    assert told.rule == "discarded-move"
    assert told.fix == f'assign the result at program.py:{line("x.to(")}: x = x.to("cuda")'


def test_a_layer_in_a_replica(program: Path) -> None:
    below = (
        f'  File "{TORCH}/nn/modules/linear.py", line 114, in forward',
        "    return F.linear(input, self.weight, self.bias)",
    )
    text = traceback_text("self.fc(x)", WORDINGS[1].text, below=below, function="forward")
    told = tell(RuntimeError(f"Caught RuntimeError in replica 1 on device 1.\nOriginal {text}"))
    assert told is not None
    assert told.headline == "self.fc received x on cpu; its parameters are on cuda:0"
    assert told.rule == "input-on-other-device"
    assert told.fix == "move it before the call: x = x.to(next(self.fc.parameters()).device)"


def test_an_array_in_a_worker(program: Path) -> None:
    text = traceback_text("x.numpy()", "can't convert cuda:0 device type tensor to numpy.",
                          function="array")  # fmt: skip
    told = tell(TypeError(f"Caught TypeError in DataLoader worker process 0.\nOriginal {text}"))
    assert told is not None
    assert told.rule == "numpy-on-accelerator"
    assert told.fix == "copy it to the host first: x.detach().cpu().numpy()"


def test_a_compiler_says_where_after_what(program: Path) -> None:
    text = (
        f"Tensor device mismatch\n  Explanation: {WORDS}cuda:0 and cpu!\n  Hint: Move inputs.\n\n"
        f'from user code:\n   File "program.py", line {line(ADDITION)}, in __getitem__\n'
        f"    x = {ADDITION}\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace\n"
    )
    told = tell(RuntimeError(text))
    assert told is not None
    assert dict(told.lines)["used at"].startswith(f"program.py:{line(ADDITION)}")
    assert told.devices == ("cpu", "cuda:0")


def test_the_first_of_several_tracebacks_is_the_cause(program: Path) -> None:
    first = traceback_text(ADDITION, f"{WORDS}cuda:0 and cpu!")
    second = traceback_text("x.numpy()", "a sample is broken", function="array")
    text = (
        f"Caught RuntimeError in DataLoader worker process 0.\nOriginal {first}\nThe above "
        f"exception was the direct cause of the following exception:\n\n{second}"
    )
    found = read_written(text)
    assert found is not None
    assert found.stack[-1].line == line(ADDITION)
    assert found.message.startswith("RuntimeError: Expected all tensors")


def test_a_file_that_is_not_here_is_told_by_its_line(tmp_path: Path) -> None:
    linecache.clearcache()
    text = traceback_text(ADDITION, f"{WORDS}cuda:0 and cpu!").replace("program.py", "/gone/p.py")
    told = tell(
        RuntimeError(f"Caught RuntimeError in DataLoader worker process 0.\nOriginal {text}")
    )
    assert told is not None
    assert told.headline == "an operation takes a tensor on cpu and another tensor on cuda:0"
    assert dict(told.lines)["used at"] == f"/gone/p.py:{line(ADDITION)}"


def test_other_tracebacks_in_texts_are_left_alone(program: Path) -> None:
    for error in ("index 3 is out of range", "CUDA out of memory"):
        text = traceback_text(ADDITION, error)
        assert tell(RuntimeError(f"Caught RuntimeError in a device.\nOriginal {text}")) is None
    for broken in (
        "Traceback (most recent call last):",
        'File "',
        "Traceback (most recent call "
        f'last):\n  File "x", line 99999999999, in f\nRuntimeError: {WORDS}cuda:0',
    ):
        tell(RuntimeError(broken))


class Samples(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __getitem__(self, index: int) -> Tensor:
        row = torch.ones(3)
        return torch.ones(3).cuda() + row


def test_what_a_worker_has_told_is_not_told_again() -> None:
    def wrapped(explained: bool) -> Exception:
        with emulate("cuda"):
            try:
                Samples()[0]
            except RuntimeError as error:
                if not explained:
                    bare(error)
                sent = ExceptionWrapper(where="in DataLoader worker process 0")
        with pytest.raises(RuntimeError) as error_here:
            sent.reraise()
        return error_here.value

    first = tell(wrapped(explained=False))
    assert first is not None
    assert dict(first.lines)["used at"].endswith("return torch.ones(3).cuda() + row")
    if sys.version_info >= (3, 11):  # before it notes aren't in the text
        error = wrapped(explained=True)
        assert "devlint: " in str(error)
        assert tell(error) is None
        assert not notes(error)


def test_a_text_that_hangs_on_an_error_gives_it_the_note(program: Path) -> None:
    error = RuntimeError(f"{WORDS}cuda:0 and cpu!")
    error.__cause__ = RemoteTraceback(f'\n"""\n{traceback_text(ADDITION, str(error))}"""')
    told = explain_error(error)
    assert isinstance(told, Told)
    assert told.carrier is error
    assert "program.py" in str(told.explanation)


def test_errors_of_compiled_code() -> None:
    """The devices are those that there are everywhere: one of them is `meta`."""

    def step(x: Tensor, mask: Tensor) -> Tensor:
        y = x * 2
        return y + mask

    compiled = torch.compile(step, backend="eager")
    with pytest.raises(Exception) as error:
        compiled(torch.ones(3, 3), torch.ones(3, 3, device="meta"))
    if "meta" not in str(error.value):
        pytest.skip("this torch compiles nothing on this Python")
    told = tell(error.value)
    assert told is not None
    assert dict(told.lines)["used at"].endswith("return y + mask")
    assert set(told.devices) == {"cpu", "meta"}
    assert not told.is_mismatch
    printed = "".join(traceback.format_exception_only(type(error.value), error.value))
    assert sys.version_info < (3, 11) or str(told) in printed


def test_a_function_that_fails_in_a_worker_process(tmp_path: Path) -> None:
    """What arrives has the text of the traceback hanging on it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        error = pool.submit(convert, 3).exception()
    assert isinstance(error, TypeError)
    told = tell(error)
    assert told is not None
    assert told.rule == "numpy-on-accelerator"
    assert dict(told.lines)["used at"].endswith('return torch.ones(count, device="meta").numpy()')
    assert notes(error) == [str(told)]


def convert(count: int) -> object:
    return torch.ones(count, device="meta").numpy()


@on_card
def test_a_function_of_no_arguments_isnt_a_method() -> None:
    def train() -> None:
        table = nn.Embedding(4, 2).cuda()
        rows = torch.tensor([1, 2])
        table(rows)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.rule == "input-on-other-device"
    assert told.fix.startswith("move it before the call: rows = rows.to(")


@on_card
def test_what_a_backward_pass_meets_isnt_named_after_the_loss() -> None:
    text = f"{WORDS}cpu and cuda:0! (when checking argument for argument mat2 in method wrapper_mm)"
    code = compile("def run(loss): engine()", f"{torch.autograd.__path__[0]}/run.py", "exec")
    names: dict[str, Any] = {"engine": raiser(text)}
    exec(code, names)

    def train() -> None:
        loss = torch.ones(2, device="cuda")
        names["run"](loss)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.argument == "mat2"


class Stages(nn.Module):
    """On two accelerators, and one move is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2).to("cuda:0")
        self.second = nn.Linear(2, 2).to("cuda:1")

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        return self.second(hidden)


@on_card
def test_what_a_part_of_a_model_gives_isnt_blamed_on_its_input() -> None:
    def train() -> None:
        model, x = Stages(), torch.ones(2, 2, device="cuda:0")
        model(x)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.devices == ("cuda:0", "cuda:1")
    assert "passed at" not in dict(told.lines)
    assert told.fix.startswith("move it before the call: hidden = hidden.to(")


@on_card
def test_an_item_of_a_tuple_that_the_line_writes_out() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, pair: tuple[Tensor, Tensor]) -> Tensor:
            return self.fc(pair[1])

    model = Pair()

    def train() -> None:
        users, items = torch.ones(2, 2, device="cuda"), torch.ones(2, 2)
        model.cuda()
        model((users, items))

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.fix.startswith("move it before the call: items = items.to(")


@on_card
def test_a_layer_whose_parameters_are_in_two_places() -> None:
    layer = nn.Linear(2, 2).cuda()
    layer.bias = nn.Parameter(torch.ones(2))
    with torch._C.DisableTorchFunction():
        operands = [REAL_LIKE.facts("bias", layer.bias), REAL_LIKE.facts("weight", layer.weight)]
    found: list[Explanation | None] = []

    def hook(module: nn.Module, args: Any) -> None:
        text = "Expected all tensors to be on the same device"
        found.append(explain(live(sys._getframe(1)), text, operands, REAL_LIKE))

    layer.register_forward_pre_hook(hook)
    with pytest.raises(RuntimeError):
        layer(torch.ones(2, 2, device="cuda"))
    (told,) = found
    assert told is not None
    assert told.headline == "Linear has its bias on cpu and weight on cuda:0"
    assert told.fix == "set bias before the module is moved, or move the module once more"


# --- objects that hold tensors


@dataclasses.dataclass
class Batch:
    x: Tensor
    name: str = "batch"

    def to(self, device: str) -> Batch:
        return Batch(self.x.to(device))


@dataclasses.dataclass
class Plain:
    x: Tensor


@dataclasses.dataclass(frozen=True)
class Slotted:
    __slots__ = ("inner",)
    inner: Plain


class Fields(NamedTuple):
    x: Tensor
    y: int = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Tensor


class Store:
    def __init__(self, **items: Tensor) -> None:
        self._mapping = items


class Graph:
    """Keeps its attributes elsewhere, as graph libraries do."""

    def __init__(self, **items: Tensor) -> None:
        self._store = Store(**items)

    def __getattr__(self, name: str) -> Any:
        if name not in ("x", "y"):
            raise AttributeError(name)
        return self.__dict__["_store"].__dict__["_mapping"][name]

    def to(self, device: str) -> Graph:
        return Graph(x=self.x.to(device))


class Dict:
    """Keeps a dictionary as dictionaries of tensors do."""

    def __init__(self, **items: Tensor) -> None:
        self._tensordict = items

    def __getitem__(self, key: str) -> Tensor:
        return self._tensordict[key]

    def to(self, device: str) -> Dict:
        return Dict(x=self["x"].to(device))


class Asked:
    asked = 0

    @property
    def x(self) -> Tensor:
        type(self).asked += 1
        return torch.ones(2, 3)

    def __getattribute__(self, name: str) -> Any:
        if name == "hidden":
            type(self).asked += 1
        return super().__getattribute__(name)


class Reads(nn.Module):
    """Gives a layer the `x` of what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, batch: Any) -> Tensor:
        rows = batch["x"] if isinstance(batch, Dict) else getattr(batch, "inner", batch).x
        return self.fc(rows)


@on_card
@pytest.mark.parametrize(
    ("make", "argument", "fix"),
    [
        (lambda x: Batch(x), "batch.x", "batch = batch.to("),
        (lambda x: Plain(x), "batch.x", "batch.x = batch.x.to("),
        (lambda x: Slotted(Plain(x)), "batch.inner.x", "batch.inner.x = batch.inner.x.to("),
        (lambda x: Fields(x), "batch.x", "batch = batch._replace(x=batch.x.to("),
        (lambda x: Frozen(x), "batch.x", "batch = dataclasses.replace(batch, x=batch.x.to("),
        (lambda x: Graph(x=x), "batch.x", "batch = batch.to("),
        (lambda x: Dict(x=x), 'batch["x"]', "batch = batch.to("),
    ],
)
def test_a_tensor_in_an_object(make: Callable[[Tensor], Any], argument: str, fix: str) -> None:
    model = Reads()

    def train() -> None:
        batch = make(torch.ones(2, 3))
        model.cuda()(batch)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.headline == "fc (Linear) received args[0] on cpu; its weight is on cuda:0"
    assert dict(told.lines)["passed at"].endswith("model.cuda()(batch)")
    assert told.fix.startswith(f"move it before the call: {fix}")
    if not fix.startswith("batch ="):
        assert argument in told.fix


@on_card
def test_a_packed_sequence_moves_as_a_whole() -> None:
    model = nn.LSTM(3, 3)

    def train() -> None:
        packed = pack_sequence([torch.ones(4, 3), torch.ones(2, 3)])
        model.cuda()(packed)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert told.headline.startswith("LSTM received args[0].data on cpu; its weight")
    assert told.argument == "packed.data"
    assert told.fix.startswith("move it before the call: packed = packed.to(")


def test_the_sizes_of_a_packed_sequence_are_no_stray_tensor() -> None:
    from devlint.runtime.explaining.lookup import tensors_of

    packed = pack_sequence([torch.ones(4, 3), torch.ones(2, 3)])
    assert isinstance(packed, PackedSequence)
    assert [named.text for named in tensors_of("p", packed)] == ["p.data"]


@on_card
def test_objects_are_read_and_not_asked() -> None:
    model = Reads()
    Asked.asked = 0

    def train() -> None:
        batch = Asked()
        model.cuda()(batch)

    told = tell(real(train), (), REAL_LIKE)
    assert told is not None
    assert Asked.asked == 1


@on_card
def test_a_place_that_was_moved_to_is_told_beside_the_one_where_it_was_made() -> None:
    code = mixed.__code__
    noted = Reader(
        shown_place,
        lambda tensor: Site.of(code, code.co_firstlineno + 2),
        lambda tensor: (
            Site.of(code, code.co_firstlineno + 3) if shown_place(tensor).index == 0 else None
        ),
    )
    told = tell(real(mixed), (), noted)
    assert told is not None
    labels = [label for label, _ in told.lines]
    assert labels.count("made at") == 2
    assert labels.count("moved at") == 1
    assert isinstance(OperandFacts("", "cpu", "", None, False, 0, None, None).moved, type(None))
