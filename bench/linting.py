"""Runs devlint in a process of its own, as a user would, and keeps what it took and gave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from devlint.verdict.score import is_certain

Finding = dict[str, object]
"""A finding as devlint's JSON has it, or as a bench stores it."""

_START = """
import runpy, sys
sys.path[:0] = {paths}
runpy.run_module("devlint", run_name="__main__", alter_sys=True)
"""
"""Isolated, for a project's own modules must not stand in for those that devlint needs."""

OPTIONS = ("--isolated", "--no-cache", "--no-respect-gitignore", "--exit-zero")


@dataclass(frozen=True)
class Outcome:
    """What a run took and gave. `crash` is why there are no findings, or ""."""

    findings: tuple[Finding, ...]
    seconds: float
    peak_mib: float
    """Of the first process: the whole run's where `jobs` is 1."""
    crash: str
    complaints: tuple[str, ...]


def devlint(
    paths: Iterable[Path],
    *,
    folder: Path | None = None,
    jobs: int = 1,
    select: str = "ALL",
    source: Path | None = None,
    facts: bool = False,
) -> Outcome:
    """Lint `paths` from `folder` with the devlint of `source`, or this interpreter's own: all that
    it finds, also what it shows with `--pedantic` only.

    With `facts`, there is an object for each file instead of findings, as `--dump-facts` has it.

    Needs POSIX, which tells the peak memory of a child that has ended.
    """
    command = started("check", *map(str, paths), *OPTIONS, source=source)
    command += ["--select", select, "--output-format", "json", "--jobs", str(jobs)]
    command += ["--dump-facts"] if facts else []
    command += ["--pedantic"] if source is None or _withholds(source) else []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
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
    return Outcome(
        tuple(found), seconds, usage.ru_maxrss / 1024, crash, tuple(complaints.splitlines())
    )


def started(*words: str, source: Path | None = None) -> list[str]:
    """The command that starts the devlint of `source`, or this interpreter's own, with `words`."""
    return [sys.executable, "-I", "-c", _START.format(paths=_import_paths(source)), *words]


def _withholds(source: Path) -> bool:
    """Whether a devlint has the option: before it had, all was shown."""
    options = source / "devlint" / "cli" / "arguments.py"
    return options.is_file() and "--pedantic" in options.read_text()


def _import_paths(source: Path | None) -> list[str]:
    """Where a run looks for modules first."""
    own = [] if source is None else [str(source)]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path(path).resolve()) for path in (*own, *given) if path]


def row(finding: Finding, which: str = "location") -> int:
    """The first row that a finding underlines; with "end_location" the last one."""
    location = finding[which]
    assert isinstance(location, dict)
    return int(location["row"])


def is_shown(finding: Mapping[str, object]) -> bool:
    """Whether a finding is shown by default. Before there were numbers, all were."""
    confidence = finding.get("confidence")
    return not isinstance(confidence, int) or is_certain(confidence)


def record(finding: Finding, package: str, version: str, path: str) -> Finding:
    """A finding as it is stored and labelled: where it is inside its package, and devlint's own."""
    own = ("code", "name", "level", "confidence", "message", "trace")
    return {
        "package": package,
        "version": version,
        "path": path,
        "line": row(finding),
        **{key: finding[key] for key in own if key in finding},
    }
