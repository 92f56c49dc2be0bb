"""Which findings an older revision has as well, and which are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import not_

from devlint.model.findings import Finding
from devlint.model.fingerprint import Kind, kinds, neighbours

Sources = Callable[[str], "str | None"]
Told = Mapping[tuple[str, str], tuple[str, ...]]
"""The older findings of one file: by code and statement, what stands around each, from the top."""


def told(findings: Sequence[Finding], text: str) -> Told:
    """The findings of an older file, as `fresh` takes them."""
    found: dict[tuple[str, str], list[str]] = {}
    for _, key, around in _in_order(findings, text):
        found.setdefault(key, []).append(around)
    return {key: tuple(around) for key, around in found.items()}


def fresh(findings: Sequence[Finding], text: str, older: Told) -> list[Finding]:
    """The findings of one file that aren't among the older ones, in the order given.

    Of those alike there are as many older ones as there were: first those that stand where one
    stood, between the same rows, then from the top.
    """
    return [*compress(findings, _are_fresh(findings, text, older))]


def _are_fresh(findings: Sequence[Finding], text: str, older: Told) -> list[bool]:
    left = {key: Counter(around) for key, around in older.items()}
    moved: list[tuple[int, tuple[str, str]]] = []
    verdicts = [False] * len(findings)
    for number, key, around in _in_order(findings, text):
        if key in left and left[key][around] > 0:
            left[key][around] -= 1
        else:
            moved.append((number, key))
    counts = Counter({key: around.total() for key, around in left.items()})
    for number, key in moved:
        verdicts[number] = counts[key] <= 0
        counts[key] -= 1
    return verdicts


def _in_order(findings: Sequence[Finding], text: str) -> list[tuple[int, tuple[str, str], str]]:
    """Each finding's number, code and statement, and surroundings, from the top of the file."""
    alike = _kinds(findings, text)
    around = neighbours(findings, text)
    numbers = sorted(range(len(findings)), key=lambda n: (findings[n].span.start, n))
    return [(n, (alike[n][0], alike[n][2]), around[n]) for n in numbers]


@dataclass(frozen=True, slots=True)
class Older:
    """The older findings by file, as messages call it now, and those of the present run that are
    among them. `name` is the revision, as it was asked for."""

    name: str
    told: Mapping[str, Told] = field(default_factory=dict)
    counts: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many of the present findings are older."""
        return sum(self.counts.values())

    def of(self, filename: str) -> Told:
        """Those of one file."""
        return self.told.get(filename, {})


def split(
    name: str, findings: Iterable[Finding], by_file: Mapping[str, Told], sources: Sources
) -> tuple[list[Finding], Older]:
    """The new ones of the findings of a run, and the others."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.filename, []).append(finding)
    new: list[Finding] = []
    counts: Counter[Kind] = Counter()
    for filename, group in groups.items():
        text = sources(filename) or "" if by_file.get(filename) else ""
        verdicts = _are_fresh(group, text, by_file.get(filename, {}))
        new += compress(group, verdicts)
        counts.update(_kinds([*compress(group, map(not_, verdicts))], text))
    return new, Older(name, by_file, counts)


def _kinds(findings: Sequence[Finding], text: str) -> list[Kind]:
    """The kinds of findings of one file."""
    return kinds(findings, lambda filename: text)
