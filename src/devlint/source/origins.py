"""Handles that stand for a piece of source no single LibCST node covers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """From the start of one LibCST node to the end of another: `a < b` within `a < b < c`."""

    first: object
    last: object
