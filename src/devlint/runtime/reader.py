"""How a tensor is asked where it is and where it comes from, on real and on emulated devices."""

from __future__ import annotations

import torch
from torch import Tensor

from devlint.runtime.operands import Reader
from devlint.runtime.virtual.running import running_world
from devlint.runtime.virtual.tags import moved_site, real_device, shown_place, site


def place(tensor: Tensor) -> torch.device:
    """Where a tensor is, or is said to be."""
    with torch._C.DisableTorchFunction():
        return real_device(tensor) if running_world() is None else shown_place(tensor)


READER = Reader(place, site, moved_site)
"""Knows what emulations and tracings have noted of tensors."""
