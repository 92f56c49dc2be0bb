"""The guard in processes that train together: no false alarm, the same values, true errors."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from groups import groups_end_last
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from devlint import DeviceMismatchError, emulate, guard

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not dist.is_available(), reason="torch without torch.distributed"),
]

PLAIN = nn.Module._call_impl


class Net(nn.Module):
    def __init__(self, strays: bool = False) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)
        self.strays = strays

    def forward(self, x: Tensor) -> Tensor:
        if self.strays:
            x = x.cpu()
        return self.second(torch.relu(self.first(x)))


def trained(model: nn.Module, device: str, scale: float = 1.0) -> list[Any]:
    """Losses of two steps, and the weights after them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(2):
        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(step)).to(device)
        loss = (model(x) * scale).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, {name: whole(value) for name, value in model.state_dict().items()}]


def whole(value: Any) -> Any:
    """A plain copy of a tensor, whatever it is spread over."""
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    return value.detach().cpu().clone()


# --- ways to train


def replicated(rank: int) -> Any:
    return trained(DistributedDataParallel(Net().cuda(), device_ids=[rank]), "cpu")


def sharded_before(rank: int) -> Any:
    """The first of PyTorch's two ways to shard, and both that it knows to keep parameters."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    found = []
    for original in (False, True):
        model = FullyShardedDataParallel(
            Net(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), use_orig_params=original,
            device_id=rank,
        )  # fmt: skip
        found.append(trained(model, "cuda"))
    return found


def sharded(rank: int, on_host: bool = False) -> Any:
    from torch.distributed._composable.fsdp import CPUOffloadPolicy, fully_shard

    mesh = dist.init_device_mesh("cuda", (2,))
    options: dict[str, Any] = {"offload_policy": CPUOffloadPolicy()} if on_host else {}
    model = Net() if on_host else Net().cuda()
    fully_shard(model.first, mesh=mesh, **options)
    fully_shard(model, mesh=mesh, **options)
    return trained(model, "cuda")


def tensors_in_parts(rank: int) -> Any:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = dist.init_device_mesh("cpu", (2,))
    plan = {"first": ColwiseParallel(), "second": RowwiseParallel()}
    return trained(parallelize_module(Net(), mesh, plan), "cpu")


def stages(rank: int) -> Any:
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    net = Net()
    part: Any = nn.Sequential(net.first, nn.ReLU()) if rank == 0 else net.second
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    example = torch.zeros(2, 8 if rank else 4)  # newer ones need none
    stage = PipelineStage(part, rank, 2, torch.device("cpu"), example)
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda out, target: (out - target).square().mean())
    found = schedule.step(x) if rank == 0 else schedule.step(target=x)
    return [None if found is None else whole(found), [whole(p.grad) for p in part.parameters()]]


ON_ACCELERATORS: tuple[Callable[[int], Any], ...] = (
    replicated,
    sharded_before,
    sharded,
    functools.partial(sharded, on_host=True),
)
ON_THE_HOST: tuple[Callable[[int], Any], ...] = (tensors_in_parts, stages)


# --- processes


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return bool(torch.equal(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def compared(way: Callable[[int], Any], rank: int) -> None:
    found = []
    for around in (contextlib.nullcontext, guard, functools.partial(guard, mode="trace")):
        torch.manual_seed(0)
        with around():
            found.append(way(rank))
        assert nn.Module._call_impl is PLAIN
    assert all(same(found[0], each) for each in found[1:])


@groups_end_last()
def train(rank: int, folder: str) -> None:
    """What each of two processes does."""
    torch.set_num_threads(1)
    torch.cuda.set_device(rank)
    for backend, ways in (("gloo", ON_THE_HOST), ("nccl", ON_ACCELERATORS)):
        store = dist.FileStore(f"{folder}/{backend}", 2)
        dist.init_process_group(backend, store=store, rank=rank, world_size=2)
        for way in ways:
            compared(way, rank)
        if backend == "nccl":
            Path(folder, f"{rank}.txt").write_text(mistaken(rank))
        dist.destroy_process_group()


def mistaken(rank: int) -> str:
    model = DistributedDataParallel(Net(strays=True).cuda(), device_ids=[rank])
    with pytest.raises(DeviceMismatchError) as caught, guard(model):
        model(torch.ones(2, 4))
    assert caught.value.torch_message == ""
    return str(caught.value)


def start(folder: str) -> None:
    """Start the processes. Where they can be forked, what they need is imported for all of them."""
    method = "spawn"
    if sys.platform == "linux":
        import torch.distributed.fsdp
        import torch.distributed.pipelining
        import torch.distributed.tensor.parallel

        method = "fork"
    with emulate("cuda", count=2):
        torch.multiprocessing.start_processes(train, args=(folder,), nprocs=2, start_method=method)


def test_processes_that_train_together(tmp_path: Path) -> None:
    # They start from a process of their own: the autograd engine can't be forked once it has run.
    done = subprocess.run(
        [sys.executable, __file__, tmp_path],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        first = Path(tmp_path, f"{rank}.txt").read_text().splitlines()[0]
        assert first.endswith(f"received args[0] on cpu; its weight is on cuda:{rank}")


if __name__ == "__main__":
    start(sys.argv[1])
