"""Whether the sorts of steps in a finding's derivation tell true findings from false ones.

    python bench/calibrate.py                  (with `pip install scikit-learn`)

A logistic regression on what is known of each labelled finding (its rule, the sorts of its steps)
is fitted on nine tenths of the projects and tried on the others, ten times. Printed are the area
under the curve (0.5: it ranks no better than chance), the Brier score beside that of the base rate
alone, and how many findings score above a mark, with the share of them that is true. A score may
decide what is shown by default only where it ranks findings of projects that it wasn't fitted on.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from labels import LABELS, PROVING, Label, read
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

FOLDS = 10
RARE = 6
"""What fewer findings have than this isn't fitted."""
MARKS = (0.6, 0.7, 0.8, 0.9)

Features = Callable[[Label], set[str]]
WHAT: dict[str, Features] = {
    "rule": lambda label: {label.key[4]},
    "sorts": lambda label: set(label.sorts),
    "rule and sorts": lambda label: {label.key[4], *label.sorts},
}


def main() -> None:
    """Print a line for each kind of features."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    labels = [
        label
        for label in read(LABELS).values()
        if label.sorts and label.true is not None and label.first_sight
        if label.key[4].startswith(PROVING)
    ]
    true = np.array([label.true for label in labels])
    base = float(true.mean() * (1 - true.mean()))
    projects = len({label.key[0] for label in labels})
    print(f"{len(labels)} findings of {projects} projects, {true.mean():.0%} of them true")
    for name, features in WHAT.items():
        scores = _scores(labels, features, true)
        area, brier = roc_auc_score(true, scores), brier_score_loss(true, scores)
        above = ", ".join(_above(scores, true, mark) for mark in MARKS)
        print(f"{name:15} area {area:.2f}  Brier {brier:.3f} (base {base:.3f})  {above}")


def _scores(labels: Sequence[Label], features: Features, true: np.ndarray) -> np.ndarray:
    """What each finding scores by a model that was fitted on other projects."""
    found = [features(label) for label in labels]
    counts = Counter(name for names in found for name in names)
    kept = sorted(name for name, count in counts.items() if count >= RARE)
    table = np.array([[name in names for name in kept] for names in found], float)
    groups = [label.key[0] for label in labels]
    scores = np.zeros(len(labels))
    for fitted, tried in GroupKFold(FOLDS).split(table, true, groups):
        model = LogisticRegression(C=0.3, max_iter=2000).fit(table[fitted], true[fitted])
        scores[tried] = model.predict_proba(table[tried])[:, 1]
    return scores


def _above(scores: np.ndarray, true: np.ndarray, mark: float) -> str:
    chosen = scores >= mark
    share = f"{true[chosen].mean():.0%} true" if chosen.any() else "none"
    return f"{mark:.0%}: {int(chosen.sum())} ({share})"


if __name__ == "__main__":
    main()
