"""What share of each rule's findings is true, by the labels, and how sure that is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import labels
import linting


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


def by_code(
    findings: Iterable[labels.Record], settled: dict[labels.Key, bool]
) -> dict[str, Precision]:
    """By code. Two findings of one code on one line share a label."""
    totals: Counter[str] = Counter()
    judged: defaultdict[str, list[bool]] = defaultdict(list)
    for finding in findings:
        code = str(finding["code"])
        totals[code] += 1
        verdict = settled.get(labels.key_of(finding))
        if verdict is not None:
            judged[code].append(verdict)
    return {
        code: Precision(total, len(judged[code]), sum(judged[code]))
        for code, total in sorted(totals.items())
    }


def by_default(
    findings: Iterable[labels.Record], settled: dict[labels.Key, bool]
) -> dict[str, Precision]:
    """The same for what is shown without `--pedantic`."""
    return by_code((each for each in findings if linting.is_shown(each)), settled)


def by_family(codes: dict[str, Precision]) -> dict[str, Precision]:
    """Of each family that claims that something goes wrong, and has findings: "DEV2" to "DEV5"."""
    families: dict[str, Precision] = {}
    for code, found in codes.items():
        if code.startswith(labels.PROVING):
            families[code[:4]] = families.get(code[:4], Precision(0, 0, 0)) + found
    return families


def text(found: Precision) -> str:
    """A row of a table: how many, without a label, true of the labelled, share and interval."""
    unlabelled = found.findings - found.labelled
    row = f"{found.findings:8} {unlabelled:10} {found.true:4}/{found.labelled:<4}"
    if found.share is not None:
        low, high = found.interval
        row += f"  {found.share:.0%} (95 % Wilson interval {low:.0%} to {high:.0%})"
    return row


def print_table(
    codes: dict[str, Precision], default: dict[str, Precision], names: dict[str, str]
) -> None:
    """A row for each rule, each family, and all families together: with `--pedantic`, and of the
    families also what is shown by default."""
    rows = {f"{code:8}{names.get(code, '')}": found for code, found in codes.items()}
    for told, found in (("", codes), (", by default", default)):
        families = by_family(found)
        rows |= {f"{family}{told}": each for family, each in families.items()}
        rows[f"DEV2 to DEV5{told}"] = sum(families.values(), Precision(0, 0, 0))
    print(f"\n{'code':40} {'findings':>8} {'unlabelled':>10} {'true':>9}  precision")
    for name, found in rows.items():
        print(f"{name:40} {text(found)}")
