"""What programs measure and record of an emulated device."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

import devlint

UNRECORDED = "torch.profiler: the device's time is not recorded, only the CPU's"


@pytest.mark.parametrize(
    "activities",
    [[ProfilerActivity.CUDA], [ProfilerActivity.CPU, ProfilerActivity.CUDA]],
)
def test_a_profiler_of_the_device_times_the_cpu(
    activities: list[Any], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with devlint.emulate("cuda") as emulation:
        x = torch.ones(4, 4, device="cuda")
        with profile(activities=activities, record_shapes=True, profile_memory=True) as profiler:
            x @ x
        assert emulation.limits == {UNRECORDED: 1}
    assert "aten::mm" in profiler.key_averages().table(sort_by="cuda_time_total")
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    said = capfd.readouterr()
    assert "frame #" not in said.out + said.err  # C++'s traces of calls that need a device


def test_a_profiler_with_a_schedule_and_one_of_autograd() -> None:
    with devlint.emulate("cuda"):
        x = torch.ones(4, 4, device="cuda")
        ready: list[Any] = []
        with profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            schedule=schedule(wait=1, warmup=1, active=1),
            on_trace_ready=ready.append,
        ) as profiler:
            for _ in range(3):
                x @ x
                profiler.step()
        assert len(ready) == 1
        with torch.autograd.profiler.profile(use_device="cuda") as older:
            x @ x
        assert "aten::mm" in {event.key for event in older.key_averages()}


def test_marks_and_ranges_are_taken() -> None:
    with devlint.emulate("cuda"):
        torch.cuda.nvtx.mark("here")
        with torch.cuda.nvtx.range("epoch {}", 1), torch.autograd.profiler.emit_nvtx():
            torch.cuda.nvtx.range_push("step")
            assert torch.ones(1, device="cuda").item() == 1
            torch.cuda.nvtx.range_pop()
        with torch.cuda.profiler.profile():
            pass
        torch.cuda.check_error(torch.cuda.cudart().cudaHostRegister(0, 0, 0))
        with pytest.raises(torch.cuda.CudaError, match="CUDA error 2"):
            torch.cuda.check_error(2)


def test_a_history_of_memory_is_empty_and_written(tmp_path: Path) -> None:
    with devlint.emulate("cuda:2") as emulation:
        torch.cuda.memory._record_memory_history(max_entries=10)
        torch.ones(1, device="cuda")
        torch.cuda.memory._dump_snapshot(str(tmp_path / "history.pickle"))
        torch.cuda.memory._record_memory_history(enabled=None)
        assert emulation.limits == {"memory history: it stays empty": 2}
    held = pickle.loads((tmp_path / "history.pickle").read_bytes())
    assert held == {"segments": [], "device_traces": [[], []]}


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_the_statistics_of_memory_have_their_names(kind: str) -> None:
    module = getattr(torch, kind)
    with devlint.emulate(kind):
        if not hasattr(module, "memory_stats"):
            pytest.skip("this torch counts no memory there")
        gc.collect()
        before = module.memory_stats()  # of what other tests have left alive
        held = torch.ones(1 << 19, device=kind), torch.ones(3, device=kind)
        found = module.memory_stats()
        for name, size in (("large_pool", 1 << 21), ("small_pool", 512), ("all", (1 << 21) + 512)):
            key = f"allocated_bytes.{name}.current"
            assert found[key] - before[key] == size
        assert found["allocated_bytes.all.current"] == module.memory_allocated()
        assert found["num_ooms"] == 0
        peak = found["allocated_bytes.all.current"]
        del held
        assert module.memory_stats()["allocated_bytes.all.peak"] >= peak
    if kind == "cuda":
        with devlint.emulate(kind):
            assert "PyTorch CUDA memory summary" in torch.cuda.memory_summary(abbreviated=True)


def test_what_a_device_is_asked_besides() -> None:
    with devlint.emulate("cuda"):
        assert torch.cuda.nccl.version() >= (2,)
        assert torch.cuda.graph_pool_handle() != torch.cuda.graph_pool_handle()
        assert torch.cuda.temperature() > torch.cuda.utilization() == 0
        with pytest.raises(AssertionError, match="Invalid device id"):
            torch.cuda.clock_rate(1)


def test_what_cannot_be_emulated_names_itself_when_it_is_called() -> None:
    with devlint.emulate("cuda") as emulation:
        assert not isinstance(None, torch.cuda.CUDAGraph)
        with pytest.raises(NotImplementedError, match=r"torch\.cuda\.CUDAGraph can't be emulated"):
            torch.cuda.CUDAGraph()
        with pytest.raises(NotImplementedError, match=r"torch\.cuda\.nccl\.unique_id can't"):
            torch.cuda.nccl.unique_id()
        with pytest.raises(NotImplementedError, match=r"Tensor\.__cuda_array_interface__ can't"):
            _ = torch.ones(1, device="cuda").__cuda_array_interface__
        assert not hasattr(torch.ones(1), "__cuda_array_interface__")
        assert list(emulation.limits) == [
            "torch.cuda.CUDAGraph",
            "torch.cuda.nccl.unique_id",
            "torch.Tensor.__cuda_array_interface__",
        ]


def test_the_generator_of_a_device_draws_as_the_device_does() -> None:
    torch.manual_seed(3)
    on_cpu = torch.rand(3)
    with devlint.emulate("cuda"):
        (generator,) = torch.cuda.default_generators
        torch.manual_seed(3)
        state = generator.get_state()
        assert torch.equal(torch.rand(3, device="cuda", generator=generator).cpu(), on_cpu)
        generator.set_state(state)
        assert torch.equal(torch.rand(3, device="cuda").cpu(), on_cpu)
        generator.manual_seed(5)
        assert torch.cuda.initial_seed() == generator.initial_seed() == 5
        assert torch.initial_seed() == 3
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
            torch.rand(3, generator=generator)
