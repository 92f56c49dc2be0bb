"""Test suites of public packages, as they are, on the CPU and by `pytest --devlint-on=cuda`.

    python bench/suites.py                          all suites of suites.toml
    python bench/suites.py --only zuko e3nn         some of them
    python bench/suites.py --set "held out"         the ten that nothing was tuned on
    python bench/suites.py --plain                  on the CPU only
    python bench/suites.py --markdown               the tables of docs/emulation.md, without a run

A package's source archive is fetched with `python -m unearth` (pip would run its build to
download it) and unpacked below a folder of the cache, `--cache`; what the suites need besides is
installed into a folder beside it. Each suite runs twice, with one thread and the same options: on
the device without the tests that it has for machines with one only.

Runs are kept in suites_runs.jsonl, a line a package. Whether a cause is a mistake of the package,
so that a user meets it who has moved the model and its inputs, is written by two readers in
suites_labels.jsonl: {"package", "version", "file", "line", "message", "reader1", "reader2", "why"},
the readers' words being "real" or "false", or null as long as the second hasn't read it: then the
first one's counts, and the table says how many are so. The marks are taken from both files.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import packages
import unpacking

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BENCH = Path(__file__).resolve().parent
TABLE, LABELS, RUNS = (BENCH / f"suites{end}" for end in (".toml", "_labels.jsonl", "_runs.jsonl"))
ON = "--devlint-on=cuda"
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Suite:
    """An entry of suites.toml."""

    name: str
    version: str
    set: str
    """"seen"; "held out", first run when the feature was done; or "fresh", first run after what
    those had shown was worked in."""
    tests: tuple[str, ...]
    """Files and folders, from the root of the package's archive."""
    options: tuple[str, ...] = ()
    """Of pytest."""
    path: tuple[str, ...] = (".",)
    """The folders of the archive that Python imports from."""
    environment: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    """Why tests are left out."""


Place = tuple[str, int]
"""A cause by its file, below the archive's root or the packages installed, and its line."""


@dataclass(frozen=True)
class Run:
    """What a suite came to on the device, of the tests that pass on the CPU."""

    package: str
    version: str
    plain: int
    """How many tests pass on the CPU."""
    passed: int
    causes: Mapping[Place, int]
    """Tests by what they fail with, by the first where there are several."""
    left: Mapping[str, int]
    """Tests that aren't taken along, by the reason."""
    failed: tuple[str, ...]
    """Tests that fail otherwise."""
    seconds: tuple[float, float]
    """Of the processor, on the CPU and on the device."""

    def passed_or_real(self, real: Iterable[Place]) -> int:
        """Tests that pass there, or fail by one of these causes."""
        return self.passed + sum(self.causes.get(place, 0) for place in set(real))

    def as_line(self) -> str:
        causes = [[*place, count] for place, count in self.causes.items()]
        return json.dumps({**vars(self), "causes": causes})

    @classmethod
    def of_line(cls, line: str) -> Run:
        values = json.loads(line)
        causes = {(file, at): count for file, at, count in values.pop("causes")}
        failed, seconds = tuple(values.pop("failed")), tuple(values.pop("seconds"))
        return cls(**values, causes=causes, failed=failed, seconds=seconds)


@dataclass(frozen=True)
class Marks:
    """The figures of some runs together."""

    right: float
    """The share of tests that pass there or fail by a real cause."""
    left: float
    """The share of tests that aren't taken along."""
    real: float | None
    """The share of causes that the readers call real; None where there is no cause."""
    time: float
    """Time on the device by that on the CPU."""


def marks(runs: Sequence[Run], real: Mapping[str, set[Place]]) -> Marks:
    """The figures of runs, where `real` has the real causes by package."""
    plain = sum(run.plain for run in runs)
    causes = sum(len(run.causes) for run in runs)
    found = sum(len(real.get(run.package, set()) & run.causes.keys()) for run in runs)
    return Marks(
        right=sum(run.passed_or_real(real.get(run.package, ())) for run in runs) / plain,
        left=sum(sum(run.left.values()) for run in runs) / plain,
        real=found / causes if causes else None,
        time=sum(run.seconds[1] for run in runs) / sum(run.seconds[0] for run in runs),
    )


