"""Noisy pictures of seven-segment digits, made on the host."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset

CLASSES = 10
SIZE = 8

# Segments as (first row, last row, first column, last column), in the usual order a to g.
SEGMENTS = (
    (0, 1, 1, 6),
    (1, 4, 6, 7),
    (4, 7, 6, 7),
    (7, 8, 1, 6),
    (4, 7, 0, 1),
    (1, 4, 0, 1),
    (3, 4, 1, 6),
)
LIT = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")


def draw(digit: int) -> torch.Tensor:
    """A clean picture of `digit`, shape (1, SIZE, SIZE), values 0 and 1."""
    picture = torch.zeros(1, SIZE, SIZE)
    for name, (top, bottom, left, right) in zip("abcdefg", SEGMENTS, strict=True):
        if name in LIT[digit]:
            picture[:, top:bottom, left:right] = 1.0
    return picture


class Digits(Dataset):
    """`samples` pictures with noise, and their labels. Everything stays on the host."""

    def __init__(self, samples: int, seed: int, noise: float = 0.3) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(CLASSES, (samples,), generator=generator)
        clean = torch.stack([draw(digit) for digit in range(CLASSES)])
        grain = torch.randn(samples, 1, SIZE, SIZE, generator=generator)
        self.pictures = clean[self.labels] + noise * grain

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.pictures[index], self.labels[index]


def make_loaders(samples: int, batch_size: int, seed: int) -> tuple[DataLoader, DataLoader]:
    """Loaders of the training set and of a test set a quarter its size."""
    training = Digits(samples, seed)
    test = Digits(samples // 4, seed + 1)
    order = torch.Generator().manual_seed(seed)
    return (
        DataLoader(training, batch_size=batch_size, shuffle=True, generator=order),
        DataLoader(test, batch_size=batch_size),
    )


def move(batch: tuple[torch.Tensor, torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """The tensors of a batch on `device`."""
    pictures, labels = batch
    pair = [pictures.float(), labels.long()]
    return pair.to(device, non_blocking=True)
