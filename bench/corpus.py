"""Lint the pinned public packages: crashes, seconds, memory, findings, and how many are true.

    python bench/corpus.py                                  the whole corpus
    python bench/corpus.py timm trl --json findings.json    two packages, all findings kept
    python bench/corpus.py --sample 150 --seed 1 --codes DEV2,DEV3,DEV4    draw some to label

Packages come from the package registry into a cache outside the repository. The installed
devlint of this interpreter lints each of them in a process of its own. A label is a line of
labels.jsonl: package, version, path, line, code, verdict ("true" or "false") and reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import labels
import packages


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


def lint(package: packages.Package, jobs: int, select: str) -> Run:
    """Lint one package. Needs POSIX, which tells the peak memory of a child that has ended."""
    files = package.files
    command = [sys.executable, "-m", "devlint", "check", str(package.folder), "--isolated"]
    command += ["--no-cache", "--no-respect-gitignore", "--exit-zero", "--select", select]
    command += ["--output-format", "json", "--jobs", str(jobs)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, complaints = out.read(), err.read().decode(errors="replace")
    crash, found = "", []
    try:
        found = json.loads(printed)
    except ValueError:
        crash = complaints.strip()[-2000:] or f"no output, exit code {process.returncode}"
    if process.returncode not in (0, 2):
        crash = complaints.strip()[-2000:] or f"exit code {process.returncode}"
    return Run(
        package,
        len(files),
        sum(path.read_bytes().count(b"\n") for path in files),
        seconds,
        usage.ru_maxrss / 1024 if jobs == 1 else None,
        crash,
        tuple(line for line in complaints.splitlines() if "internal error" in line.lower()),
        tuple(_record(package, finding) for finding in found),
    )


def _record(package: packages.Package, finding: dict[str, object]) -> dict[str, object]:
    """A finding as it is stored and labelled: where it is inside its package, and devlint's own."""
    path = Path(str(finding["filename"])).resolve().relative_to(package.folder.resolve())
    location = finding["location"]
    assert isinstance(location, dict)
    return {
        "package": package.name,
        "version": package.version,
        "path": path.as_posix(),
        "line": location["row"],
        **{key: finding[key] for key in ("code", "name", "level", "message", "trace")},
    }


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


def print_rules(runs: list[Run], verdicts: dict[labels.Key, bool]) -> None:
    lines = sum(run.lines for run in runs)
    findings = [finding for run in runs for finding in run.findings]
    names = {str(finding["code"]): str(finding["name"]) for finding in findings}
    by_code = labels.precision(findings, verdicts)
    head = f"{'code':8}{'name':32} {'findings':>8} {'per 100k':>8} {'unlabelled':>10} {'true':>9}"
    print(f"\n{head}  precision")
    for code, found in by_code.items():
        print(f"{code:8}{names[code]:32} {_figures(found, lines)}")
    proving = [found for code, found in by_code.items() if code[:4] in ("DEV2", "DEV3", "DEV4")]
    together = sum(proving, labels.Precision(0, 0, 0))
    print(f"{'DEV2xx, DEV3xx and DEV4xx':40} {_figures(together, lines)}")


def _figures(found: labels.Precision, lines: int) -> str:
    rate = found.findings / lines * 100_000 if lines else 0.0
    unlabelled = found.findings - found.labelled
    text = f"{found.findings:8} {rate:8.2f} {unlabelled:10} {found.true:4}/{found.labelled:<4}"
    if found.share is not None:
        low, high = found.interval
        text += f"  {found.share:.0%} (95 % interval {low:.0%} to {high:.0%})"
    return text


def draw(
    runs: list[Run], verdicts: dict[labels.Key, bool], codes: tuple[str, ...], size: int, seed: int
) -> list[dict[str, object]]:
    """At most `size` findings that are not labelled yet, drawn at random, in the corpus's order."""
    open_ones = [
        finding
        for run in runs
        for finding in run.findings
        if str(finding["code"]).startswith(codes) and labels.key_of(finding) not in verdicts
    ]
    chosen = random.Random(seed).sample(range(len(open_ones)), min(size, len(open_ones)))
    return [open_ones[index] for index in sorted(chosen)]


def print_sample(sample: list[dict[str, object]], runs: list[Run]) -> None:
    """A line to complete for labels.jsonl, after the source and the message as comments."""
    folders = {run.package.name: run.package.folder for run in runs}
    for finding in sample:
        source = folders[str(finding["package"])] / str(finding["path"])
        line = int(str(finding["line"]))
        around = source.read_text(errors="replace").splitlines()[max(0, line - 3) : line + 2]
        print(f"\n// {source}:{line}\n// {finding['message']}")
        print("\n".join(f"//   {text}" for text in around))
        label = {key: finding[key] for key in ("package", "version", "path", "line", "code")}
        print(json.dumps(label | {"verdict": "", "reason": ""}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("packages", nargs="*", help="names of corpus.toml (default: all)")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--jobs", type=int, default=1, help="with more, memory isn't measured")
    parser.add_argument("--select", default="ALL", help="rules to run (default: ALL)")
    parser.add_argument("--labels", type=Path, default=packages.BENCH / "labels.jsonl")
    parser.add_argument("--json", type=Path, help="write all findings to this file")
    parser.add_argument("--sample", type=int, default=0, help="draw findings to label")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--codes", default="DEV", help="prefixes to draw from, with commas")
    options = parser.parse_args()

    verdicts = labels.read(options.labels)
    fetched = packages.fetch(options.packages, options.cache)
    runs = [lint(package, options.jobs, options.select) for package in fetched]
    print_runs(runs)
    print_rules(runs, verdicts)
    if options.json:
        everything = [finding for run in runs for finding in run.findings]
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
    if options.sample:
        codes = tuple(options.codes.split(","))
        print_sample(draw(runs, verdicts, codes, options.sample, options.seed), runs)
    if any(run.crash or run.internal_errors for run in runs):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
