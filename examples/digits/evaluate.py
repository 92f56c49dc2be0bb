"""How good a trained network is."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from .data import CLASSES


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader, device: torch.device) -> float:
    """The share of pictures that are read correctly."""
    model.to(device)
    model.eval()
    correct = 0
    for pictures, labels in loader:
        predicted = model(pictures).argmax(dim=1)
        correct += (predicted == labels.to(device)).sum().item()
    return correct / len(loader.dataset)


@torch.no_grad()
def hit_rate(model: nn.Module, loader: DataLoader, device: torch.device) -> torch.Tensor:
    """For each picture, whether the right digit is among the first three."""
    model.to(device)
    hits = []
    for pictures, labels in loader:
        pictures = pictures.to(device)
        _, best = torch.topk(model(pictures), 3, dim=1)
        hits.append((best == labels.unsqueeze(1)).any(dim=1))
    return torch.cat(hits)


@torch.no_grad()
def confusion(model: nn.Module, loader: DataLoader, device: torch.device) -> torch.Tensor:
    """How often each digit (row) is read as each other one (column)."""
    model.to(device)
    table = torch.zeros(CLASSES, CLASSES)
    table.to(device)
    for pictures, labels in loader:
        pictures = pictures.to(device)
        labels = labels.to(device)
        predicted = model(pictures).argmax(dim=1)
        table[labels, predicted] += 1
    return table


def probabilities(model: nn.Module, loader: DataLoader, device: torch.device) -> np.ndarray:
    """The predicted distribution of every picture, shape (pictures, CLASSES)."""
    model.to(device)
    rows = []
    for pictures, _ in loader:
        logits = model(pictures.to(device))
        rows.append(torch.softmax(logits, dim=1).detach().numpy())
    return np.concatenate(rows)
