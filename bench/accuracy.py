"""How right devlint is: real bugs found, findings that are true, false ones on fixed files.

    python bench/accuracy.py --mirrors DIR --jobs 2        recall, and the files after their fix
    python bench/accuracy.py --findings FILE               precision of what corpus.py --json wrote
    python bench/accuracy.py --mirrors DIR --findings FILE --check
    python bench/accuracy.py --mirrors DIR --unlabelled sheet.json     what is left to judge there

Recall is that of recall.py, which says what DIR holds and what counts as named. Precision is the
true share of the findings that labels.jsonl judges. Both count all findings, as with `--pedantic`,
and say besides what is left of them by default. The files of bugs.jsonl as they are after the
fix hold few bugs, and code of many styles: what is found there is counted by 100,000 lines.

With --check, a figure that is worse than floor.toml allows is told in a line, and the exit code
is 1. Only what has been measured is checked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import bugs
import labels
import linting
import precision
import recall
import sheet

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FLOOR = Path(__file__).resolve().parent / "floor.toml"

Figures = dict[str, float]
"""By a dotted name: the table of floor.toml and its key."""

AT_MOST = ("after_fix.",)
"""Prefixes of figures that are better when they are lower."""


# --- real bugs ---------------------------------------------------------------------------------


def recall_figures(judged: list[recall.Verdict]) -> Figures:
    """The named share of the bugs of each visibility, and the silenced share of the named."""
    groups = recall.by(judged, lambda verdict: verdict.bug.visible)
    figures = {
        f"recall.{visible}": sum(verdict.named for verdict in group) / len(group)
        for visible, group in groups.items()
    }
    named = [verdict for verdict in judged if verdict.named]
    if named:
        figures["recall.silenced"] = sum(verdict.silenced for verdict in named) / len(named)
    return figures


def print_recall(judged: list[recall.Verdict]) -> None:
    """Named bugs of all bugs, by class and visibility."""
    print(f"{'named / bugs':28}" + "".join(f"{visible:>9}" for visible in "abcd") + f"{'all':>9}")
    for kind, group in recall.by(judged, lambda verdict: verdict.bug.kind).items():
        print(_recall_row(kind, group))
    print(_recall_row("all", judged))
    for visible, group in recall.by(judged, lambda verdict: verdict.bug.visible).items():
        named = sum(verdict.named for verdict in group)
        low, high = precision.wilson(named, len(group))
        told = f"{named / len(group):.0%} (95 % Wilson interval {low:.0%} to {high:.0%})"
        print(f"visible {visible}: {told}")


def _recall_row(name: str, group: list[recall.Verdict]) -> str:
    cells = []
    for visible in (*"abcd", "abcd"):
        some = [verdict for verdict in group if verdict.bug.visible in visible]
        named = sum(verdict.named for verdict in some)
        cells.append(f"{named}/{len(some)}" if some else "-")
    return f"{name:28}" + "".join(f"{cell:>9}" for cell in cells)


# --- files after the fix -----------------------------------------------------------------------


@dataclass(frozen=True)
class AfterFix:
    """What is found in the files of the bugs once they are fixed."""

    files: int
    lines: int
    findings: tuple[labels.Record, ...]
    """Those that claim that something goes wrong."""
    texts: dict[tuple[str, str, str], str]
    """The files by project, commit and path."""

    def text_of(self, finding: labels.Record) -> str:
        package, version, path, *_ = labels.key_of(finding)
        return self.texts[package, version, path]


def after_fix(
    wanted: Iterable[recall.Version], linted: dict[recall.Version, recall.Linted]
) -> AfterFix:
    """Count each file once; one that was linted both ways as it is in its project."""
    files: dict[tuple[str, str, str], recall.Linted] = {}
    for version in sorted(set(wanted), key=lambda version: version.whole):
        if version in linted:
            files[version.repo, version.commit, version.path] = linted[version]
    return AfterFix(
        len(files),
        sum(one.source.count(b"\n") for one in files.values()),
        tuple(
            linting.record(finding, *place)
            for place, one in sorted(files.items())
            for finding in one.findings
            if str(finding["code"]).startswith(labels.PROVING)
        ),
        {place: one.source.decode(errors="replace") for place, one in files.items()},
    )


def after_figures(after: AfterFix, known: dict[labels.Key, labels.Label]) -> Figures:
    if not after.lines:
        return {}
    settled = labels.verdicts(known)
    false = sum(settled.get(labels.key_of(one)) is False for one in after.findings)
    return {"after_fix.false_per_100k": false / after.lines * 100_000}


def print_after(after: AfterFix, known: dict[labels.Key, labels.Label]) -> None:
    settled = labels.verdicts(known)
    verdicts = [settled.get(labels.key_of(finding)) for finding in after.findings]
    print(f"\nafter the fix: {after.files} files, {after.lines} lines; findings of DEV2 to DEV5:")
    rows = {"all": len(verdicts), "true": verdicts.count(True)}
    rows |= {"false": verdicts.count(False), "without a label": verdicts.count(None)}
    for name, count in rows.items():
        rate = count / after.lines * 100_000 if after.lines else 0.0
        print(f"  {name:16} {count:5}   in 100,000 lines {rate:6.2f}")
    for finding in after.findings:
        if settled.get(labels.key_of(finding)) is False:
            package, version, path, line, code = labels.key_of(finding)
            print(f"  false: {package} {version[:12]} {path}:{line} {code}")
    precision.print_table(
        precision.by_code(after.findings, settled),
        precision.by_default(after.findings, settled),
        {str(finding["code"]): str(finding["name"]) for finding in after.findings},
    )


# --- public code -------------------------------------------------------------------------------


def precision_figures(
    findings: list[labels.Record], known: dict[labels.Key, labels.Label]
) -> Figures:
    """The true share of the labelled findings of each family that has such."""
    families = precision.by_family(precision.by_code(findings, labels.verdicts(known)))
    return {
        f"precision.{family}": found.share
        for family, found in families.items()
        if found.share is not None
    }


def print_precision(findings: list[labels.Record], known: dict[labels.Key, labels.Label]) -> None:
    names = {str(finding["code"]): str(finding["name"]) for finding in findings}
    settled = labels.verdicts(known)
    default = precision.by_default(findings, settled)
    precision.print_table(precision.by_code(findings, settled), default, names)
    labels.print_gone(findings, known, {str(finding["package"]) for finding in findings})
    labels.print_agreement(known.values())


# --- floors ------------------------------------------------------------------------------------


def floors(path: Path) -> Figures:
    with path.open("rb") as file:
        tables = tomllib.load(file)
    return {
        f"{table}.{key}": float(value)
        for table, values in tables.items()
        for key, value in values.items()
    }


def failures(figures: Figures, allowed: Figures) -> list[str]:
    """A line for each figure that is worse than allowed; what hasn't been measured is none."""
    told = []
    for name, bound in allowed.items():
        figure = figures.get(name)
        if figure is None:
            continue
        if name.startswith(AT_MOST):
            if figure > bound:
                told.append(f"{name} is {figure:.3f}, over {bound:g}")
        elif figure < bound:
            told.append(f"{name} is {figure:.3f}, under {bound:g}")
    return told


