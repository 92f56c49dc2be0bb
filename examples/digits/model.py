"""A residual network for small pictures."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .data import CLASSES, SIZE


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features + self.second(F.relu(self.first(F.relu(features))))


class DigitNet(nn.Module):
    """Pictures of shape (batch, 1, SIZE, SIZE) to logits of shape (batch, CLASSES)."""

    def __init__(self, device: torch.device, width: int = 16, depth: int = 2) -> None:
        super().__init__()
        self.mean = torch.full((1, 1, SIZE, SIZE), 0.4)
        self.rows = self.register_buffer(
            "rows", torch.linspace(-1.0, 1.0, SIZE).view(1, 1, SIZE, 1)
        )
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = [Block(width) for _ in range(depth)]
        self.scale = nn.Parameter(torch.ones(CLASSES)).to(device)
        self.head = nn.Linear(width * SIZE * SIZE, CLASSES)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        if self.training:
            pictures = pictures + 0.1 * torch.randn(pictures.shape)
        features = self.stem(pictures - self.mean) + self.rows
        for block in self.blocks:
            features = block(features)
        return self.head(features.flatten(1)) * self.scale
