"""What people train with, unmodified, on emulated devices: no false alarm, and true errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from groups import groups_end_last
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import devlint

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = pytest.mark.filterwarnings("ignore")

MATCH = "Expected all tensors to be on the same device"

SMALL: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": 60, "max_position_embeddings": 64, "num_key_value_heads": 2,
}  # fmt: skip
LANGUAGE_MODELS: dict[str, dict[str, Any]] = {
    "GPT2LMHeadModel": {
        "n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60, "n_positions": 64,
        "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1,
    },
    "LlamaForCausalLM": SMALL,
    "MixtralForCausalLM": {**SMALL, "num_local_experts": 2},
    "Qwen2ForCausalLM": SMALL,
    "BertForMaskedLM": {name: value for name, value in SMALL.items() if "key_value" not in name},
    "T5ForConditionalGeneration": {
        "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 60,
        "decoder_start_token_id": 0,
    },
}  # fmt: skip


def made(transformers: Any, name: str) -> Any:
    kind = getattr(transformers, name)
    torch.manual_seed(0)
    return kind(kind.config_class(**LANGUAGE_MODELS[name]))


def train(model: Any, tokens: torch.Tensor) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_language_models(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    model = made(transformers, name).eval()  # dropout would draw in another order
    tokens = torch.randint(2, 50, (2, 8))
    plain = train(model, tokens)
    with devlint.emulate("cuda"):
        model = made(transformers, name).eval().cuda()
        assert train(model, tokens.cuda()) == plain
        if model.can_generate():
            out = model.generate(tokens.cuda(), max_new_tokens=3, do_sample=True)
            assert out.is_cuda
        with pytest.raises(RuntimeError, match=f"{MATCH}, but got index is on cpu"):
            model(input_ids=tokens, labels=tokens.cuda())


def test_the_trainer_of_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    rows = [{"input_ids": torch.randint(2, 50, (8,))} for _ in range(8)]
    rows = [{**row, "labels": row["input_ids"]} for row in rows]
    with devlint.emulate("cuda", count=2):
        options = transformers.TrainingArguments(
            output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to=[],
            logging_steps=1, disable_tqdm=True,
        )  # fmt: skip
        trainer = transformers.Trainer(
            made(transformers, "GPT2LMHeadModel"), options, train_dataset=rows, eval_dataset=rows
        )
        assert trainer.args.n_gpu == 2
        trainer.train()
        assert trainer.evaluate()["eval_loss"] > 0
        assert next(trainer.model.parameters()).is_cuda


def test_lightning(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    seen: list[bool] = []

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self, stray: bool = False) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 1)
            self.stray = stray

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            (x,) = batch
            seen.append(x.is_cuda)
            if self.stray:
                x = x + torch.ones(4)
            loss = self.layer(x).square().mean()
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters())

    loader = DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=4, pin_memory=True)
    with devlint.emulate("cuda"):
        options: dict[str, Any] = {
            "accelerator": "gpu", "devices": 1, "max_epochs": 1, "logger": False,
            "enable_progress_bar": False, "enable_model_summary": False,
            "default_root_dir": tmp_path,
        }  # fmt: skip
        trainer = lightning.Trainer(**options)
        trainer.fit(Model(), loader)
        assert trainer.callback_metrics["loss"] > 0
        with pytest.raises(RuntimeError, match=MATCH):
            lightning.Trainer(**options).fit(Model(stray=True), loader)
    assert len(seen) >= 5
    assert all(seen)


def test_accelerate() -> None:
    accelerate = pytest.importorskip("accelerate")
    with devlint.emulate("cuda", count=2):
        accelerator = accelerate.Accelerator()
        assert accelerator.device.type == "cuda"
        model, loader = nn.Linear(4, 2), DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for (x,) in loader:
            assert x.is_cuda
            accelerator.backward(model(x).sum())
            optimizer.step()
        with pytest.raises(RuntimeError, match=MATCH):
            model(torch.randn(2, 4))

        offloaded = accelerate.cpu_offload(nn.Sequential(nn.Linear(4, 4)), torch.device("cuda:0"))
        layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        spread = accelerate.dispatch_model(layers, device_map={"0": 0, "1": 1})
        assert str(spread[1].weight.device) == "cuda:1"
        for placed in (offloaded, spread):
            assert placed(torch.randn(2, 4)).shape[0] == 2
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    with devlint.emulate("cuda"):
        x = torch.randn(2, 3, 4, device="cuda")
        assert einops.rearrange(x, "a b c -> b (a c)").is_cuda
        assert einops.reduce(x, "a b c -> c", "mean").is_cuda
        assert einops.einsum(x, x, "a b c, a b d -> c d").is_cuda
        with pytest.raises(RuntimeError, match=MATCH):
            einops.einsum(x, torch.randn(2, 3, 4), "a b c, a b d -> c d")


def test_torchmetrics() -> None:
    torchmetrics = pytest.importorskip("torchmetrics")
    with devlint.emulate("cuda"):
        scores = torch.randn(5, 3, device="cuda")
        labels = torch.randint(0, 3, (5,), device="cuda")
        metric = torchmetrics.Accuracy(task="multiclass", num_classes=3).cuda()
        metric(scores, labels)
        assert metric.compute().is_cuda
        with pytest.raises(RuntimeError, match="Encountered different devices in metric"):
            torchmetrics.Accuracy(task="multiclass", num_classes=3)(scores, labels)


@groups_end_last()
def _rank(rank: int, folder: str) -> None:
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=2)
    torch.cuda.set_device(rank)
    assert dist.get_backend() == "nccl"
    model = DistributedDataParallel(nn.Linear(4, 2).cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
    weights = [torch.zeros(2, 4, device="cuda") for _ in range(2)]
    dist.all_gather(weights, model.module.weight.detach())
    assert torch.equal(weights[0], weights[1])
    with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(2))
    found: list[Any] = [None, None]
    dist.all_gather_object(found, {"rank": rank})
    Path(folder, f"{rank}.txt").write_text(f"{model.module.weight.device} {found}")
    dist.destroy_process_group()


def test_distributed_training_takes_tensors_of_the_accelerator_only(tmp_path: Path) -> None:
    with devlint.emulate("cuda", count=2):
        torch.multiprocessing.spawn(_rank, args=(str(tmp_path),), nprocs=2)
    said = [Path(tmp_path, f"{rank}.txt").read_text() for rank in range(2)]
    assert said == [f"cuda:{rank} [{{'rank': 0}}, {{'rank': 1}}]" for rank in range(2)]
