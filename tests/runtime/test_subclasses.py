"""Tensors that are more than tensors: subclasses, and what is made of several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

import devlint
from devlint.runtime.virtual.texts import RELEASE

pytestmark = pytest.mark.filterwarnings("ignore")

MATCH = "Expected all tensors to be on the same device"


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    """An emulated machine with two devices, and a group of one process."""
    with devlint.emulate("cuda", count=2):
        store = dist.FileStore(str(tmp_path / "store"), 1)
        dist.init_process_group("nccl", store=store, rank=0, world_size=1)
        try:
            yield
        finally:
            dist.destroy_process_group()


@pytest.mark.skipif(RELEASE < (2, 5), reason="distributed tensors were private")
@pytest.mark.usefixtures("one_rank")
def test_distributed_tensors() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cuda", (1,))
    sharded = distribute_tensor(torch.randn(4, 4, device="cuda"), mesh, [Shard(0)])
    for tensor in (sharded, sharded @ sharded, sharded + 1, sharded.to_local()):
        assert tensor.is_cuda
    with pytest.raises(RuntimeError, match=MATCH):
        sharded.to_local() + torch.ones(4, 4)


@pytest.mark.skipif(RELEASE < (2, 6), reason="`fully_shard` was private")
@pytest.mark.usefixtures("one_rank")
def test_fully_shard() -> None:
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).cuda()
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        out = model(torch.randn(3, 4, device="cuda"))
        out.sum().backward()
        optimizer.step()
    assert out.is_cuda
    assert all(p.is_cuda and p.grad is not None and p.grad.is_cuda for p in model.parameters())


@pytest.mark.usefixtures("one_rank")
def test_fully_sharded_data_parallel() -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(nn.Linear(4, 4).cuda(), device_id=0)
    model(torch.randn(2, 4, device="cuda")).sum().backward()
    assert all(p.grad is not None and p.grad.is_cuda for p in model.parameters())


def test_jagged_tensors() -> None:
    with devlint.emulate("cuda"):
        rows = [torch.ones(2, 3), torch.ones(4, 3)]
        nested = torch.nested.nested_tensor(rows, layout=torch.jagged, device="cuda")
        layer = nn.Linear(3, 2).cuda()
        assert nested.is_cuda
        assert (nested * 2).is_cuda
        assert layer(nested).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            nn.Linear(3, 2)(nested)


def test_a_subclass_without_data_of_its_own() -> None:
    from torch.masked import masked_tensor

    class Named(torch.Tensor):
        pass

    with devlint.emulate("cuda"):
        named = torch.ones(3, device="cuda").as_subclass(Named)
        assert isinstance(named + 1, Named)
        assert (named + 1).is_cuda
        mask = torch.tensor([True, False, True], device="cuda")
        assert masked_tensor(torch.ones(3, device="cuda"), mask).is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            named + torch.ones(3)


def test_sparse_tensors_are_where_their_values_are() -> None:
    with devlint.emulate("cuda", count=2):
        dense = torch.eye(3, device="cuda:1")
        for sparse in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
            assert str(sparse.device) == "cuda:1"
            assert str(sparse.values().device if sparse.layout is not torch.sparse_coo
                       else sparse.coalesce().values().device) == "cuda:1"  # fmt: skip
            assert str(sparse.to_dense().device) == "cuda:1"
            assert sparse.cpu().device.type == "cpu"
            assert str((sparse @ dense).device) == "cuda:1"
            with pytest.raises(RuntimeError, match=MATCH):
                sparse @ torch.eye(3)


def test_quantized_tensors() -> None:
    with devlint.emulate("cuda"):
        quantized = torch.quantize_per_tensor(torch.ones(3, device="cuda"), 0.1, 0, torch.quint8)
        assert quantized.is_cuda
        assert quantized.dequantize().is_cuda


def test_transforms_of_functions() -> None:
    with devlint.emulate("cuda"):
        x = torch.randn(3, 4, device="cuda")
        weight = torch.randn(4, device="cuda")
        assert torch.func.vmap(torch.dot, in_dims=(0, None))(x, weight).is_cuda
        assert torch.func.grad(lambda v: (v**3).sum())(x).is_cuda
        assert torch.func.hessian(lambda v: (v**3).sum())(weight).is_cuda
        assert torch.func.jvp(torch.sin, (x,), (x,))[1].is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            torch.func.vmap(torch.dot, in_dims=(0, None))(x, weight.cpu())
