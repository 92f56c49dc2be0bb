"""Lint the pinned public packages: crashes, seconds, memory, findings, and how many are true.

    python bench/corpus.py                                  the whole corpus
    python bench/corpus.py timm trl --json findings.json    two packages, all findings kept
    python bench/corpus.py --set heldout                    packages that nothing is tuned on
    python bench/corpus.py --set sample1 --mirrors DIR      an opened sample (samples.py)
    python bench/corpus.py --unlabelled sheet.json          findings to judge, with the code around
    python bench/corpus.py --once-read sheet.json           those that only one reader has judged

Packages come from the package registry into a cache outside the repository. The installed
devlint of this interpreter lints each of them in a process of its own. What is true of
the findings is known from labels.jsonl; labels.py says how a sheet becomes labels.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import labels
import linting
import packages
import precision
import samples
import sheet


@dataclass(frozen=True)
class Run:
    """What linting one package took and gave."""

    package: packages.Package
    files: int
    lines: int
    seconds: float
    peak_mib: float | None
    """None where several processes worked: only the first one's would be known."""
    crash: str
    internal_errors: tuple[str, ...]
    findings: tuple[dict[str, object], ...]


def lint(package: packages.Package, jobs: int, select: str, source: Path | None = None) -> Run:
    """Lint one package with the devlint of `source`, or this interpreter's own."""
    files, folder = package.files, package.folder.resolve()
    done = linting.devlint([folder], jobs=jobs, select=select, source=source)
    findings = []
    for finding in done.findings:
        path = Path(str(finding["filename"])).resolve().relative_to(folder).as_posix()
        findings.append(linting.record(finding, package.name, package.version, path))
    return Run(
        package,
        len(files),
        sum(path.read_bytes().count(b"\n") for path in files),
        done.seconds,
        done.peak_mib if jobs == 1 else None,
        done.crash,
        tuple(line for line in done.complaints if "internal error" in line.lower()),
        tuple(findings),
    )


def facts(package: packages.Package, source: Path | None = None) -> Run:
    """The facts of one package, each as a finding: its type for a code, all else for a message."""
    folder = package.folder.resolve()
    done = linting.devlint([folder], source=source, facts=True)
    found = []
    for file in done.findings:
        path = Path(str(file["filename"])).resolve().relative_to(folder).as_posix()
        found += [_fact(package, path, fact) for fact in file["facts"]]
    return Run(package, 0, 0, done.seconds, done.peak_mib, done.crash, (), tuple(found))


def _fact(package: packages.Package, path: str, fact: Mapping[str, object]) -> dict[str, object]:
    line = int(str(fact.get("at", "0:0")).rsplit("-", 1)[0].rsplit(":", 2)[-2])
    place = {"package": package.name, "version": package.version, "path": path, "line": line}
    rest = {key: value for key, value in fact.items() if key not in ("type", "context")}
    return {**place, "code": fact["type"], "message": json.dumps(rest, ensure_ascii=False)}


def print_runs(runs: list[Run]) -> None:
    print(f"{'package':28} {'files':>6} {'lines':>9} {'seconds':>8} {'MiB':>6} {'findings':>8}")
    for run in runs:
        name = f"{run.package.name} {run.package.version}"
        print(
            f"{name:28} {run.files:6} {run.lines:9} {run.seconds:8.1f} {_mib([run]):>6} "
            f"{len(run.findings):8}"
        )
    print(
        f"{'all':28} {sum(r.files for r in runs):6} {sum(r.lines for r in runs):9} "
        f"{sum(r.seconds for r in runs):8.1f} {_mib(runs):>6} "
        f"{sum(len(r.findings) for r in runs):8}"
    )
    crashes = [run for run in runs if run.crash]
    errors = [error for run in runs for error in run.internal_errors]
    print(f"crashes: {len(crashes)}   internal errors: {len(errors)}")
    for run in crashes:
        print(f"  {run.package.name}: {run.crash}")
    for error in errors:
        print(f"  {error}")


def _mib(runs: list[Run]) -> str:
    peaks = [run.peak_mib for run in runs if run.peak_mib is not None]
    return f"{max(peaks):.0f}" if peaks else "-"


def print_rules(runs: list[Run], settled: dict[labels.Key, bool]) -> None:
    findings = [finding for run in runs for finding in run.findings]
    names = {str(finding["code"]): str(finding["name"]) for finding in findings}
    default = precision.by_default(findings, settled)
    precision.print_table(precision.by_code(findings, settled), default, names)
    proving = sum(str(finding["code"]).startswith(labels.PROVING) for finding in findings)
    lines = sum(run.lines for run in runs)
    rate = proving / lines * 100_000 if lines else 0.0
    print(f"findings of DEV2 to DEV5 in 100,000 lines: {rate:.2f}")


def texts(runs: list[Run]) -> Callable[[labels.Record], str]:
    """The whole file that a finding stands in."""
    folders = {run.package.name: run.package.folder for run in runs}
    return lambda finding: (folders[str(finding["package"])] / str(finding["path"])).read_text(
        errors="replace"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("packages", nargs="*", help="names of the set (default: all)")
    drawn = samples.read()
    sets = (*packages.SETS, *drawn)
    parser.add_argument("--set", choices=sets, default="corpus", help="which packages or projects")
    parser.add_argument("--mirrors", type=Path, help="the folder of the clones, for a sample")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--jobs", type=int, default=1, help="with more, memory isn't measured")
    parser.add_argument("--select", default="ALL", help="rules to run (default: ALL)")
    parser.add_argument("--labels", type=Path, default=labels.LABELS)
    parser.add_argument("--json", type=Path, help="write all findings to this file")
    parser.add_argument("--unlabelled", type=Path, help="write those without a label to judge")
    parser.add_argument("--once-read", type=Path, help="write those that need a second reader")
    parser.add_argument("--codes", default=",".join(labels.PROVING), help="prefixes to judge")
    parser.add_argument("--sample", type=int, default=0, help="write so many, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    known = labels.read(options.labels)
    if options.set in drawn:
        sample = drawn[options.set]
        fetched = samples.fetch(sample, options.packages, options.cache, options.mirrors)
    else:
        fetched = packages.fetch(options.packages, options.cache, options.set)
    runs = [lint(package, options.jobs, options.select) for package in fetched]
    findings = [finding for run in runs for finding in run.findings]
    print_runs(runs)
    print_rules(runs, labels.verdicts(known))
    labels.print_gone(findings, known, {package.name for package in fetched})
    if options.json:
        options.json.write_text(json.dumps(findings, indent=1) + "\n")
    codes = tuple(options.codes.split(","))
    for path, once in ((options.unlabelled, False), (options.once_read, True)):
        if path:
            chosen = sheet.choose(findings, known, codes, once=once)
            sheet.write(sheet.sample(chosen, options.sample, options.seed), texts(runs), path)
    if any(run.crash or run.internal_errors for run in runs):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
