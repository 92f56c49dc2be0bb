"""What all files of rows have in common: tables by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping


class RowError(Exception):
    """A row can't be used; the text says which, and why."""


def tables(text: str) -> Mapping[str, Mapping[str, object]]:
    """The tables of a text."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    return tomllib.loads(text)
