"""Read a picture from a text file of numbers: `python -m digits_fixed.predict PICTURE`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

from .config import choose_device
from .data import SIZE
from .model import DigitNet


def restore(checkpoint: Path) -> nn.Module:
    """The network of a checkpoint, on the host."""
    model = DigitNet()
    model.load_state_dict(torch.load(checkpoint, map_location="cpu"))
    return model.eval()


@torch.no_grad()
def predict(checkpoint: Path, picture: Path) -> int:
    """The digit on a picture of SIZE lines with SIZE numbers."""
    device = choose_device("auto")
    model = nn.Sequential(restore(checkpoint), nn.Softmax(dim=1)).to(device)
    numbers = np.loadtxt(picture, dtype=np.float32)
    batch = torch.from_numpy(numbers).view(1, 1, SIZE, SIZE).to(device)
    likely = model(batch)[0]
    print(f"{likely.max().item():.0%} sure")
    return int(likely.argmax())


def main() -> None:
    parser = argparse.ArgumentParser(description="Read a digit")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--checkpoint", type=Path, default=Path("digits.pt"))
    options = parser.parse_args()
    print(predict(options.checkpoint, options.picture))


if __name__ == "__main__":
    main()
