"""How many of a hundred findings like another one were true: fitted on labels, and tried.

    python bench/calibrate.py
    python bench/calibrate.py --tried-on sample1   on this drawing of samples.toml
    python bench/calibrate.py --write --hold-out sample11 --hold-out sample12
                                                   fits it without a drawing that is to test it, and
                                                   puts the numbers into devlint's score.toml
    python bench/calibrate.py --draw docs/calibration.svg     and draw both trials: curve.py

It is fitted on what devlint reported at first sight, of DEV2 to DEV5, also where the finding has
gone since: without those that were fixed because they were false, the rest would say too much of
what comes next. Alike are the findings of one rule that are known by the same evidence
(`verdict/score.py`). Their share of true ones is drawn to that of the rule's other findings, and
that to the share of all; a label whose sorts nobody kept counts for its rule alone. What the name
of a file says is added in log-odds: as much as makes these shares fit the labels of such files
best, drawn to nothing. Twenty labels of one rule in one project, which mostly have one cause, say
little more than five, so each weighs less.

It is tried twice: by project, ten times on a tenth of the projects, and on projects that were drawn
later, by all labels of other projects: those of the opened samples of samples.toml but the ones for
development. Printed are the area under the curve (0.5: it ranks no better than chance), the Brier
score beside that of the base rate alone, for each band of scores how many findings there are and
how many of a hundred are true, with the 95 % interval, and what the threshold makes of them.
--draw needs matplotlib, and makes the same file of the same labels.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import exp, sqrt
from pathlib import Path

import curve
import samples
from labels import LABELS, PROVING, Label, read
from precision import wilson

from devlint import policy
from devlint.verdict import score

TABLE = Path(score.__file__).with_name("score.toml")
FOLDS = 10
OF_ALL, OF_RULE = 5.0, 8.0
"""Labels that the shares above count as: by fits on older labels, tried on those of later drawings,
2 to 5 and 8 to 30 rank alike (area 0.70 to 0.75); of these the ones that follow the labels most."""
OF_FILES = ("files-of-tests",)
"""The rows of policy that speak of files in which enough was judged; the first one counts."""
TO_NOTHING = 0.5
"""What a file's log-odds are drawn to nothing by: one over the variance that they may have."""
BANDS = tuple(pairwise(sorted({0, score.THRESHOLD, 50, 60, 70, 80, 90, 101})))
FOR_DEVELOPMENT = "development"

Kind = tuple[str, str | None]
"""A rule and the evidence for a finding of it; None for all of the rule."""


@dataclass(frozen=True)
class Fit:
    """Shares of true findings, of a hundred."""

    mean: int
    shares: dict[Kind, int]
    files: dict[str, dict[str, float]]
    """Log-odds, by the rows of policy that speak of the files and by the family of a code: what a
    test doesn't show may still be true of what it says."""

    def of(self, label: Label) -> int:
        """What a finding scores."""
        rule = self.shares.get((code(label), None), self.mean)
        sorts = [f"{score.FILE}{name}" for name in filter(None, [file(label)])]
        files = score.of_family(self.files, code(label))
        return score.shifted(self.shares.get(kind(label), rule), sorts, files)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how well the scores tell findings apart, and write or draw them if asked to."""
    drawn = samples.read()
    later = [name for name, each in drawn.items() if each.opened and name != FOR_DEVELOPMENT]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--tried-on", action="append", metavar="SAMPLE", help="with commas (default: all but one)"
    )
    parser.add_argument(
        "--hold-out", action="append", default=[], metavar="SAMPLE", help="isn't fitted on"
    )
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the calibration curve, as SVG")
    options = parser.parse_args(arguments)
    names = [name for given in options.tried_on or later for name in given.split(",")]
    unknown = [name for name in (*names, *options.hold_out) if name not in drawn]
    if unknown:
        raise SystemExit(f"not in samples.toml: {', '.join(unknown)}")
    labels = at_first_sight(read(LABELS).values())
    projects = len({project(label) for label in labels})
    print(f"labels of {projects} projects: {_true(labels)}")
    trials = {"tried by project": (labels, by_project(labels))}
    print("\nby project:")
    print_trial(*trials["tried by project"])
    tried = [each for each in labels if project(each) in projects_of(drawn, names)]
    print(f"\non {', '.join(names)}:")
    if tried:
        later_ones = tried, on_projects(labels, projects_of(drawn, names))
        trials["tried on projects drawn later"] = later_ones
        print_trial(*later_ones)
    else:
        print("nothing of it is judged")
    if options.draw:
        found = {title: banded(*trial) for title, trial in trials.items()}
        curve.draw(found, score.THRESHOLD, options.draw)
    if options.write:
        kept = projects_of(drawn, options.hold_out)
        fitted_on = [each for each in labels if project(each) not in kept]
        TABLE.write_text(written(fitted_on), encoding="utf-8")


def at_first_sight(labels: Iterable[Label]) -> list[Label]:
    """What says how devlint does on code that it has never seen."""
    return [
        label
        for label in labels
        if label.first_sight and label.true is not None and code(label).startswith(PROVING)
    ]


def project(label: Label) -> str:
    return label.key[0]


def code(label: Label) -> str:
    return label.today or label.key[4]


def kind(label: Label) -> Kind:
    """What a finding is like."""
    return code(label), None if label.sorts is None else score.evidence(label.sorts)


def file(label: Label) -> str:
    """The row of policy by which a finding's file is weighed, "" for none."""
    found = {row.name for row in policy.of_file(label.key[2], frozenset())}
    return next((name for name in OF_FILES if name in found), "")