def measure_bugs(options: argparse.Namespace, known: dict[labels.Key, labels.Label]) -> Figures:
    wanted = bugs.read(options.bugs)
    pairs = [recall.versions(bug, options.whole) for bug in wanted]
    both = [version for pair in pairs for version in pair]
    linted = recall.lint(both, options.mirrors, options.jobs)
    judged = recall.verdicts(wanted, linted, options.whole)
    if not judged:
        raise SystemExit(f"no clone of these projects under {options.mirrors}")
    print_recall(judged)
    recall.print_sums(judged, len(wanted) - len(judged))
    after = after_fix((pair[1] for pair in pairs), linted)
    print_after(after, known)
    if options.unlabelled:
        sheet.write(sheet.choose(after.findings, known), after.text_of, options.unlabelled)
    return recall_figures(judged) | after_figures(after, known)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--mirrors", type=Path, help="the folder of the clones, for recall")
    parser.add_argument("--findings", type=Path, help="what corpus.py --json wrote, for precision")
    parser.add_argument("--bugs", type=Path, default=bugs.BUGS)
    parser.add_argument("--labels", type=Path, default=labels.LABELS)
    parser.add_argument("--whole", action="store_true", help="lint every bug in its whole project")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--unlabelled", type=Path, help="write what is to judge after the fixes")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--check", action="store_true", help="fail where a figure is too bad")
    parser.add_argument("--floor", type=Path, default=FLOOR)
    options = parser.parse_args()
    if not (options.mirrors or options.findings):
        parser.error("nothing to measure: give --mirrors, --findings or both")

    known = labels.read(options.labels)
    figures: Figures = {}
    if options.mirrors:
        figures |= measure_bugs(options, known)
    if options.findings:
        findings = labels.records(options.findings)
        print_precision(findings, known)
        figures |= precision_figures(findings, known)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    if options.check:
        told = failures(figures, floors(options.floor))
        print("\n".join(["", *told] if told else ["", "no figure is under its floor"]))
        if told:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
