"""The linter's findings in public packages beside what their own tests meet on a device.

    python bench/oracle.py                      all suites of suites.toml
    python bench/oracle.py --only zuko e3nn     some of them
    python bench/oracle.py --show               what is in oracle.jsonl, without a run

Each package's tests run by `pytest --devlint-on=cuda` (suites.py fetches them), and its files are
linted. Nobody reads anything: a finding is

    raised      a cause of the tests is at one of its lines: it is true
    ran         its lines have run with tensors on the device, and nothing was raised: it is false,
                or the path that it speaks of was not tried
    host        its lines have run with tensors of the host only
    not run     no test gets there, or nothing there calls torch

and a cause that no finding names is `missed`; why, a reader says in the field `reason`, which is
kept. The lines of a cause are the one that raises and those of its explanation; of a finding, its
own and those of its trace. The rules compared are those that speak of errors on a device: DEV2,
DEV3 and DEV4.

Lines are kept in oracle.jsonl, of one version of each package and of the tests in suites.toml:
{"package", "version", "file", "line", "code", "outcome", "message"}, and "reason" where one is
known.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import packages
import suites

BENCH = Path(__file__).resolve().parent
KEPT = BENCH / "oracle.jsonl"
Outcome = Literal["raised", "ran", "host", "not run", "missed"]
Line = tuple[str, int]
"""A file, below the package's root, and a line of it."""

PLACE = re.compile(r"(\S+\.py):(\d+)")
"""A line that an explanation names."""


@dataclass(frozen=True)
class Label:
    """What tests say of a finding, or of a mistake that no finding names."""

    package: str
    version: str
    file: str
    line: int
    code: str
    outcome: Outcome
    message: str
    reason: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What stays the same between two runs."""
        return self.package, self.version, self.file, self.line, self.code

    def as_line(self) -> str:
        """As it is kept."""
        values = asdict(self)
        if not self.reason:
            del values["reason"]
        return json.dumps(values, ensure_ascii=False)


@dataclass(frozen=True)
class Place:
    """A finding or a cause, as far as it is compared."""

    file: str
    line: int
    code: str
    message: str
    lines: frozenset[Line]
    """All that it names."""


def labels(
    findings: Sequence[Place], causes: Sequence[Place], ran: Mapping[Line, bool]
) -> list[tuple[Place, Outcome]]:
    """What tests say of each finding, and the causes that no finding names.

    Args:
        findings: of the linter.
        causes: of the tests.
        ran: lines that have called torch, with whether that was ever on the device.
    """
    told: list[tuple[Place, Outcome]] = [
        (finding, _outcome(finding, causes, ran)) for finding in findings
    ]
    named = frozenset[Line]().union(*(finding.lines for finding in findings))
    told += [(cause, "missed") for cause in causes if not cause.lines & named]
    return told


def _outcome(finding: Place, causes: Sequence[Place], ran: Mapping[Line, bool]) -> Outcome:
    if any(finding.lines & cause.lines for cause in causes):
        return "raised"
    own = [ran[line] for line in finding.lines if line in ran]
    return "ran" if any(own) else "host" if own else "not run"


def findings_of(root: Path, folders: Iterable[str]) -> list[Place]:
    """What the linter says of the folders of a package, but for its tests."""
    command = [sys.executable, "-m", "devlint", "check", "--isolated", "--output-format", "json"]
    command += ["--pedantic", "--select", "DEV2,DEV3,DEV4", "--extend-exclude", _TEST_FILES]
    done = subprocess.run([*command, *folders], cwd=root, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"devlint could not lint {root}: {done.stderr}")
    found = json.loads(done.stdout)  # files that can't be read are among them
    return [_of_finding(each) for each in found if not each["code"].startswith("DEV0")]


def _of_finding(finding: Mapping[str, Any]) -> Place:
    file, first = finding["filename"], finding["location"]["row"]
    own = ((file, row) for row in range(first, finding["end_location"]["row"] + 1))
    steps = ((each.get("filename", file), each["location"]["row"]) for each in finding["trace"])
    lines = frozenset((*own, *steps))
    return Place(file, first, finding["code"], finding["message"], lines)


def _of_cause(cause: Mapping[str, Any], root: Path) -> Place:
    file, line = _below(cause["filename"], root), cause["location"]["row"]
    named = ((_below(path, root), int(row)) for path, row in PLACE.findall(cause["explanation"]))
    lines = frozenset(((file, line), *named))
    return Place(file, line, cause["code"], cause["message"], lines)


def _below(path: str, root: Path) -> str:
    full = root / path  # which is the path where that is absolute
    return str(full.relative_to(root)) if full.is_relative_to(root) else path


def compared(suite: suites.Suite, cache: Path, site: Path, limit: float) -> list[Label]:
    """The labels of one package."""
    root = suites.fetched(suite, cache)
    with tempfile.TemporaryDirectory() as folder:
        ran_file, causes_file = Path(folder, "lines.json"), Path(folder, "causes.json")
        options = [suites.ON, "--devlint-on-errors=report", "-p", "oracle_lines"]
        options += ["--oracle-lines", str(ran_file), "--devlint-output-format=json"]
        options += [f"--devlint-output-file={causes_file}"]
        suites.lines_of(suite, root, site, options, cache / f"{suite.name}.oracle.log", limit)
        rows = json.loads(ran_file.read_text())
        causes = [_of_cause(each, root) for each in json.loads(causes_file.read_text())]
    ran = {(_below(path, root), row): is_on for path, row, is_on in rows}
    findings = findings_of(root, _linted(root))
    return [
        Label(suite.name, suite.version, each.file, each.line, each.code, outcome, each.message)
        for each, outcome in labels(findings, causes, ran)
    ]


_TEST_FILES = "test/,tests/,testing/,test_*.py,*_test.py,conftest.py"
_TESTS = re.compile(r"tests?|testing|docs?|examples?|benchmarks?")


def _linted(root: Path) -> list[str]:
    """The folders of a package's root that hold its code."""
    folders = (path.name for path in root.iterdir() if path.is_dir() and any(path.rglob("*.py")))
    return sorted(name for name in folders if not _TESTS.fullmatch(name))


