"""What speed.py measures besides whole runs: how long a person waits."""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import scale
from speed_tools import Cost, devlint, measured, middle, ruff

MOST_OF_RUFF, MOST_AFTER_CHANGE, MOST_OF_HOOK, MOST_OF_VERSION = 2.0, 0.5, 0.6, 0.06


@dataclass(frozen=True)
class Mark:
    """A figure that is to be at most another one."""

    what: str
    found: float
    most: float
    unit: str
    how: str

    @property
    def holds(self) -> bool:
        return self.found <= self.most


def told(cost: Cost) -> str:
    """Both seconds: other programs stretch those on the clock."""
    return f"{cost.wall:.2f} s ({cost.user:.2f} s of user time)"


def nothing_changed(root: Path, files: int, peers: str, repeat: int) -> Mark:
    """The second run over a tree beside ruff's second run, each as it is by default."""
    with tempfile.TemporaryDirectory() as caches:
        ours = devlint(f"--cache-dir={caches}/devlint", str(root))
        theirs = ruff(peers, f"--cache-dir={caches}/ruff", str(root))
        rounds = [[measured(each) for each in (ours, theirs)] for _ in range(repeat + 1)]
    own, other = (middle(each) for each in zip(*rounds[1:], strict=True))
    found = own.wall / other.wall
    how = f"{told(own)} and {told(other)}, {files:,} files"
    return Mark("nothing changed: wall time beside ruff's", found, MOST_OF_RUFF, "times", how)


def one_changed(files: int, repeat: int) -> Mark:
    """A run after a change of one file, less what its package takes alone and without a cache."""
    with tempfile.TemporaryDirectory() as place:
        root, cache = Path(place, "tree"), f"--cache-dir={place}/cache"
        scale.generate(root, files)
        changed = sorted(root.rglob("m4.py"))[files // 20]
        empty = Path(place, "empty.py")
        empty.touch()
        measured(devlint(cache, str(root)))
        after, alone = [], []
        for number in range(repeat):
            changed.write_text(f"{changed.read_text()}\n\ndef added{number}(x):\n    return x\n")
            after.append(measured(devlint(cache, str(root))))
            own = measured(devlint("--no-cache", "--jobs=1", str(changed.parent))).wall
            alone.append(own - measured(devlint("--no-cache", "--jobs=1", str(empty))).wall)
    how = f"{told(middle(after))}, of which the file's package {median(alone):.2f} s"
    what = f"one of {files:,} files changed: beside its own analysis"
    return Mark(what, middle(after).wall - median(alone), MOST_AFTER_CHANGE, "s", how)


def hook(packages: Iterable[Path], repeat: int, seed: int) -> Mark:
    """Three files of a package, drawn at random, as pre-commit's hook has them linted first."""
    dice, costs = random.Random(seed), []
    for _ in range(repeat):
        for package in packages:
            files = sorted(package.rglob("*.py"))
            words = map(str, dice.sample(files, min(3, len(files))))
            costs.append(measured(devlint("--force-exclude", "--no-cache", *words)))
    worst = max(costs, key=lambda each: each.wall)
    how = f"{told(middle(costs))} of {len(costs)} draws; the longest {told(worst)}"
    return Mark("three files of a commit, cold", middle(costs).wall, MOST_OF_HOOK, "s", how)


def version(repeat: int) -> Mark:
    """`devlint --version` beyond a Python that does nothing."""
    bare, asked = [sys.executable, "-c", ""], [sys.executable, "-m", "devlint", "--version"]
    rounds = [[measured(each) for each in (bare, asked)] for _ in range(4 * repeat)]
    plain, ours = (middle(each).wall for each in zip(*rounds, strict=True))
    how = f"{ours * 1000:.0f} ms and {plain * 1000:.0f} ms"
    return Mark("devlint --version beyond bare Python", ours - plain, MOST_OF_VERSION, "s", how)


def table(marks: Iterable[Mark]) -> str:
    """The marks as Markdown."""
    rows = ["| | measured | at most | |", "|---|---|---|---|"]
    rows += [f"| {each.what} | {each.found:.2f} {each.unit} | {each.most:.2f} {each.unit}"
             f" | {each.how} |" for each in marks]  # fmt: skip
    return "\n".join(rows)
