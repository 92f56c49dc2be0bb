"""The emulated accelerator as a whole: what it leaves behind, and the ways around its modes."""

from __future__ import annotations

import contextlib
import copy
import gc
import importlib
import io
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.multiprocessing
import torch.nn.functional as F
from runtime.surface import changes, surface
from torch import nn
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads

import devlint
from devlint.runtime.tracing import Tracing
from devlint.runtime.transfers import TransferLog
from devlint.runtime.virtual.kinds import parse
from devlint.runtime.virtual.texts import RELEASE

MATCH = "Expected all tensors to be on the same device"


@pytest.mark.parametrize("kind", ["cuda:2", "xpu:2", "mps"])
def test_nothing_is_left_behind(kind: str) -> None:
    with devlint.emulate(kind):
        pass  # torch imports some of its own modules at the first use
    before = surface()
    with devlint.emulate(kind):
        assert changes(before, surface())
    assert changes(before, surface()) == []


def test_nothing_is_left_behind_after_an_exception() -> None:
    before = surface()
    with pytest.raises(RuntimeError, match=MATCH), devlint.emulate("cuda"):
        torch.ones(2, device="cuda") + torch.ones(2)
    assert changes(before, surface()) == []
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(2, device="cuda")


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_contexts_choose_a_device_and_give_it_back(kind: str) -> None:
    with devlint.emulate(kind, count=2):
        module = getattr(torch, kind)
        beside = torch.ones(1, device=f"{kind}:1")
        for chosen in (
            module.device(1), module.device(beside.device), module.device_of(beside),
            module.stream(module.Stream(device=1)),
        ):  # fmt: skip
            with chosen:
                assert torch.ones(1, device=kind).device == beside.device
            assert torch.ones(1, device=kind).device.index == 0
        for kept in (
            module.device(None), module.device(-1), module.device_of(torch.ones(1)),
            module.stream(None),
        ):  # fmt: skip
            with kept:
                assert torch.ones(1, device=kind).device.index == 0
        with pytest.raises(ValueError, match=f"Expected a {kind} device, but got: cpu"):
            module.device("cpu")
        with pytest.raises(RuntimeError), module.device(2):
            pass


def test_nothing_is_left_behind_where_entering_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from devlint.runtime.virtual.api import processes

    def broken(*args: Any) -> None:
        raise OSError("no processes here")

    before = surface()
    with monkeypatch.context() as patched:
        patched.setattr(processes, "patch", broken)
        with pytest.raises(OSError, match="no processes"):
            devlint.emulate("cuda").__enter__()
    assert changes(before, surface()) == []
    with devlint.emulate("cuda"):
        assert torch.ones(1, device="cuda").is_cuda


@pytest.mark.parametrize("before", [None, "meta"])
def test_the_default_device_goes_with_the_devices(before: str | None) -> None:
    if before and not hasattr(torch.utils._device, "_push_mode"):
        pytest.skip("this torch takes off any mode for that of the device before")
    torch.set_default_device(before)
    try:
        for device in ("cuda:1", torch.device("cuda")):
            with devlint.emulate("cuda:2"):
                torch.set_default_device(device)
                assert torch.ones(1).is_cuda
            assert torch.ones(1).device.type == (before or "cpu")
        with devlint.emulate("cuda"):
            torch.set_default_device("cpu")
        assert torch.ones(1).device.type == "cpu"  # a device that is still there
    finally:
        torch.set_default_device(None)
    assert torch._C._len_torch_function_stack() == 0


def test_one_at_a_time() -> None:
    with devlint.emulate("cuda"):
        with pytest.raises(RuntimeError, match="an emulation of cuda:1 is on already"):
            devlint.emulate("cuda:2").__enter__()
        assert torch.cuda.device_count() == 1


def test_a_tensor_stays_where_it_was_from_one_emulation_to_the_next() -> None:
    with devlint.emulate("cuda"):
        old = torch.ones(2, device="cuda")
    assert old.device.type == "cpu"
    assert (old + 1).tolist() == [2, 2]
    with devlint.emulate("cuda") as emulation:
        new = torch.ones(2, device="cuda")
        checks = emulation._world.checks if emulation._world is not None else None
        assert checks is not None
        assert (old + new).is_cuda
        assert not checks._signatures  # nothing had to be checked operator by operator


