"""The numbers that a program leaves behind, and whether those of two programs are the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn


def plain(value: Any, depth: int = 0) -> Any:
    """The numbers and texts in a value, copied to the host; None where there are none."""
    if isinstance(value, torch.Tensor):
        return _of_tensor(value)
    if isinstance(value, nn.Module):
        return {name: plain(each) for name, each in value.state_dict().items()}
    if isinstance(value, np.ndarray):
        return value.astype(float) if value.dtype.kind in "biuf" else None
    if isinstance(value, str):
        return re.sub(r"\b(cpu|cuda|mps)(:\d)?\b", "device", value)
    if isinstance(value, (bool, int, float, np.number)):
        return value
    if depth < 4 and isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    if depth < 4 and isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    return None


def _of_tensor(value: torch.Tensor) -> Any:
    if value.is_complex() or value.layout is not torch.strided or value.is_quantized:
        return None
    try:
        return value.detach().cpu().double().numpy().copy()
    except Exception:  # one of the meta device, or of another kind that has no numbers
        return None


def numbers(value: Any) -> Any:
    """Only the fractions of what `plain` gives: whole numbers, truths and texts may well say where
    something is."""
    if isinstance(value, dict):
        return {name: numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return value if isinstance(value, (np.ndarray, float)) else None


def same(one: Any, other: Any, rough: float) -> bool:
    """Whether two of these are the same but for rounding, in what both have."""
    if one is None or other is None:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one[key], other[key], rough) for key in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same(a, b, rough) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    if isinstance(one, (dict, list)) or isinstance(other, (dict, list)):
        return False
    return np.shape(one) == np.shape(other) and np.allclose(
        one, other, rough, rough, equal_nan=True
    )
