"""The facts of all cases and pages, a line a case: which facts stand on which rows.

Counts of how often something is seen, words and traces are left out: they follow from how the
interpreter works, and the cases themselves say what has to come out. A row has `x2` where facts of
that type stand at two places of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from literate import FILENAME, Case

from devlint.driver.dumping import Record, facts_of
from devlint.source.errors import SourceError

GOLDEN = Path(__file__).with_name("facts.txt")


def line_of(case: Case) -> str:
    """The line of a case."""
    try:
        records = facts_of(case.source.encode(), FILENAME, case.settings)
    except SourceError:
        return f"{case.id}\tunreadable"
    return f"{case.id}\t{' '.join(_words(records))}".rstrip()


def _words(records: list[Record]) -> Iterator[str]:
    places: dict[str, set[str]] = {}
    for record in records:
        places.setdefault(record["type"], set()).add(record.get("at", "0:0"))
    for kind, spots in sorted(places.items()):
        rows = Counter(int(spot.partition(":")[0]) for spot in spots)
        yield kind
        yield ",".join(f"{row}x{n}" if n > 1 else str(row) for row, n in sorted(rows.items()))


def read_golden() -> dict[str, str]:
    """The lines that are committed, by the case."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return {line.partition("\t")[0]: line for line in lines}