def kept(file: Path = KEPT) -> list[Label]:
    """What was found before."""
    return [Label(**json.loads(line)) for line in file.read_text().splitlines()]


def with_reasons(found: Iterable[Label], before: Iterable[Label]) -> list[Label]:
    """Labels with what a reader has said of them before."""
    reasons = {each.key: each.reason for each in before}
    return [Label(**{**asdict(each), "reason": reasons.get(each.key, "")}) for each in found]


def summary(found: Sequence[Label]) -> str:
    """How often each outcome came, by rule."""
    counts = Counter((each.code, each.outcome) for each in found)
    outcomes: tuple[Outcome, ...] = ("raised", "ran", "host", "not run", "missed")
    rows = ["| rule | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 1) + "|"]
    for code in sorted({each.code for each in found}):
        cells = " | ".join(str(counts[code, outcome] or "") for outcome in outcomes)
        rows.append(f"| {code} | {cells} |")
    totals = Counter(each.outcome for each in found)
    rows.append("| all | " + " | ".join(str(totals[outcome]) for outcome in outcomes) + " |")
    return "\n".join(rows)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these packages")
    parser.add_argument("--cache", type=Path, default=packages.default_cache() / "suites")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for a run of a suite")
    parser.add_argument("--show", action="store_true", help="show what is kept")
    options = parser.parse_args()
    before = kept() if KEPT.exists() else []
    if not options.show:
        chosen, requirements = suites.suites()
        chosen = [each for each in chosen if options.only is None or each.name in options.only]
        site = suites.installed(requirements, options.cache)
        for suite in chosen:
            found = with_reasons(compared(suite, options.cache, site, options.limit), before)
            before = [each for each in before if each.package != suite.name] + found
            KEPT.write_text("".join(f"{each.as_line()}\n" for each in before))
            print(f"{suite.name} {suite.version}: {dict(Counter(each.outcome for each in found))}")
    print(summary(before))


if __name__ == "__main__":
    main()
