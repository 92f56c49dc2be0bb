"""Findings judged by hand, and what share of each rule's findings is true."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

Key = tuple[str, str, str, int, str]
"""Package, version, path inside the package, 1-based line, code."""


@dataclass(frozen=True)
class Precision:
    """How many findings of a rule were judged, and how many of those are true."""

    findings: int
    labelled: int
    true: int

    @property
    def share(self) -> float | None:
        """The true share of the labelled ones; None where none is labelled."""
        return self.true / self.labelled if self.labelled else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of `share`."""
        return wilson(self.true, self.labelled)

    def __add__(self, other: Precision) -> Precision:
        return Precision(
            self.findings + other.findings, self.labelled + other.labelled, self.true + other.true
        )


def wilson(hits: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of `hits` out of `trials`: (0, 1) where there are no trials."""
    if trials == 0:
        return 0.0, 1.0
    share, squared = hits / trials, z * z
    centre = share + squared / (2 * trials)
    margin = z * sqrt(share * (1 - share) / trials + squared / (4 * trials * trials))
    scale = 1 + squared / trials
    return max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)


def read(path: Path) -> dict[Key, bool]:
    """The verdicts of a labels file, one JSON object a line; none where there is no file.

    Raises ValueError for a verdict that is neither "true" nor "false", and for a finding that
    is labelled twice.
    """
    verdicts: dict[Key, bool] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        if not line.strip():
            continue
        label = json.loads(line)
        if label["verdict"] not in ("true", "false"):
            raise ValueError(f"{path}:{number}: the verdict is {label['verdict']!r}")
        key = key_of(label)
        if key in verdicts:
            raise ValueError(f"{path}:{number}: labelled before: {key}")
        verdicts[key] = label["verdict"] == "true"
    return verdicts


def key_of(record: dict[str, object]) -> Key:
    """What a finding and its label have in common."""
    return (
        str(record["package"]),
        str(record["version"]),
        str(record["path"]),
        int(str(record["line"])),
        str(record["code"]),
    )


def precision(
    findings: Iterable[dict[str, object]], verdicts: dict[Key, bool]
) -> dict[str, Precision]:
    """By code. Two findings of one code on one line share a label."""
    totals: Counter[str] = Counter()
    judged: defaultdict[str, list[bool]] = defaultdict(list)
    for finding in findings:
        code = str(finding["code"])
        totals[code] += 1
        verdict = verdicts.get(key_of(finding))
        if verdict is not None:
            judged[code].append(verdict)
    return {
        code: Precision(total, len(judged[code]), sum(judged[code]))
        for code, total in sorted(totals.items())
    }
