"""Real bugs, found or not: devlint on files of public projects, before and after a bug fix.

    python bench/recall.py --mirrors DIR [--misses FILE]

bugs.jsonl names a commit that fixed a device bug on each line: repo, fix and parent commit,
path, the faulty lines (1-based, before the fix), the class of the bug, and how visible it is:
from one expression (a), inside one function (b), across functions (c), or in a running program
only (d). DIR holds clones: owner+name, owner+name.git or owner+name/repo.

A bug is seen if a finding touches a faulty line, named if one of those has a code that fits the
class, and silenced if the file has fewer findings of that code after the fix.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BUGS = Path(__file__).resolve().parent / "bugs.jsonl"

MISPLACED = ("DEV201", "DEV202", "DEV203")
FITTING = {
    "autocast-hardcoded": ("DEV107",),
    "batch-not-moved": (*MISPLACED, "DEV109"),
    "container-not-moved": ("DEV301", "DEV201", "DEV110"),
    "creation-without-device": (*MISPLACED, "DEV204", "DEV401"),
    "cuda-on-container": ("DEV301",),
    "data-parallel": ("DEV404",),
    "device-compare": ("DEV304", "DEV305"),
    "discarded-to": ("DEV302",),
    "generator-device": ("DEV207",),
    "hardcoded-cuda": ("DEV101", "DEV102", "DEV103", "DEV104", "DEV105", "DEV108", "DEV109"),
    "hardcoded-index": ("DEV101", "DEV103", "DEV104", "DEV110"),
    "hf-inputs-not-moved": MISPLACED,
    "index-device": ("DEV202", "DEV203", "DEV204"),
    "load-without-map-location": ("DEV106",),
    "metric-not-moved": ("DEV202", "DEV208"),
    "module-list": ("DEV402",),
    "nonblocking-race": ("DEV503",),
    "numpy-without-cpu": ("DEV205", "DEV206"),
    "optimizer-before-move": ("DEV403",),
    "pin-memory": ("DEV502",),
    "unregistered-buffer": ("DEV202", "DEV203", "DEV401"),
    "worker-cuda": ("DEV501",),
}
"""Codes that name a bug of a class. A bug of any other class is named by any code."""


@dataclass(frozen=True)
class Bug:
    """One line of bugs.jsonl."""

    repo: str
    fix: str
    parent: str
    path: str
    lines: frozenset[int]
    kind: str
    visible: str

    @classmethod
    def parse(cls, line: str) -> Bug:
        record = json.loads(line)
        return cls(
            record["repo"],
            record["fix"],
            record["parent"],
            record["path"],
            frozenset(record["lines"]),
            record["class"],
            record["visible"],
        )


@dataclass(frozen=True)
class Verdict:
    """What devlint makes of a bug; `codes` are those that fit its class, on its lines."""

    bug: Bug
    seen: bool
    codes: frozenset[str]
    silenced: bool

    @property
    def named(self) -> bool:
        return bool(self.codes)


def clone_of(mirrors: Path, repo: str) -> Path | None:
    """The git directory of `repo`, or None where there is no clone."""
    flat = mirrors / repo.replace("/", "+")
    choices = (flat, flat / ".git", flat / "repo", flat.with_name(flat.name + ".git"))
    return next((choice for choice in choices if (choice / "HEAD").is_file()), None)


def content(clone: Path, commit: str, path: str) -> bytes | None:
    """A file at a commit, or None where the clone doesn't hold it."""
    shown = subprocess.run(
        ["git", "--git-dir", str(clone), "cat-file", "blob", f"{commit}:{path}"],
        capture_output=True,
    )
    return None if shown.returncode else shown.stdout


def check_out(bugs: list[Bug], mirrors: Path, root: Path) -> list[int]:
    """Write both versions of each bug's file under `root`; the numbers of the bugs at hand."""
    at_hand = []
    for number, bug in enumerate(bugs):
        clone = clone_of(mirrors, bug.repo)
        before = content(clone, bug.parent, bug.path) if clone else None
        if clone is None or before is None:
            continue
        after = content(clone, bug.fix, bug.path) or b""
        for when, data in (("before", before), ("after", after)):
            target = place(root, when, number, bug)
            target.parent.mkdir(parents=True)
            target.write_bytes(data)
        at_hand.append(number)
    return at_hand


