"""What every format is given beside the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from devlint.model.findings import (
    LESS_CERTAIN,
    NOTHING_MEETS,
    Coverage,
    Finding,
    Level,
    Safety,
    Span,
)
from devlint.model.fingerprint import Kind, fingerprints, relative_path

Sources = Callable[[str], "str | None"]
"""Gives a file's text as `Finding` offsets count it, newlines untouched; None without one."""


class Failure(Protocol):
    """Something devlint could not do. `filename` is "" where no file is to blame."""

    @property
    def filename(self) -> str: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Summary:
    """A run as a whole. Paths in machine-readable formats are relative to `root`.

    `files` were checked; `fixed` findings were fixed and are gone from the list, and so are those
    that the revision `since` has too: how many of which kind says `older`.
    """

    files: int = 0
    fixed: int = 0
    failures: tuple[Failure, ...] = ()
    root: Path = field(default_factory=Path.cwd)
    closing: bool = True
    """Whether the formats for people end with a line on the run as a whole."""
    coverage: Coverage = NOTHING_MEETS
    """Of the places where tensors meet, how many are decided."""
    withheld_by: Mapping[str, int] = field(default_factory=dict)
    """How many findings each row of policy withholds, and how many are as less certain."""
    since: str = ""
    older: Mapping[Kind, int] = field(default_factory=dict)
    fixes: tuple[Finding, ...] = ()
    """The findings that were fixed, where they are to be listed."""
    shard: Mapping[str, object] | None = None
    """Which part of a run it is, as JSON and SARIF say it, where it is one."""


@dataclass(frozen=True, slots=True)
class Context:
    """The run, whether to use colour, where to get the source from, and whether what shows the
    output knows links."""

    summary: Summary
    color: bool
    sources: Sources
    links: bool = False

    def relative_path(self, filename: str) -> str:
        """A path below the root with forward slashes; an absolute one where it isn't below."""
        return relative_path(filename, self.summary.root)

    def uri(self, filename: str) -> str:
        """The same as a URI reference, percent-encoded."""
        path = Path(self.relative_path(filename))
        if path.is_absolute():
            return path.as_uri()
        return quote(path.as_posix(), errors="surrogateescape")

    def fingerprints(self, findings: Sequence[Finding]) -> list[str]:
        """One mark a finding that outlives moved lines."""
        return fingerprints(findings, self.sources, self.summary.root, self.summary.older)


def withheld(summary: Summary) -> tuple[dict[str, int], int]:
    """How many findings each row of policy withholds, and how many are less certain."""
    by_policy = dict(summary.withheld_by)
    return by_policy, by_policy.pop(LESS_CERTAIN, 0)


def in_cell(span: Span) -> str:
    """`cell 3, line 7: ` before a message whose place is told by the line of a notebook's file;
    "" in other files."""
    return "" if span.cell is None else f"cell {span.cell.number}, line {span.cell.row}: "


def severity(level: Level) -> str:
    """How a level is called in front of users. A rule that is off by default was asked for."""
    return "note" if level is Level.OFF else level.value


def count_fixable(findings: Iterable[Finding]) -> tuple[int, int]:
    """How many findings carry a safe fix, and how many an unsafe one."""
    safeties = [finding.fix.safety for finding in findings if finding.fix is not None]
    return safeties.count(Safety.SAFE), safeties.count(Safety.UNSAFE)
