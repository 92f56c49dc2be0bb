"""Train the network: `python -m digits.train`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.utils.data import DataLoader

from .config import choose_device, describe, parse_options
from .data import CLASSES, make_loaders
from .evaluate import accuracy
from .losses import SmoothedCrossEntropy, confidence_penalty
from .model import DigitNet


def train_epoch(
    model: nn.Module,
    loader: DataLoader,
    criterion: nn.Module,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> float:
    """One pass over the loader; the mean loss."""
    model.to(device)
    model.train()
    total = torch.zeros((), device=device)
    for pictures, labels in loader:
        pictures = pictures.to(device)
        labels = labels.to(device)
        logits = model(pictures)
        loss = criterion(logits, labels) + 0.01 * confidence_penalty(logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item() / len(loader)


def main(arguments: Sequence[str] | None = None) -> float:
    """Train, write a checkpoint and return the accuracy on the test set."""
    options = parse_options(arguments)
    torch.manual_seed(options.seed)
    device = choose_device(options.device)
    print(f"training on {describe(device)}")
    training, test = make_loaders(options.samples, options.batch_size, options.seed)
    model = DigitNet(device)
    model.cuda()
    criterion = SmoothedCrossEntropy(CLASSES).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    for epoch in range(options.epochs):
        loss = train_epoch(model, training, criterion, optimizer, device)
        print(f"epoch {epoch + 1}: loss {loss:.3f}")
    result = accuracy(model, test, device)
    print(f"accuracy {result:.1%}")
    torch.save(model.state_dict(), options.checkpoint)
    return result


if __name__ == "__main__":
    main()
