"""How many of a hundred findings like another one were true: fitted on labels, and tried.

    python bench/calibrate.py                  (with `pip install scikit-learn`)
    python bench/calibrate.py --write          and put the numbers into devlint's score.toml

Alike are the findings of one rule that are known by the same evidence (`verdict/score.py`). A score
is the share of true ones among those that somebody judged, drawn to the share of all as by twenty
more projects: few kinds have many labels. A project counts by the root of its findings: twenty of
one cause say little more than five.

It is tried on projects that it wasn't fitted on, ten times on a tenth of them. Printed are the area
under the curve (0.5: it ranks no better than chance), the Brier score beside that of the base rate
alone, and for each band of scores how many findings there are and how many of a hundred are true,
with the 95 % interval.

A score that hides findings was tried with it, and isn't in: with a smaller prior, what scored below
60 was as true as the rest (70 of 100), so nothing would be gained by leaving it out.

Labels without sorts aren't used: the finding is gone, or nobody kept them.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path

from labels import LABELS, PROVING, Label, read
from precision import wilson
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

from devlint.verdict import score

TABLE = Path(score.__file__).with_name("score.toml")
FOLDS = 10
PRIOR = 20.0
BANDS = ((0, 60), (60, 70), (70, 80), (80, 90), (90, 101))

Kind = tuple[str, str]
"""A rule and the evidence for a finding of it."""


def main() -> None:
    """Print how well the scores tell findings apart, and write them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    labels = [
        label
        for label in read(LABELS).values()
        if label.sorts and label.true is not None and label.key[4].startswith(PROVING)
    ]
    true = [bool(label.true) for label in labels]
    share = sum(true) / len(true)
    projects = len({label.key[0] for label in labels})
    print(f"{len(labels)} findings of {projects} projects, {share:.0%} of them true")
    scores = _tried(labels, true)
    base = share * (1 - share)
    print(
        f"area {roc_auc_score(true, scores):.2f}, "
        f"Brier {brier_score_loss(true, [each / 100 for each in scores]):.3f} (base {base:.3f})"
    )
    for low, high in BANDS:
        inside = [is_true for each, is_true in zip(scores, true, strict=True) if low <= each < high]
        if inside:
            least, most = wilson(sum(inside), len(inside))
            print(
                f"{low} to {min(high, 100)}: {len(inside)}, "
                f"{sum(inside) / len(inside):.0%} true ({least:.0%} to {most:.0%})"
            )
    if options.write:
        TABLE.write_text(_written(labels, true), encoding="utf-8")


def kind(label: Label) -> Kind:
    """What a finding is like."""
    return label.key[4], score.evidence(label.sorts)


def _tried(labels: Sequence[Label], true: Sequence[bool]) -> list[int]:
    """What each finding scores by labels of other projects."""
    scores = [0] * len(labels)
    groups = [label.key[0] for label in labels]
    for fitted, tried in GroupKFold(FOLDS).split(labels, true, groups):
        mean, numbers = _fitted([labels[each] for each in fitted])
        for each in tried:
            scores[each] = numbers.get(kind(labels[each]), mean)
    return scores


def _fitted(labels: Sequence[Label]) -> tuple[int, dict[Kind, int]]:
    """The mean, and the score of each kind."""
    many = Counter(label.key[0] for label in labels)
    weights = {project: 1 / sqrt(count) for project, count in many.items()}
    mean = _share((bool(each.true), weights[each.key[0]]) for each in labels)
    by_kind: defaultdict[Kind, list[tuple[bool, float]]] = defaultdict(list)
    for label in labels:
        by_kind[kind(label)].append((bool(label.true), weights[label.key[0]]))
    numbers = {
        each: _percent(_share([*rows, (True, PRIOR * mean), (False, PRIOR * (1 - mean))]))
        for each, rows in by_kind.items()
    }
    return _percent(mean), numbers


def _share(rows: Iterable[tuple[bool, float]]) -> float:
    listed = list(rows)
    return sum(weight for is_true, weight in listed if is_true) / sum(w for _, w in listed)


def _percent(share: float) -> int:
    return round(100 * share)


def _written(labels: Sequence[Label], true: Sequence[bool]) -> str:
    """The table as TOML, each number with what it rests on."""
    mean, numbers = _fitted(labels)
    projects = len({label.key[0] for label in labels})
    lines = [
        "# How many of a hundred findings of a rule are true that are known by the same evidence.",
        "# Written by `python bench/calibrate.py --write` from bench/labels.jsonl:",
        f"# {len(labels)} findings of {projects} projects, {sum(true)} of them true.",
        "",
        "# of what nobody has judged",
        f"mean = {mean}",
    ]
    rule = ""
    for (code, evidence), number in sorted(numbers.items()):
        if code != rule:
            lines += ["", f"[{code}]"]
            rule = code
        alike = [label for label in labels if kind(label) == (code, evidence)]
        judged = f"{sum(bool(each.true) for each in alike)} of {len(alike)} true"
        lines.append(f"{evidence} = {number}  # {judged}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
