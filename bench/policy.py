"""What each row of policy buys: what changes where it is taken out.

    python bench/policy.py                   over all cases of the tests and pages of rules
    python bench/policy.py masks --show      only a row, and which cases and findings
    python bench/policy.py --labels DIR      and over labelled files, of checkouts in DIR/OWNER+NAME

A line a row: how many cases hold no longer without it, how many findings it makes and withholds in
them, and how many in labelled files, which are true, false, unclear or unlabelled. A row that buys
nothing is to go.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "bench")]

from labels import LABELS, Label, read  # noqa: E402
from literate import Case, all_cases, lint, problems  # noqa: E402

from devlint import policy  # noqa: E402
from devlint.config.settings import Settings, check_layer, merge  # noqa: E402
from devlint.lint import check  # noqa: E402
from devlint.why.alternatives import without  # noqa: E402

Place = tuple[int, str]
"""The row and the code of a finding."""


@dataclass
class Bought:
    """What a row changes: the cases that break without it, and findings that it makes or
    withholds; of labelled ones, by their verdict."""

    broken: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    labelled: list[str] = field(default_factory=list)

    def add(self, other: Bought) -> None:
        self.broken += other.broken
        self.made += other.made
        self.withheld += other.withheld
        self.labels += other.labels
        self.labelled += other.labelled

    def __str__(self) -> str:
        labels = ", ".join(f"{what} {count}" for what, count in sorted(self.labels.items()))
        return (
            f"{len(self.broken):4} cases   {len(self.made):4} made {len(self.withheld):4} withheld"
            f"   {labels}"
        )


Table = dict[str, Bought]


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these rows")
    parser.add_argument("--labels", type=Path, metavar="DIR", help="checkouts of labelled projects")
    parser.add_argument("--show", action="store_true", help="print what changes")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if unknown := set(options.rows) - set(policy.names()):
        parser.error(f"no row: {', '.join(sorted(unknown))}")
    rows = tuple(options.rows) or policy.names()
    table: Table = {row: Bought() for row in rows}
    with ProcessPoolExecutor(options.jobs) as pool:
        groups = list(all_cases())
        parts = [pool.submit(over_cases, group, rows) for group in groups]
        for project, labels in projects(options.labels):
            parts.append(pool.submit(over_labels, project, labels, rows))
        for part in parts:
            for row, bought in part.result().items():
                table[row].add(bought)
    for row, bought in table.items():
        print(f"{row:28} {bought}")
        for each in (*bought.broken, *bought.labelled) if options.show else ():
            print(f"    {each}")


# --- cases ---------------------------------------------------------------------------------


def over_cases(group: str, rows: Sequence[str]) -> Table:
    """What rows change in the cases of a Markdown file."""
    table: Table = defaultdict(Bought)
    for case in all_cases()[group]:
        before, spoke = heard(lambda case=case: places(case))  # type: ignore[misc]
        for row in spoke.intersection(rows):
            other = off(case, row)
            after, bought = places(other), table[row]
            bought.made += (f"{case.id}: {each}" for each in before - after)
            bought.withheld += (f"{case.id}: {each}" for each in after - before)
            if problems(other):
                bought.broken.append(case.id)
    return dict(table)


def places(case: Case) -> set[Place]:
    return {(each.span.row, each.code) for each in lint(case, case.source.encode())}


def off(case: Case, row: str) -> Case:
    """The case with a row turned off."""
    switches = {**case.options.get("policy", {}), row: False}
    return replace(case, options={**case.options, "policy": switches})


def heard(look: Callable[[], set[Place]]) -> tuple[set[Place], set[str]]:
    """What is found, and which rows on names spoke; of those on files any may."""
    with policy.asking(()) as asked:
        found = look()
    return found, asked.spoke | set(policy.rows())


# --- labels --------------------------------------------------------------------------------


def projects(folder: Path | None) -> Iterator[tuple[Path, list[Label]]]:
    """The checkouts with labelled findings."""
    if folder is None:
        return
    by_project: dict[Path, list[Label]] = defaultdict(list)
    for label in read(LABELS).values():
        by_project[folder / label.key[0].replace("/", "+")].append(label)
    yield from ((path, labels) for path, labels in by_project.items() if path.is_dir())


def over_labels(project: Path, labels: Iterable[Label], rows: Sequence[str]) -> Table:
    """What rows change of the labelled findings of a checkout."""
    everything = merge([check_layer("bench", "", {"select": ["ALL"], "pedantic": True})])
    files: dict[str, dict[Place, Label]] = defaultdict(dict)
    for label in labels:
        files[label.key[2]][label.key[3], label.key[4]] = label
    table: Table = defaultdict(Bought)
    for name, known in files.items():
        path = project / name
        if path.is_file():
            before, spoke = heard(lambda path=path: found_in(path, everything))  # type: ignore[misc]
            for row in spoke.intersection(rows):
                after = found_in(path, without(everything, (row,)))
                _compare(table[row], path, known, before, after)
    return dict(table)


def _compare(
    bought: Bought,
    path: Path,
    known: Mapping[Place, Label],
    before: set[Place],
    after: set[Place],
) -> None:
    for word, differing in (("made", before - after), ("withheld", after - before)):
        for place in differing:
            verdict = known[place].verdict if place in known else "unlabelled"
            bought.labels[f"{word} {verdict}"] += 1
            bought.labelled.append(f"{word} {verdict}: {path}:{place[0]} {place[1]}")


def found_in(path: Path, settings: Settings) -> set[Place]:
    """The findings of a file."""
    found = check(path.read_bytes(), str(path), settings).findings
    return {(each.span.row, each.code) for each in found}


if __name__ == "__main__":
    main()