def place(root: Path, when: str, number: int, bug: Bug) -> Path:
    return root / when / str(number) / bug.path


def lint(folder: Path, jobs: int) -> dict[Path, list[dict[str, object]]]:
    """All findings of all rules under `folder`, by file."""
    command = [sys.executable, "-m", "devlint", "check", str(folder), "--isolated", "--no-cache"]
    command += ["--no-respect-gitignore", "--exit-zero", "--select", "ALL"]
    command += ["--output-format", "json", "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"devlint ended with {done.returncode}: {done.stderr[-2000:]}")
    found: defaultdict[Path, list[dict[str, object]]] = defaultdict(list)
    for finding in json.loads(done.stdout):
        found[Path(finding["filename"]).resolve()].append(finding)
    return found


def judge(bug: Bug, before: list[dict[str, object]], after: list[dict[str, object]]) -> Verdict:
    """What the findings of the file before and after the fix say of the bug."""
    touching = [str(finding["code"]) for finding in before if bug.lines & rows(finding)]
    fitting = FITTING.get(bug.kind)
    codes = frozenset(code for code in touching if fitting is None or code in fitting)
    counts = [Counter(str(finding["code"]) for finding in found) for found in (before, after)]
    silenced = any(counts[1][code] < counts[0][code] for code in codes)
    return Verdict(bug, bool(touching), codes, silenced)


def rows(finding: dict[str, object]) -> set[int]:
    """The rows that a finding underlines."""
    first, last = finding["location"], finding["end_location"]
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    return set(range(first["row"], last["row"] + 1))


def print_table(verdicts: list[Verdict], label: Callable[[Verdict], str]) -> None:
    groups: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[label(verdict)].append(verdict)
    print(f"\n{'':30} {'bugs':>5} {'seen':>5} {'named':>6} {'silenced':>9} {'recall':>7}")
    for name, group in sorted(groups.items()):
        named = sum(verdict.named for verdict in group)
        seen, silenced = sum(v.seen for v in group), sum(v.silenced for v in group)
        print(f"{name:30} {len(group):5} {seen:5} {named:6} {silenced:9} {named / len(group):7.0%}")


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--mirrors", type=Path, required=True, help="the folder of the clones")
    parser.add_argument("--bugs", type=Path, default=BUGS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--misses", type=Path, help="write the bugs that are not named here")
    options = parser.parse_args()

    bugs = [Bug.parse(line) for line in options.bugs.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve()
        at_hand = check_out(bugs, options.mirrors, root)
        if not at_hand:
            raise SystemExit(f"no clone of these projects under {options.mirrors}")
        before, after = lint(root / "before", options.jobs), lint(root / "after", options.jobs)
        verdicts = [
            judge(
                bugs[number],
                before.get(place(root, "before", number, bugs[number]), []),
                after.get(place(root, "after", number, bugs[number]), []),
            )
            for number in at_hand
        ]
    print_table(verdicts, lambda verdict: verdict.bug.kind)
    print_table(verdicts, lambda verdict: f"visible: {verdict.bug.visible}")
    plain = [verdict for verdict in verdicts if verdict.bug.visible in "ab"]
    named = [verdict for verdict in verdicts if verdict.named]
    print(f"\nbugs without a clone: {len(bugs) - len(at_hand)}")
    print(f"named, visible in one function: {share(sum(v.named for v in plain), len(plain))}")
    print(f"named, of all: {share(len(named), len(verdicts))}")
    print(f"silenced, of the named: {share(sum(v.silenced for v in named), len(named))}")
    if options.misses:
        missed = [verdict.bug for verdict in verdicts if not verdict.named]
        options.misses.write_text(
            "".join(
                f"{bug.kind} {bug.visible} {bug.repo} {bug.parent} {bug.path} {sorted(bug.lines)}\n"
                for bug in missed
            )
        )


if __name__ == "__main__":
    main()
