"""Real bugs, found or not: devlint on files of public projects, before and after a bug fix.

    python bench/recall.py --mirrors DIR --jobs 2            all of them
    python bench/recall.py --mirrors DIR --classes module-list,index-device --misses FILE
    python bench/recall.py --mirrors DIR --visible c         those across functions
    python bench/recall.py --mirrors DIR --bugs bench/fixes.jsonl --whole      other projects

bugs.jsonl names a commit that fixed a device bug on each line: repo, fix and parent commit,
path, the faulty lines (1-based, before the fix), the class of the bug (and of an "other" one what
it is), and how visible it is: from one expression (a), inside one function (b), across functions
(c), or in a running program only (d). In the lists of fixes (fixes*.jsonl) (d) is across files, and
(e) in a running program only, with what goes wrong in a sentence. DIR holds clones: owner+name,
owner+name.git or owner+name/repo.

A file is linted alone; where the bug is one across functions, and with --whole every one, in the
whole project as it was at that commit, from the project's root.

A bug is seen if a finding touches a faulty line, named if one of those has a code that fits the
class, and silenced if the file has fewer findings of that code after the fix. All findings count,
as with --pedantic; a named bug is shown if one of the findings that name it is so by default.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import bugs
import clones
import linting
import samples
from bugs import Bug
from fitting import fitting


@dataclass(frozen=True)
class Version:
    """One file at one commit, linted alone or in its whole project."""

    repo: str
    commit: str
    path: str
    whole: bool


@dataclass(frozen=True)
class Linted:
    """What devlint says of one version."""

    source: bytes
    findings: tuple[linting.Finding, ...]


@dataclass(frozen=True)
class Verdict:
    """What devlint makes of a bug; `codes` are those that fit its class, on its lines."""

    bug: Bug
    seen: bool
    codes: frozenset[str]
    silenced: bool
    shown: bool = True
    """Whether a finding that names it is shown by default."""

    @property
    def named(self) -> bool:
        return bool(self.codes)


def versions(bug: Bug, whole: bool) -> tuple[Version, Version]:
    """Its file before the fix and after it."""
    wide = whole or bug.visible == "c"
    before, after = (Version(bug.repo, sha, bug.path, wide) for sha in (bug.parent, bug.fix))
    return before, after


def lint(wanted: Iterable[Version], mirrors: Path, jobs: int) -> dict[Version, Linted]:
    """Lint each version that a clone holds."""
    alone, trees = [], defaultdict(list)
    for version in dict.fromkeys(wanted):
        if version.whole:
            trees[version.repo, version.commit].append(version)
        else:
            alone.append(version)
    linted = dict(_lint_alone(alone, mirrors, jobs))
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda tree: dict(_lint_tree(tree, mirrors)), trees.values()):
            linted.update(found)
    return linted


def _lint_alone(
    wanted: list[Version], mirrors: Path, jobs: int
) -> Iterator[tuple[Version, Linted]]:
    with tempfile.TemporaryDirectory() as scratch:
        placed = {}
        for number, version in enumerate(wanted):
            clone = clones.clone_of(mirrors, version.repo)
            data = clones.content(clone, version.commit, version.path) if clone else None
            if data is not None:
                target = Path(scratch, str(number), version.path)
                target.parent.mkdir(parents=True)
                target.write_bytes(data)
                placed[version] = target
        # The files themselves: in a walk over folders, some would be left out for their names.
        yield from _lint_files(placed, Path(scratch), jobs)


def _lint_tree(wanted: list[Version], mirrors: Path) -> Iterator[tuple[Version, Linted]]:
    """Versions of one commit, in one checkout."""
    clone = clones.clone_of(mirrors, wanted[0].repo)
    with tempfile.TemporaryDirectory() as scratch:
        commit, folder = wanted[0].commit, Path(scratch)
        if clone is None or not clones.check_out(clone, commit, folder, samples.is_wanted):
            return
        placed = {version: Path(scratch, version.path) for version in wanted}
        there = {version: path for version, path in placed.items() if path.is_file()}
        yield from _lint_files(there, Path(scratch), 1)


def _lint_files(
    placed: dict[Version, Path], folder: Path, jobs: int
) -> Iterator[tuple[Version, Linted]]:
    if not placed:
        return
    run = linting.devlint(placed.values(), folder=folder, jobs=jobs)
    if run.crash:
        raise SystemExit(f"devlint failed: {run.crash}")
    found = defaultdict(list)
    for finding in run.findings:
        found[(folder / str(finding["filename"])).resolve()].append(finding)
    for version, path in placed.items():
        yield version, Linted(path.read_bytes(), tuple(found[path.resolve()]))


def judge(bug: Bug, before: Iterable[linting.Finding], after: Iterable[linting.Finding]) -> Verdict:
    """What the findings of the file before and after the fix say of the bug."""
    old, new = list(before), list(after)
    touching = [finding for finding in old if bug.lines & rows(finding)]
    expected = fitting(bug.kind, bug.subkind)
    naming = [each for each in touching if expected is None or each["code"] in expected]
    codes = frozenset(str(finding["code"]) for finding in naming)
    counts = [Counter(str(finding["code"]) for finding in found) for found in (old, new)]
    silenced = any(counts[1][code] < counts[0][code] for code in codes)
    return Verdict(bug, bool(touching), codes, silenced, any(map(linting.is_shown, naming)))


def rows(finding: linting.Finding) -> set[int]:
    """The rows that a finding underlines."""
    return set(range(linting.row(finding), linting.row(finding, "end_location") + 1))


def verdicts(wanted: list[Bug], linted: dict[Version, Linted], whole: bool) -> list[Verdict]:
    """A verdict on each bug whose file before the fix is at hand."""
    judged = []
    for bug in wanted:
        before, after = (linted.get(version) for version in versions(bug, whole))
        if before is not None:
            judged.append(judge(bug, before.findings, after.findings if after else ()))
    return judged


def by(judged: Iterable[Verdict], label: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    """Verdicts grouped and sorted by what `label` says of them."""
    groups = defaultdict(list)
    for verdict in judged:
        groups[label(verdict)].append(verdict)
    return dict(sorted(groups.items()))


def print_table(groups: dict[str, list[Verdict]]) -> None:
    print(f"\n{'':30} {'bugs':>5} {'seen':>5} {'named':>6} {'silenced':>9} {'recall':>7}")
    for name, group in groups.items():
        named = sum(verdict.named for verdict in group)
        seen, silenced = sum(v.seen for v in group), sum(v.silenced for v in group)
        print(f"{name:30} {len(group):5} {seen:5} {named:6} {silenced:9} {named / len(group):7.0%}")


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def print_sums(judged: list[Verdict], without: int) -> None:
    plain = [verdict for verdict in judged if verdict.bug.visible in "ab"]
    named = [verdict for verdict in judged if verdict.named]
    print(f"\nbugs without a clone: {without}")
    print(f"named, visible in one function: {share(sum(v.named for v in plain), len(plain))}")
    print(f"named, of all: {share(len(named), len(judged))}")
    print(f"shown by default, of the named: {share(sum(v.shown for v in named), len(named))}")
    print(f"silenced, of the named: {share(sum(v.silenced for v in named), len(named))}")


def write_misses(judged: list[Verdict], path: Path) -> None:
    missed = [verdict.bug for verdict in judged if not verdict.named]
    path.write_text(
        "".join(
            f"{bug.kind} {bug.visible} {bug.repo} {bug.parent} {bug.path} {sorted(bug.lines)}\n"
            for bug in missed
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--mirrors", type=Path, required=True, help="the folder of the clones")
    parser.add_argument("--bugs", type=Path, default=bugs.BUGS)
    parser.add_argument("--classes", default="", help="only these classes of bugs, with commas")
    parser.add_argument("--visible", default="abcd", help="only bugs as visible as these letters")
    parser.add_argument("--whole", action="store_true", help="lint every bug in its whole project")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--misses", type=Path, help="write the bugs that are not named here")
    options = parser.parse_args()

    kinds = {kind for kind in options.classes.split(",") if kind}
    wanted = [
        bug
        for bug in bugs.read(options.bugs)
        if bug.visible in options.visible and (not kinds or bug.kind in kinds)
    ]
    both = [version for bug in wanted for version in versions(bug, options.whole)]
    judged = verdicts(wanted, lint(both, options.mirrors, options.jobs), options.whole)
    if not judged:
        raise SystemExit(f"no clone of these projects under {options.mirrors}")
    print_table(by(judged, lambda verdict: verdict.bug.kind))
    print_table(by(judged, lambda verdict: f"visible: {verdict.bug.visible}"))
    print_sums(judged, len(wanted) - len(judged))
    if options.misses:
        write_misses(judged, options.misses)


if __name__ == "__main__":
    main()