def test_as_a_decorator() -> None:
    @devlint.emulate("cuda", count=3)
    def count() -> int:
        return torch.cuda.device_count()

    assert count() == 3
    assert count() == 3
    assert not torch.cuda.is_available()


@pytest.mark.parametrize(
    ("kind", "count", "reason"),
    [
        ("gpu", None, "'gpu' can't be emulated: choose one of cuda, mps, xpu"),
        ("cuda:", None, "a number of devices is expected after the colon"),
        ("cuda:x", None, "a number of devices is expected after the colon"),
        ("cuda:0", None, "0 devices of kind 'cuda' can't be emulated: from 1 to 64"),
        ("cuda:2", 3, "already says how many"),
        ("mps:2", None, "2 devices of kind 'mps' can't be emulated: 1 only"),
    ],
)
def test_what_cannot_be_emulated(kind: str, count: int | None, reason: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse(kind, count)
    assert reason in str(raised.value)


def test_tensors_are_not_kept_alive() -> None:
    with devlint.emulate("cuda"):
        tensor = torch.ones(3, device="cuda")
        module = nn.Linear(3, 2).cuda()
        loss = module(tensor).sum()
        loss.backward()
        try:
            module(torch.ones(3))
        except RuntimeError as error:
            said = str(error)
        assert MATCH in said
        seen = [weakref.ref(thing) for thing in (tensor, module, loss)]
        del tensor, module, loss
        gc.collect()
        assert [ref() for ref in seen] == [None, None, None]


# --- where tensors are ---------------------------------------------------------------------


def test_views_and_copies_stay_where_they_are() -> None:
    with devlint.emulate("cuda", count=2):
        x = torch.randn(4, 6, device="cuda:1")
        views = [x[0], x.t(), x.view(-1), x.detach(), x.data, x.real, *x.unbind(), *x.split(2)]
        copies = [
            x.clone(),
            x + 1,
            x.sum(),
            copy.copy(x),
            copy.deepcopy(x),
            x.half(),
            x.to_sparse(),
        ]
        assert {str(t.device) for t in views + copies} == {"cuda:1"}
        assert not x.cpu().is_cuda
        assert x.cpu().data_ptr() != x.data_ptr()
        assert x.to("cuda:1") is x


def test_a_gradient_is_where_its_tensor_is() -> None:
    with devlint.emulate("cuda", count=2):
        x = torch.ones(3, requires_grad=True)
        y = x.to("cuda:1")
        y.retain_grad()
        seen = []
        y.register_hook(lambda gradient: seen.append(gradient.device))
        (y * 2).sum().backward()
        assert x.grad is not None
        assert y.grad is not None
        assert (str(x.grad.device), str(y.grad.device), str(seen[0])) == ("cpu", "cuda:1", "cuda:1")
        assert x.grad.tolist() == [2, 2, 2]
        (gradient,) = torch.autograd.grad((x.to("cuda:1") ** 2).sum(), x)
        assert gradient.device.type == "cpu"


def test_custom_functions_see_and_check_devices() -> None:
    places = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            places.append((gradient.device.type, x.device.type))
            return (gradient * 2).cpu() if x.numel() > 3 else gradient * 2

    with devlint.emulate("cuda"):
        Double.apply(torch.ones(3, device="cuda", requires_grad=True)).sum().backward()
        with pytest.raises(
            RuntimeError, match="DoubleBackward returned an invalid gradient at index 0"
        ):
            Double.apply(torch.ones(4, device="cuda", requires_grad=True)).sum().backward()
    assert places == [("cuda", "cuda")] * 2


def test_checkpoints_are_computed_again_on_the_device() -> None:
    from torch.utils.checkpoint import checkpoint

    seen = []

    def layer(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.device.type)
        return (x * torch.ones(3, device=x.device)).relu()

    with devlint.emulate("cuda"):
        for reentrant in (False, True):
            x = torch.randn(3, device="cuda", requires_grad=True)
            checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
            assert x.grad is not None
            assert x.grad.is_cuda
    assert seen == ["cuda"] * 4


# --- ways around the modes -----------------------------------------------------------------


def test_threads_see_the_same_machine() -> None:
    found: list[str] = []

    def work() -> None:
        found.append(str((torch.ones(2, device="cuda") + 1).device))
        try:
            torch.ones(2, device="cuda") + torch.ones(2)
        except RuntimeError as error:
            found.append(str(error))

    with devlint.emulate("cuda"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found[0] == "cuda:0"
    assert MATCH in found[1]


def test_the_machine_sleeps_until_it_is_used() -> None:
    with devlint.emulate("cuda", count=2):
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        torch.manual_seed(0)
        assert str(torch.device("cuda:1")) == "cuda:1"
        assert not torch.cuda.is_initialized()
        torch.ones(1, device="cuda")
        assert torch.cuda.is_initialized()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_cannot_use_what_its_parent_has_used() -> None:
    with devlint.emulate("cuda"):
        torch.ones(1, device="cuda")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                torch.ones(1).cuda()
                text = "no error"
            except RuntimeError as error:
                text = str(error)
            os.write(write, text.encode())
            os._exit(0)
        os.waitpid(child, 0)
        said = os.read(read, 1000).decode()
        assert said.startswith("Cannot re-initialize CUDA in forked subprocess.")
        assert torch.ones(1, device="cuda").is_cuda


def _answer(requests: Any, answers: Any) -> None:
    tensor = requests.get()
    answers.put((str(tensor.device), torch.cuda.device_count()))


def test_spawned_processes_and_their_queues() -> None:
    with devlint.emulate("cuda", count=2):
        context = torch.multiprocessing.get_context("spawn")
        requests, answers = context.Queue(), context.Queue()
        process = context.Process(target=_answer, args=(requests, answers))
        process.start()
        tensor = torch.ones(3, device="cuda:1")
        requests.put(tensor)
        assert answers.get(timeout=60) == ("cuda:1", 2)
        process.join()
        assert str(tensor.device) == "cuda:1"


class OnTheDevice(torch.utils.data.Dataset[torch.Tensor]):
    """Makes its tensors there, as no worker that was forked may."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index), device="cuda")


def test_spawned_workers_give_back_tensors_of_the_device() -> None:
    with devlint.emulate("cuda"):
        batches = list(
            torch.utils.data.DataLoader(
                OnTheDevice(), batch_size=2, num_workers=1, multiprocessing_context="spawn"
            )
        )
        assert [str(batch.device) for batch in batches] == ["cuda:0"] * 2
        assert torch.cat(batches)[:, 0].tolist() == [0, 1, 2, 3]


def test_a_storage_is_made_where_it_is_asked_for() -> None:
    with devlint.emulate("cuda:2"):
        made = torch.UntypedStorage(8, device="cuda:1")
        assert (str(made.device), made.is_cuda, made.nbytes()) == ("cuda:1", True, 8)
        assert torch.UntypedStorage([1, 2]).device.type == "cpu"
        assert torch.cuda.FloatStorage([1.0, 2.0]).device.type == "cuda"
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]


@torch.jit.script
def scripted(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * 2 + y


def test_torchscript_runs_eagerly_and_traces_as_ever() -> None:
    with devlint.emulate("cuda") as emulation:

        @torch.jit.script
        def place(x: torch.Tensor) -> str:
            return str((x + 1).device)

        x = torch.ones(2, 3, device="cuda")
        assert place(x) == "cuda:0"
        importlib.import_module("torch.distributed.optim")  # compiles functions of its own
        assert emulation.limits == {"torch.jit.script: the code runs eagerly": 1}
        traced = torch.jit.trace(nn.Linear(3, 2).cuda(), x)
        assert "linear" in str(traced.graph)
        assert traced(x).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            traced(x.cpu())


class Checked(nn.Module):
    kept: Callable[[int], int] | None  # no type of TorchScript

    def __init__(self) -> None:
        super().__init__()
        self.kept = None

    @torch.jit.export
    def doubled(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._assert(x.shape[-1] == 3, "three are wanted")
        return x * 2


def test_a_tracer_does_not_warn_of_what_is_scripted() -> None:
    with devlint.emulate("cuda"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        x = torch.ones(2, 3, device="cuda")
        scripted = torch.jit.script(Checked())
        traced = torch.jit.trace(nn.Sequential(scripted), x)
        assert traced(x).is_cuda
        with pytest.raises(RuntimeError, match="x"):
            scripted()
        with pytest.raises(torch.jit.Error, match="three are wanted"):
            scripted(torch.ones(2, device="cuda"))
        assert copy.deepcopy(scripted)(x).is_cuda


def test_a_trace_folds_its_constants_where_devices_meet() -> None:
    def padded(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        odd, even = (x.shape[-1] - 1) // 2, (x.shape[-1] - 2) // 2
        return F.pad(x * factor, (odd, even), mode="reflect")

    with devlint.emulate("cuda"):
        x, factor = torch.arange(6.0, device="cuda").reshape(1, 2, 3), torch.tensor(2.0)
        traced = torch.jit.trace(padded, (x, factor))
        assert torch.equal(traced(x, factor), padded(x, factor))


def test_gradients_of_single_samples_are_with_their_parameters() -> None:
    with devlint.emulate("cuda"):
        model = nn.Linear(3, 2).cuda()
        call_for_per_sample_grads(model)(torch.ones(4, 3, device="cuda")).sum().backward()
        assert all(each.grad_sample.is_cuda for each in model.parameters())


def _double_and_add(model: nn.Module, answers: Any) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    answers.put([str(p.device) for p in model.parameters()])


def test_a_model_is_shared_with_spawned_processes() -> None:
    with devlint.emulate("cuda"):
        model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).cuda()
        before = [p.clone() for p in model.parameters()]
        model.share_memory()
        context = torch.multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=_double_and_add, args=(model, answers))
        process.start()
        assert answers.get(timeout=60) == ["cuda:0"] * 4
        process.join()
        assert all(torch.equal(p, 2 * b) for p, b in zip(model.parameters(), before, strict=True))


def test_torchscript_from_before() -> None:
    module = torch.jit.script(nn.Linear(3, 2))
    with devlint.emulate("cuda") as emulation:
        x = torch.ones(3, device="cuda")
        assert scripted(x, x).is_cuda
        assert module.cuda()(x).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            scripted(x, torch.ones(3))
        with pytest.raises(RuntimeError, match=MATCH):
            module(torch.ones(1, 3))
        assert any("TorchScript" in limit for limit in emulation.limits)


def test_dlpack() -> None:
    with devlint.emulate("cuda", count=2):
        x = torch.ones(3, device="cuda:1")
        assert str(torch.from_dlpack(x).device) == "cuda:1"
        assert (
            str(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).device) == "cuda:1"
        )
        with pytest.raises(RuntimeError, match="Unsupported device in DLTensor"):
            np.from_dlpack(x)
        assert torch.from_dlpack(np.ones(3)).device.type == "cpu"


def test_compiling_runs_eagerly_and_says_so() -> None:
    with devlint.emulate("cuda") as emulation:

        @torch.compile
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        model = torch.compile(nn.Linear(3, 2).cuda(), mode="reduce-overhead")
        assert double(torch.ones(2, device="cuda")).is_cuda
        assert model(torch.ones(3, device="cuda")).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            model(torch.ones(1, 3))
        torch.compiler.reset()
        assert emulation.limits == {"torch.compile: the code runs eagerly": 2}


def test_what_acts_like_a_tensor_computes_where_its_tensors_are() -> None:
    class Scaled:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            tensors = [each.tensor if isinstance(each, cls) else each for each in args]
            return func(*tensors) * torch.ones(2, device=tensors[0].device)

    with devlint.emulate("cuda"):
        x, y = torch.ones(2, device="cuda"), torch.ones(2)
        assert torch.add(x, Scaled(x)).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            torch.add(y, Scaled(x))


def test_a_program_is_traced_to_a_graph() -> None:
    class Joined(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, torch.stack([x, x]).sum(0)])

    with devlint.emulate("cuda"):
        traced = torch.fx.symbolic_trace(Joined())
        assert traced(torch.ones(2, device="cuda")).tolist() == [1, 1, 2, 2]


def test_tensors_are_made_by_their_old_types() -> None:
    with devlint.emulate("cuda"):
        for sizes in ((2, 3), (torch.Size([2, 3]),)):
            assert torch.cuda.FloatTensor(*sizes).shape == (2, 3)
        indices, values = torch.tensor([[0, 1]], device="cuda"), torch.ones(2, device="cuda")
        made = torch.cuda.sparse.FloatTensor(indices, values, torch.Size([3]))
        assert made.to_dense().tolist() == [1, 1, 0]
        assert made.is_cuda
        assert isinstance(made, torch.cuda.sparse.FloatTensor)
        assert torch.cuda.sparse.FloatTensor(2, 3).shape == (2, 3)
        assert torch.cuda.sparse.FloatTensor().is_sparse


def test_optimizers_are_made_under_a_default_type_of_the_accelerator() -> None:
    code = (
        "import devlint, torch\n"
        "with devlint.emulate('cuda'):\n"
        "    torch.set_default_tensor_type('torch.cuda.FloatTensor')\n"
        "    model = torch.nn.Linear(2, 2)\n"
        "    torch.optim.SGD(model.parameters(), lr=0.1)\n"  # imports torch._dynamo
        "    assert model.weight.is_cuda and torch.Tensor([1.0]).is_cuda\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_type_of_devices_is_the_same_to_what_looks_it_up() -> None:
    def zeros(size: int, device: torch.device) -> torch.Tensor:
        return torch.zeros(size, device=device)

    with devlint.emulate("cuda"):
        # the types themselves: the oldest torch reads no annotations that are strings
        zeros.__annotations__ = {"size": int, "device": torch.device, "return": torch.Tensor}
        filled = torch.library.custom_op("devlint_tests::filled", zeros, mutates_args=())
        assert filled(2, torch.device("cpu")).tolist() == [0, 0]
        assert type(torch.ones(1, device="cuda").device) == torch.device  # noqa: E721
    assert type(torch.ones(1).device) is torch.device


def test_an_extension_is_told_of(tmp_path: Path) -> None:
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import spec_from_file_location

    for name, content in (("ours", b"\0libtorch_cpu.so\0"), ("other", b"\0libm.so\0")):
        path = tmp_path / f"{name}.so"
        path.write_bytes(content)
        loader = ExtensionFileLoader(name, str(path))
        with devlint.emulate("cuda") as emulation:
            with pytest.raises(ImportError):  # it is none, but it was going to be loaded
                loader.create_module(spec_from_file_location(name, path, loader=loader))
            limits = list(emulation.limits)
        told = ["C++ extension ours: it sees all tensors on the CPU"]
        assert limits == (told if name == "ours" else [])


# --- files ---------------------------------------------------------------------------------


def test_files_say_the_device(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with devlint.emulate("cuda", count=2):
        model = nn.Linear(3, 2).to("cuda:1")
        torch.save(model.state_dict(), path)
        loaded = torch.load(path)
        assert {str(t.device) for t in loaded.values()} == {"cuda:1"}
        for location, expected in (
            ("cpu", "cpu"), ("cuda:0", "cuda:0"), (torch.device("cuda"), "cuda:0"),
            ({"cuda:1": "cuda:0"}, "cuda:0"), (lambda storage, place: storage, "cpu"),
            (lambda storage, place: storage.cuda(0), "cuda:0"),
        ):  # fmt: skip
            found = torch.load(path, map_location=location)
            assert {str(t.device) for t in found.values()} == {expected}
        again = pickle.loads(pickle.dumps(model))
        assert str(again.weight.device) == "cuda:1"
        cpu = nn.Linear(3, 2)
        cpu.load_state_dict(loaded)
        assert cpu.weight.device.type == "cpu"
    with devlint.emulate("cuda"):
        with pytest.raises(RuntimeError) as raised:
            torch.load(path)
        assert str(raised.value).startswith(
            "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1."
        )
    with pytest.raises(RuntimeError, match=r"torch\.cuda\.is_available\(\) is False"):
        torch.load(path)


def test_a_file_of_the_cpu_is_loaded_where_it_was() -> None:
    stream = io.BytesIO()
    torch.save(torch.ones(2), stream)
    stream.seek(0)
    with devlint.emulate("cuda"):
        assert torch.load(stream).device.type == "cpu"


# --- autocast ------------------------------------------------------------------------------


def test_autocast_follows_the_accelerators_lists() -> None:
    with devlint.emulate("cuda"):
        x = torch.randn(4, 4, device="cuda", requires_grad=True)
        cpu = torch.randn(4, 4)
        with torch.autocast("cuda", dtype=torch.float16):
            half = x @ x
            assert half.dtype is torch.float16
            assert F.linear(x, x).dtype is torch.float16
            assert (half + half).dtype is torch.float16
            for result in (
                half.softmax(-1), half.exp(), half.sum(), F.layer_norm(half, (4,)),
                F.mse_loss(half, half), half.log_softmax(-1), half.pow(2), half.norm(),
                F.cross_entropy(half, torch.zeros(4, dtype=torch.long, device="cuda")),
            ):  # fmt: skip
                assert result.dtype is torch.float32
            assert (cpu @ cpu).dtype is torch.float32
            assert half.sum(dtype=torch.float16).dtype is torch.float16
            with torch.autocast("cuda", enabled=False):
                assert (x @ x).dtype is torch.float32
            with pytest.raises(RuntimeError, match="unsafe to autocast"):
                F.binary_cross_entropy(half.sigmoid(), half.sigmoid())
        assert (x @ x).dtype is torch.float32
        half.sum().backward()
        assert x.grad is not None
        assert x.grad.dtype is torch.float32


def test_autocast_of_the_accelerator_and_of_the_host_dont_see_each_other() -> None:
    with devlint.emulate("cuda"):
        x, cpu = torch.randn(4, 4, device="cuda"), torch.randn(4, 4)

        def types() -> tuple[torch.dtype, torch.dtype]:
            return (x @ x).dtype, (cpu @ cpu).dtype

        single, half, brain = torch.float32, torch.float16, torch.bfloat16
        with torch.autocast("cuda", dtype=half):
            with torch.autocast("cpu", enabled=False):
                assert types() == (half, single)
            with torch.autocast("cpu", dtype=brain):
                assert types() == (half, brain)
                assert torch.get_autocast_dtype("cpu") is brain
                assert torch.is_autocast_enabled("cpu")
                with torch.autocast("cuda", enabled=False):
                    assert types() == (single, brain)
                assert types() == (half, brain)
            assert types() == (half, single)
            assert not torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=brain):
            with torch.autocast("cuda", dtype=half):
                assert types() == (half, brain)
            assert types() == (single, brain)
        assert types() == (single, single)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_computed_again_as_autocast_has_cast(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    seen = []

    def layer(x: torch.Tensor) -> torch.Tensor:
        made = x @ x
        host = torch.ones(2, 2) @ torch.ones(2, 2)
        seen.append((made.dtype, host.dtype))
        return made.relu() @ x

    with devlint.emulate("cuda"):
        x = torch.randn(4, 4, device="cuda", requires_grad=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = checkpoint(layer, x, use_reentrant=reentrant).sum()
        loss.backward()
        assert x.grad is not None
    assert seen == [(torch.bfloat16, torch.float32)] * 2


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM, nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_recurrent_layers_run_in_autocasts_type(kind: type[nn.Module]) -> None:
    with devlint.emulate("cuda"):
        layer = kind(4, 4).cuda()
        x = torch.randn(3, 4, device="cuda")
        half, brain = torch.float16, torch.bfloat16
        is_cell = isinstance(layer, nn.RNNCellBase)
        for dtype, given, expected in (
            (half, x, half),
            (brain, x, brain if is_cell else half),  # cuDNN casts to float16 alone
            (brain, x.to(brain), brain),
        ):
            with torch.autocast("cuda", dtype=dtype):
                results = torch.utils._pytree.tree_leaves(layer(given))
            assert {result.dtype for result in results} == {expected}
            assert all(result.is_cuda for result in results)
            results[0].sum().backward()
        assert {p.grad.dtype for p in layer.parameters() if p.grad is not None} == {torch.float32}


@pytest.mark.parametrize("inference", [False, True])
def test_packed_sequences_run_in_autocasts_type(inference: bool) -> None:
    with devlint.emulate("cuda"):
        layer = nn.LSTM(4, 4, 2, bidirectional=True).cuda().train(not inference)
        packed = nn.utils.rnn.pack_sequence([torch.randn(n, 4, device="cuda") for n in (3, 2)])
        with torch.inference_mode(inference), torch.autocast("cuda", dtype=torch.float16):
            found, (hidden, cells) = layer(packed)
        assert {t.dtype for t in (found.data, hidden, cells)} == {torch.float16}


# --- kinds ---------------------------------------------------------------------------------


def test_mps_has_limits_of_its_own() -> None:
    with devlint.emulate("mps"):
        assert torch.backends.mps.is_available()
        assert not torch.cuda.is_available()
        x = torch.ones(2, device="mps")
        assert str((x * 2).device) == "mps:0"
        assert x.is_mps
        assert torch.mps.current_allocated_memory() == 512
        assert torch.mps.driver_allocated_memory() == 512
        if RELEASE >= (2, 5):  # the name is new there
            assert torch.mps.recommended_max_memory() > 512
        for double in (lambda: x.double(), lambda: torch.ones(2, dtype=torch.float64).to("mps"),
                       lambda: torch.tensor(np.ones(2), device="mps")):  # fmt: skip
            with pytest.raises(TypeError, match="doesn't support float64"):
                double()
        with pytest.raises(RuntimeError, match="Placeholder storage has not been allocated"):
            torch.mm(torch.ones(2, 2, device="mps"), torch.ones(2, 2))
        with pytest.raises(RuntimeError, match=f"{MATCH}, but found at least two devices, mps:0"):
            x + torch.ones(2)


def test_xpu() -> None:
    with devlint.emulate("xpu", count=2):
        assert torch.xpu.is_available()
        assert torch.xpu.device_count() == 2
        model = nn.Linear(2, 2).xpu(1)
        assert model.weight.is_xpu
        said = "got mat1 is on cpu, different from other tensors on xpu:1"
        if RELEASE < (2, 8):
            said = "found at least two devices, xpu:1 and cpu! .* for argument mat1"
        with pytest.raises(RuntimeError, match=said):
            model(torch.ones(2, 2))
        with pytest.raises(TypeError, match="can't convert xpu:1 device type tensor to numpy"):
            model.weight.detach().numpy()


# --- what programs write down


def pickled(value: object) -> bytes:
    return pickle.dumps(value, 4)


def saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("written", [pickled, saved])
def test_a_device_is_written_as_ever(written: Callable[[object], bytes]) -> None:
    expected = written([torch.device("cuda", 0), torch.device("cpu")])
    with devlint.emulate("cuda"):
        assert written([torch.ones(1, device="cuda").device, torch.device("cpu")]) == expected


def test_a_file_with_a_device_is_read_without_an_emulation(tmp_path: Path) -> None:
    allowed = torch._weights_only_unpickler._get_allowed_globals
    allowed.cache_clear()
    with devlint.emulate("cuda"):
        torch.save({"device": torch.device("cuda"), "x": torch.ones(2)}, tmp_path / "file.pt")
        assert torch.load(tmp_path / "file.pt", weights_only=True)["device"].type == "cuda"
    assert allowed()["torch.device"] is torch.device
    code = (
        "import sys, torch; sys.modules['devlint'] = None\n"
        "for only in (True, False):\n"
        "    found = torch.load(sys.argv[1], weights_only=only)['device']\n"
        "    assert type(found) is torch.device and found.type == 'cuda'\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "file.pt"], check=True)


# --- uninitialised parameters and buffers


LAZY: dict[str, Callable[[nn.Module], nn.Module]] = {
    "cuda": lambda model: model.cuda(),
    "to": lambda model: model.to("cuda", non_blocking=True),
    "another dtype": lambda model: model.double().cuda().float(),
    "there and back": lambda model: model.cuda().cpu().cuda(),
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("log", [None, TransferLog()])
def test_lazy_modules_are_made_where_they_were_moved(name: str, log: TransferLog | None) -> None:
    with devlint.emulate("cuda", transfers=log):
        model = LAZY[name](nn.Sequential(nn.LazyBatchNorm1d(), nn.LazyLinear(3)))
        model(torch.randn(4, 2, device="cuda")).sum().backward()
        assert all(tensor.is_cuda for tensor in model.state_dict().values())
        assert all(p.grad is not None and p.grad.is_cuda for p in model.parameters())


# --- gradients of tensors that are moved by `.data`


@pytest.mark.parametrize(("there", "here"), [("cuda:0", "cpu"), ("cpu", "cuda:0")])
@pytest.mark.parametrize("assigned", [False, True])
def test_a_gradient_stays_where_it_was_seen(there: str, here: str, assigned: bool) -> None:
    with devlint.emulate("cuda"):
        parameter = nn.Parameter(torch.ones(3, device=there))
        if assigned:
            parameter.grad = torch.zeros(3, device=there)
        else:
            (parameter * 2).sum().backward()
            assert str(parameter.grad.device) == there  # type: ignore[union-attr]
        parameter.data = parameter.data.to(here)
        assert str(parameter.device) == here
        assert str(parameter.grad.device) == there  # type: ignore[union-attr]


@pytest.mark.parametrize("first", [0, 1])
def test_gradients_that_share_memory_are_each_where_their_tensors_are(first: int) -> None:
    with devlint.emulate("cuda"):
        host, away = torch.ones(3, requires_grad=True), torch.ones(3, device="cuda")
        away.requires_grad_()
        (host.cuda() + away).sum().backward()
        read = [lambda: host.grad, lambda: away.grad]
        found = {index: read[index]().device.type for index in (first, 1 - first)}  # type: ignore[union-attr]
        assert found == {0: "cpu", 1: "cuda"}


def parts_of_one(whole: torch.Tensor) -> list[nn.Parameter]:
    """Parameters whose gradients the program has laid side by side."""
    parameters = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    for index, parameter in enumerate(parameters):
        parameter.grad = whole[2 * index : 2 * index + 2]
    return parameters


def test_gradients_side_by_side_stay_there() -> None:
    with devlint.emulate("cuda"):
        whole = torch.zeros(4)
        parameters = parts_of_one(whole)
        for parameter in parameters:
            parameter.data = parameter.data.cuda()
        whole.add_(1)
        for parameter in parameters:
            assert parameter.grad is not None
            assert not parameter.grad.is_cuda
            assert parameter.grad.tolist() == [1, 1]


# --- what no mode sees

MAKERS: dict[str, Callable[[], torch.Tensor]] = {
    "from_numpy": lambda: torch.from_numpy(np.ones(2, "float32")),
    "frombuffer": lambda: torch.frombuffer(bytearray(8), dtype=torch.float32),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("traced", [False, True])
def test_tensors_made_of_memory_are_on_the_host_and_noted(name: str, traced: bool) -> None:
    make = MAKERS[name]
    with devlint.emulate("cuda"), Tracing() if traced else contextlib.nullcontext():
        with torch.device("cuda"):
            x = make()
        assert x.device.type == "cpu"
        with pytest.raises(RuntimeError, match=MATCH) as caught:
            torch.ones(2, device="cuda") + x
    line = f"{Path(__file__).name}:{make.__code__.co_firstlineno}"
    assert any(
        f"made at    {line}" in said or f"/{line}" in said for said in caught.value.__notes__
    )


@pytest.mark.parametrize("traced", [False, True])
def test_the_fix_moves_an_array_that_is_made_where_it_is_used(traced: bool) -> None:
    with devlint.emulate("cuda"), Tracing() if traced else contextlib.nullcontext():
        weight, rows = torch.ones(2, device="cuda"), np.ones(2, "float32")
        with pytest.raises(RuntimeError, match=MATCH) as caught:
            weight + torch.from_numpy(rows)
    said = "make it in the right place: torch.from_numpy(rows).to(weight.device)"
    assert said in caught.value.__notes__[0]


@pytest.mark.parametrize("elsewhere", [0, 1])
def test_the_one_of_several_outputs_that_is_elsewhere_is_named(elsewhere: int) -> None:
    with devlint.emulate("cuda"):
        x = torch.ones(3, 3, device="cuda")
        outs = [torch.empty(3), torch.empty(3, dtype=torch.long)]
        outs[1 - elsewhere] = outs[1 - elsewhere].cuda()
        with pytest.raises(RuntimeError, match="have device cuda:0, but got cpu instead"):
            torch.max(x, 0, out=tuple(outs))