def projects_of(drawn: dict[str, samples.Sample], names: Iterable[str]) -> set[str]:
    """The projects of some drawings."""
    return {each for name in names for each in drawn[name].projects}


# --- fitting -----------------------------------------------------------------------------------


def fitted(labels: Sequence[Label]) -> Fit:
    """The share of each kind, drawn to that of its rule, and this to that of all."""
    many = Counter((project(label), code(label)) for label in labels)
    true, weight = Counter[Kind | None](), Counter[Kind | None]()
    for label in labels:
        own = 1 / sqrt(many[project(label), code(label)])
        for each in {None, (code(label), None), kind(label)}:
            weight[each] += own
            true[each] += own * bool(label.true)
    mean = true[None] / weight[None]

    def of_rule(each: str, without: float = 0, true_without: float = 0) -> float:
        judged, right = weight[each, None] - without, true[each, None] - true_without
        return (right + OF_ALL * mean) / (judged + OF_ALL)

    def of_kind(each: Kind) -> float:
        if each[1] is None:
            return of_rule(each[0])
        others = of_rule(each[0], weight[each], true[each])
        return (true[each] + OF_RULE * others) / (weight[each] + OF_RULE)

    kinds = {each: round(100 * of_kind(each)) for each in weight if each is not None}
    fit = Fit(round(100 * mean), kinds, {})
    files: dict[str, dict[str, float]] = {}
    for name, family in product(OF_FILES, score.PROVING):
        given = [
            (fit.of(each) / 100, bool(each.true), 1 / sqrt(many[project(each), code(each)]))
            for each in labels
            if file(each) == name and code(each).startswith(family)
        ]
        files.setdefault(name, {})[family] = round(added(given), 2)
    return replace(fit, files=files)


def added(given: Iterable[tuple[float, bool, float]]) -> float:
    """The log-odds by which shares fit what is true best, by Newton's method: each with a share,
    whether it is true, and how much it weighs."""
    odds, given = 0.0, list(given)
    for _ in range(20):
        slope, bend = -TO_NOTHING * odds, TO_NOTHING
        for share, is_true, weight in given:
            likely = 1 / (1 + (1 / share - 1) * exp(-odds))
            slope += weight * (is_true - likely)
            bend += weight * likely * (1 - likely)
        odds += slope / bend
    return odds


def by_project(labels: Sequence[Label]) -> list[int]:
    """What each finding scores by labels of other projects, a tenth of the projects at a time."""
    sizes = Counter(map(project, labels))
    tenths: list[list[str]] = [[] for _ in range(FOLDS)]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        min(tenths, key=lambda tenth: sum(sizes[each] for each in tenth)).append(name)
    fits = {
        name: fit
        for tenth in tenths
        for fit in [fitted([label for label in labels if project(label) not in tenth])]
        for name in tenth
    }
    return [fits[project(label)].of(label) for label in labels]


