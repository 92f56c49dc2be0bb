"""Whether a file has anything to do with devices, as far as its words tell."""

from __future__ import annotations

from devlint.flow.syntax.signs import speaks
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir

_SIGNS = (".to", "cuda", "device", "gpu", "accelerator", "map_location")
"""One of these stands in each file in which something speaks of devices."""


def speaks_of_devices(text: str, module: ir.Module) -> bool:
    """Whether the code of a file names a device or moves something, anywhere. What comments and
    docstrings say of devices changes nothing."""
    lower = text.lower()
    return any(sign in lower for sign in _SIGNS) and speaks(nodes_of(module.body))
