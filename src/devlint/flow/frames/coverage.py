"""How much of a file is decided: where tensors meet, and whether all of them are known there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from devlint.model import ir
from devlint.model.findings import Coverage


@dataclass(slots=True)
class Meetings:
    """The places in one file where tensors meet. One that some run of its function decides is."""

    decided: set[ir.Node] = field(default_factory=set)
    unknown: dict[ir.Node, str] = field(default_factory=dict)
    """What isn't known there first."""

    def coverage(self) -> Coverage:
        """All of it in numbers."""
        causes = (cause for node, cause in self.unknown.items() if node not in self.decided)
        return Coverage.of(len(self.decided), Counter(causes))