def on_projects(labels: Sequence[Label], projects: set[str]) -> list[int]:
    """What each finding of some projects scores by labels of all others."""
    fit = fitted([label for label in labels if project(label) not in projects])
    return [fit.of(label) for label in labels if project(label) in projects]


# --- printing and writing ----------------------------------------------------------------------


def print_trial(labels: Sequence[Label], scores: Sequence[int]) -> None:
    """How well scores tell true findings from false ones, which they haven't seen."""
    true = [bool(label.true) for label in labels]
    base = sum(true) / len(true)
    errors = [(each / 100 - is_true) ** 2 for each, is_true in zip(scores, true, strict=True)]
    brier = f"Brier {sum(errors) / len(errors):.3f} (base {base * (1 - base):.3f})"
    print(f"{_true(labels)}; area {area(true, scores):.2f}, {brier}")

    def among(chosen: Callable[[int], bool]) -> list[Label]:
        return [label for label, each in zip(labels, scores, strict=True) if chosen(each)]

    for band in banded(labels, scores):
        print(f"  {band.low} to {min(band.high, 100)}: {_share(band.true, band.findings)}")
    print(f"  shown by default: {_true(among(lambda each: each >= score.THRESHOLD))}")
    print(f"  kept back: {_true(among(lambda each: each < score.THRESHOLD))}")


def banded(labels: Sequence[Label], scores: Sequence[int]) -> list[curve.Band]:
    """The bands in which there are findings."""
    found = []
    for low, high in BANDS:
        inside = [
            (bool(label.true), each)
            for label, each in zip(labels, scores, strict=True)
            if low <= each < high
        ]
        if inside:
            mean = sum(each for _, each in inside) / len(inside)
            true = sum(is_true for is_true, _ in inside)
            found.append(curve.Band(low, high, mean, true, len(inside)))
    return found


def area(true: Sequence[bool], scores: Sequence[int]) -> float:
    """How often a true finding scores more than a false one: half where they score the same."""
    found: defaultdict[bool, list[int]] = defaultdict(list)
    for is_true, each in zip(true, scores, strict=True):
        found[is_true].append(each)
    pairs = [(1 + (a > b) - (a < b)) / 2 for a in found[True] for b in found[False]]
    return sum(pairs) / len(pairs) if pairs else 0.5


def _true(labels: Sequence[Label]) -> str:
    """How many there are, and how many of these are true."""
    return _share(sum(bool(label.true) for label in labels), len(labels))


def _share(true: int, findings: int) -> str:
    if not findings:
        return "none"
    least, most = wilson(true, findings)
    share = f"{true / findings:.0%} (95 % interval {least:.0%} to {most:.0%})"
    return f"{findings}, {true} of them true, {share}"


def written(labels: Sequence[Label]) -> str:
    """The table as TOML, each number with what it rests on."""
    fit = fitted(labels)
    projects = len({project(label) for label in labels})
    true = sum(bool(label.true) for label in labels)
    lines = [
        "# How many of a hundred findings of a rule are true that are known by the same evidence,",
        "# and of a rule as a whole, which counts where nobody has judged one by that evidence.",
        "# Written by `python bench/calibrate.py --write` from bench/labels.jsonl:",
        f"# {len(labels)} findings of {projects} projects at first sight, {true} of them true.",
        "",
        "# of a rule that nobody has judged",
        f"mean = {fit.mean}",
    ]
    lines += ["", "# in files that such a row speaks of, in log-odds, by families of codes"]
    for name, families in fit.files.items():
        lines.append(f"[{score.FILES}.{name}]")
        there = [each for each in labels if file(each) == name]
        for family, odds in families.items():
            judged = [bool(each.true) for each in there if code(each).startswith(family)]
            lines.append(f"{family} = {odds}  # {sum(judged)} of {len(judged)} true")
    rule = ""
    for own, evidence in sorted(fit.shares, key=lambda each: (each[0], each[1] or "")):
        if own != rule:
            lines += ["", f"[{own}]"]
            rule = own
        alike = [each for each in labels if evidence is None or kind(each)[1] == evidence]
        judged = [bool(each.true) for each in alike if code(each) == own]
        number = fit.shares[own, evidence]
        lines.append(f"{evidence or score.RULE} = {number}  # {sum(judged)} of {len(judged)} true")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
