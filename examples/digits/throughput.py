"""Pictures per second, beside a linear model: `python -m digits.throughput`."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn

from .data import CLASSES, SIZE
from .model import DigitNet


def wait() -> None:
    """Return when all queued work is done."""
    torch.cuda.synchronize()


def make_batch(size: int, device: torch.device) -> torch.Tensor:
    """Random pictures, the same ones on every device."""
    numbers = np.random.default_rng(0).normal(size=(size, 1, SIZE, SIZE))
    return torch.from_numpy(numbers, device=device).float()


@torch.no_grad()
def throughput(model: nn.Module, batch: torch.Tensor, repeats: int = 20) -> float:
    """How many pictures `model` reads in a second."""
    model = model.to(batch.device).eval()
    if batch.is_cuda():
        model(batch)  # the first call also builds kernels
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        model(batch)
    wait()
    return repeats * len(batch) / (time.perf_counter() - start)


def main() -> None:
    device = torch.device("cuda:0")
    batch = make_batch(256, device)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, CLASSES))
    linear.to(linear.device)
    warm = torch.cuda.FloatTensor(256, 1, SIZE, SIZE).normal_()
    throughput(linear, warm, repeats=3)
    print(f"linear:   {throughput(linear, batch):12,.0f} a second")
    print(f"DigitNet: {throughput(DigitNet(device), batch):12,.0f} a second")


if __name__ == "__main__":
    main()
