"""Cross entropy with smoothed labels, and a penalty on overconfidence."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class SmoothedCrossEntropy(nn.Module):
    """Cross entropy against labels that keep a share `smoothing` for the other classes."""

    def __init__(self, classes: int, smoothing: float = 0.1) -> None:
        super().__init__()
        self.classes = classes
        self.smoothing = smoothing

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        rest = self.smoothing / (self.classes - 1)
        target = torch.full((len(labels), self.classes), rest, device=logits.get_device())
        target.scatter_(1, labels.unsqueeze(1), 1.0 - self.smoothing)
        return -(target * F.log_softmax(logits, dim=1)).sum(dim=1).mean()


def confidence_penalty(logits: torch.Tensor) -> torch.Tensor:
    """How far the predictions are from undecided, as a divergence."""
    undecided = torch.full(logits.shape, 1.0 / logits.shape[1])
    return F.kl_div(F.log_softmax(logits, dim=1), undecided, reduction="batchmean")
