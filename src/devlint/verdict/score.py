"""How certain a finding is: how many of a hundred like it were true, of those that somebody judged.

Alike are the findings of one rule that are known by the same evidence; of evidence that nobody
has judged, all of the rule are. What is known of a file by its name, as that it holds tests, is
added to that in log-odds. The numbers stand in `score.toml`, which `bench/calibrate.py` writes from
the labels of real findings, as they were at first sight.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from math import exp
from typing import Any

from devlint.flow.domain.derivation import Sort

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROVING = ("DEV2", "DEV3", "DEV4", "DEV5")
"""The families whose findings claim that something goes wrong. The others say what stands there."""
THRESHOLD = 35
"""What scores below is shown with `pedantic` only: tried on other projects, 26 of 149 such findings
were true, and 811 of the 1,177 others."""
RULE = "rule"
"""How the table calls the share of a rule, whatever the evidence."""
FILES = "files"
"""How the table calls what rows of policy say that speak of a file, in log-odds, by families: a
move without effect is one in a test, too, while a module that a test makes up stays where it is."""
FILE = "file."
"""How the sort begins that stands for such a row, before its name."""
NAME = "policy."
"""The same of a row that takes a name for a convention."""
_MANY = 5
"""Sorts of steps: of findings that rest on so many, some of them assumed, few were true."""
_ASSUMED = ("context.", "contract.", "convention.", "join.")
"""How the sorts begin of steps that the program doesn't state: what callers give, what annotations
promise, customs of PyTorch's users, and what one of several paths leaves."""
_EVIDENCE = (
    (Sort.JOIN, "decided"),
    (Sort.MOVE_HOST, "decided"),
    (Sort.TENSOR_BY_USE, "by-use"),
    (Sort.ANNOTATION, "by-annotation"),
    (Sort.MODULE_MOVES, "module-may-move"),
)


def evidence(sorts: Collection[str]) -> str:
    """What a finding rests on most weakly, by the sorts of steps that it is derived by. A name may
    stand for something else, and each step that is assumed may be wrong; whoever brings something
    to the host, or decides where it is, mostly knows what is there."""
    if any(each.startswith(NAME) for each in sorts):
        return "by-name"
    is_long = sum(not each.startswith(FILE) for each in sorts) >= _MANY
    if is_long and any(each.startswith(_ASSUMED) for each in sorts):
        return "by-many-steps"
    return next((name for sort, name in _EVIDENCE if sort.value in sorts), "stated")


def is_certain(number: int, least: int | None = None) -> bool:
    """Whether what scores so is shown: with the `least` score that was asked for, or without."""
    return number >= (THRESHOLD if least is None else least)


def score(code: str, sorts: Collection[str]) -> int:
    """How many of a hundred findings like it were true."""
    if not code.startswith(PROVING):
        return 100
    found = _numbers()
    of_rule = found.get(code, {RULE: found["mean"]})
    files = of_family(found[FILES], code)
    return shifted(of_rule.get(evidence(sorts), of_rule[RULE]), sorts, files)


def of_family(files: Mapping[str, Mapping[str, float]], code: str) -> dict[str, float]:
    """What rows of policy that speak of a file add to the numbers of one family of codes."""
    return {name: odds.get(code[: len(PROVING[0])], 0.0) for name, odds in files.items()}


def shifted(number: int, sorts: Collection[str], files: Mapping[str, float]) -> int:
    """A share of a hundred, in the files of which these rows speak."""
    by = sum(files.get(sort.removeprefix(FILE), 0) for sort in sorts if sort.startswith(FILE))
    return round(100 / (1 + (100 / number - 1) * exp(-by))) if by else number


@cache
def _numbers() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "score.toml").read_text(encoding="utf-8"))
