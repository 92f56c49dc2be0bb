"""The options of a run, and the device that they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a network to read digits")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--device", default="auto")  # devlint: ignore[DEV103]
    parser.add_argument("--checkpoint", type=Path, default=Path("digits.pt"))
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def choose_device(name: str) -> torch.device:
    """The device called `name`; for "auto", an accelerator where there is one."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("gpu")
    return torch.device("cpu")


def describe(device: torch.device) -> str:
    """A line for the log."""
    if device == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return str(device)
