"""Which version each format has that programs read and that is devlint's own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FORMAT_VERSIONS: Mapping[str, str] = MappingProxyType(
    {
        "json": "1.0",  # and json-lines: an object a line
        "statistics": "1.0",
        "sarif": "1.0",  # what of the standard is filled in, and the properties beside it
        "gitlab": "1.0",
        "rdjson": "1.0",
        "why": "1.0",
        "explain": "1.0",
        "collected": "1.0",
        "transfers": "1.0",
    }
)
"""The first number is that of changes that programs have to follow, the second that of additions:
docs/versioning.md. `tools/formats.py` writes the shape that belongs to each."""