def real_causes(lines: Iterable[str]) -> dict[str, set[Place]]:
    """By package, what all who have read it call a mistake of the package."""
    found: dict[str, set[Place]] = {}
    for line in lines:
        label = json.loads(line)
        if {label["reader1"], label["reader2"] or label["reader1"]} == {"real"}:
            place = label["file"], label["line"]
            found.setdefault(label["package"], set()).add(place)
    return found


def compared(
    package: Suite, plain: Sequence[Any], on: Sequence[Any], seconds: tuple[float, float]
) -> Run:
    """What came of the tests on the device that pass on the CPU, from the witness's lines."""
    passing = [each["test"] for each in plain if each["outcome"] == "passed"]
    there = {each["test"]: each for each in on}
    gone: dict[str, Any] = {"outcome": "failed"}
    outcomes = {name: there.get(name, gone) for name in passing}
    causes: Counter[Place] = Counter()
    for each in outcomes.values():
        for number, cause in enumerate(each.get("causes", ())):
            is_first = number == 0 and each["outcome"] == "cause"
            causes[cause["file"], cause["line"]] += is_first
    left = Counter(each["reason"] for each in outcomes.values() if each["outcome"] == "left")
    return Run(
        package=package.name,
        version=package.version,
        plain=len(passing),
        passed=sum(each["outcome"] == "passed" for each in outcomes.values()),
        causes=dict(causes.most_common()),
        left=dict(left.most_common()),
        failed=tuple(
            name for name, each in outcomes.items() if each["outcome"] in ("failed", "skipped")
        ),
        seconds=seconds,
    )


# --- running


