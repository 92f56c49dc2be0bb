"""The stand-in for NCCL, in one process: groups that come and go, and sharding with offload."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

import devlint

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not dist.is_available(), reason="torch without torch.distributed"),
]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Iterator[Any]]:
    """An emulated machine, and a store for each group that is begun."""
    with devlint.emulate("cuda"):
        try:
            yield (dist.FileStore(str(tmp_path / str(index)), 1) for index in range(9))
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()


def begin(backend: str, stores: Iterator[Any]) -> None:
    dist.init_process_group(backend, store=next(stores), rank=0, world_size=1)


def test_a_group_is_forgotten_with_its_end(stores: Iterator[Any]) -> None:
    begin("nccl", stores)
    dist.new_group([0])
    dist.destroy_process_group()
    begin("gloo", stores)
    assert dist.get_backend() == "gloo"
    dist.all_reduce(torch.ones(2))
    assert dist.get_backend(dist.new_group([0])) == "gloo"
    dist.destroy_process_group(dist.group.WORLD)
    begin("nccl", stores)
    assert dist.get_backend() == "nccl"
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(2))


def test_one_group_ends_and_the_others_stay(stores: Iterator[Any]) -> None:
    begin("gloo", stores)
    first, second = dist.new_group([0], backend="nccl"), dist.new_group([0], backend="nccl")
    dist.destroy_process_group(first)
    assert dist.get_backend() == "gloo"
    assert dist.get_backend(second) == "nccl"


def test_a_group_takes_tensors_of_the_devices_that_it_has_a_backend_for(
    stores: Iterator[Any],
) -> None:
    begin("cpu:gloo,cuda:nccl", stores)
    assert dist.get_backend() == "cpu:gloo,cuda:nccl"
    for device in ("cpu", "cuda:0"):
        tensor = torch.ones(2, device=device)
        dist.all_reduce(tensor)
        assert tensor.device == torch.device(device)
    group = dist.new_group([0], backend="cuda:nccl")
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(2), group=group)
    dist.all_reduce(torch.ones(2, device="cuda"), group=dist.new_group([0], backend="cuda:gloo"))


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def losses(model: nn.Module, device: str) -> list[float]:
    """Of three steps."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        loss = model(torch.ones(3, 4, device=device)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("strategy", ["FULL_SHARD", "NO_SHARD"])
def test_sharding_with_parameters_on_the_host(
    stores: Iterator[Any], original: bool, strategy: str
) -> None:
    from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    begin("nccl", stores)
    model = FullyShardedDataParallel(
        net(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), use_orig_params=original,
        sharding_strategy=ShardingStrategy[strategy],
        cpu_offload=CPUOffload(offload_params=True), device_id=0,
    )  # fmt: skip
    assert losses(model, "cuda") == pytest.approx(losses(net(), "cpu"))
    for parameter in model.parameters():
        assert parameter.device.type == "cpu"
        assert parameter.grad is None or parameter.grad.device.type == "cpu"