def suites(table: Path = TABLE) -> tuple[list[Suite], dict[str, str]]:
    """All suites, and the versions of what they need."""
    read = tomllib.loads(table.read_text())
    frozen = [
        {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        for entry in read["suite"]
    ]
    return [Suite(**entry) for entry in frozen], read["requirements"]


def fetched(suite: Suite, cache: Path) -> Path:
    """The root of a package's source archive, downloaded where needed.

    Raises SystemExit where there is no such archive.
    """
    folder = cache / f"{suite.name}-{suite.version}"
    if not folder.is_dir():
        archives = cache / "archives" / folder.name
        command = [sys.executable, "-m", "unearth", "--no-binary", "--download", str(archives)]
        got = subprocess.run(
            [*command, f"{suite.name}=={suite.version}"], stdout=subprocess.DEVNULL
        )
        archive = next(iter(sorted(archives.glob("*.tar.gz"))), None)
        if got.returncode or archive is None:
            raise SystemExit(f"no source archive of {suite.name} {suite.version}")
        partial = cache / f"{folder.name}.partial"
        with tarfile.open(archive) as source:
            unpacking.unpack(source, partial)
        partial.rename(folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def installed(requirements: Mapping[str, str], cache: Path) -> Path:
    """The folder with what suites need, which is made where needed.

    Raises SystemExit where pip can't install it.
    """
    folder = cache / "site-packages"  # so that it is taken for what is installed
    if not folder.is_dir():
        partial = cache / "site-packages.partial"
        pins = [f"{name}=={version}" for name, version in requirements.items()]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        if subprocess.run([*command, "--target", str(partial), *pins]).returncode:
            raise SystemExit("pip could not install what the suites need")
        partial.rename(folder)
    return folder


def lines_of(
    suite: Suite, root: Path, site: Path, options: Sequence[str], log: Path, limit: float
) -> tuple[list[dict[str, Any]], float]:
    """What the witness tells of a run of a suite, and the processor's seconds.

    Raises SystemExit where the run has told nothing, after too long a time for instance.
    """
    path = [*(str(root / each) for each in suite.path), str(site), str(BENCH)]
    environment = {**os.environ, **ENVIRONMENT, **suite.environment}
    environment["PYTHONPATH"] = os.pathsep.join(path)
    with tempfile.TemporaryDirectory() as folder, log.open("w") as output:
        witness = Path(folder) / "tests.jsonl"
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "--rootdir", str(root)]
        command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "suites_witness"]
        command += ["--continue-on-collection-errors"]
        command += ["--witness", str(witness), *suite.options, *options, *suite.tests]
        process = subprocess.Popen(
            command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, _, usage = os.wait4(process.pid, 0)
        timer.cancel()
        if not witness.exists():
            raise SystemExit(f"{suite.name}: the run ended early; see {log}")
        lines = [json.loads(line) for line in witness.read_text().splitlines()]
    for line in lines:
        for cause in line["causes"]:
            cause["file"] = _below(cause["file"], root, site)
    return lines, usage.ru_utime + usage.ru_stime


def _below(file: str, *folders: Path) -> str:
    """A file as it is called in the first of these folders that it is in."""
    inside = (folder for folder in folders if Path(file).is_relative_to(folder))
    folder = next(inside, None)
    return file if folder is None else Path(file).relative_to(folder).as_posix()


def ran(suite: Suite, cache: Path, site: Path, limit: float, only_plain: bool) -> Run | None:
    """Run a suite on the CPU, and on the device; what they have printed is kept in the cache."""
    root = fetched(suite, cache)
    logs = cache / "logs"
    logs.mkdir(exist_ok=True)
    outcomes, seconds = [], []
    same = ["--witness-before", str(logs / f"{suite.name}.plain.jsonl")]
    for name, options in (("plain", []), ("on", [ON, *same]))[: 1 if only_plain else 2]:
        log = logs / f"{suite.name}.{name}.log"
        lines, took = lines_of(suite, root, site, options, log, limit)
        log.with_suffix(".jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        outcomes.append(lines)
        seconds.append(took)
        count = Counter(line["outcome"] for line in lines)
        print(f"{suite.name} {name}: {dict(count)} in {took:.1f} s", flush=True)
    if only_plain:
        return None
    return compared(suite, outcomes[0], outcomes[1], (seconds[0], seconds[1]))


# --- telling


def table(runs: Sequence[Run], real: Mapping[str, set[Place]]) -> str:
    """Markdown: a line for each package, and one for all."""
    lines = [
        "| package | pass on the CPU | pass | fail by a real mistake | by another cause "
        "| not taken along | fail otherwise | causes, of these real | time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        places = real.get(run.package, set()) & run.causes.keys()
        by_real = run.passed_or_real(places) - run.passed
        cells = [
            f"{run.package} {run.version}", run.plain, run.passed, by_real,
            sum(run.causes.values()) - by_real, sum(run.left.values()), len(run.failed),
            f"{len(run.causes)}, {len(places)}", f"{run.seconds[1] / run.seconds[0]:.2f}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    found = marks(runs, real)
    share = "none" if found.real is None else f"{found.real:.1%}"
    lines += [
        "",
        f"{found.right:.2%} pass or fail by a real mistake (mark: 98 %), {found.left:.2%} aren't "
        f"taken along (at most 5 %), {share} of the causes are real (85 %), "
        f"{found.time:.2f} times the time (at most 1.6).",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run suites, keep what came of them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="PACKAGE")
    parser.add_argument("--set", choices=("seen", "held out", "fresh"))
    parser.add_argument("--cache", type=Path, default=packages.default_cache() / "suites")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where what came of them is kept")
    parser.add_argument("--limit", type=float, default=580, help="seconds for a run of a suite")
    parser.add_argument("--plain", action="store_true", help="on the CPU only")
    parser.add_argument("--markdown", action="store_true", help="print the table, and run nothing")
    options = parser.parse_args(arguments)
    entries, requirements = suites()
    chosen = [
        suite
        for suite in entries
        if suite.name in (options.only or [suite.name]) and suite.set == (options.set or suite.set)
    ]
    kept = options.runs.read_text().splitlines() if options.runs.exists() else []
    runs = {run.package: run for run in map(Run.of_line, kept)}
    if not options.markdown:
        cache = options.cache.resolve()
        cache.mkdir(parents=True, exist_ok=True)
        site = installed(requirements, cache)
        for suite in chosen:
            run = ran(suite, cache, site, options.limit, options.plain)
            if run is not None:
                runs[suite.name] = run
                order = [runs[each.name] for each in entries if each.name in runs]
                options.runs.write_text("".join(each.as_line() + "\n" for each in order))
    shown = [runs[suite.name] for suite in chosen if suite.name in runs]
    if shown:
        labels = LABELS.read_text().splitlines() if LABELS.exists() else []
        print(table(shown, real_causes(labels)))
        alone = sum(json.loads(label)["reader2"] is None for label in labels)
        print(f"{alone} of {len(labels)} causes were read by one reader only.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
