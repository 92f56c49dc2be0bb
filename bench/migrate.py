"""Public training programs that ask for CUDA, before and after `devlint migrate`.

    python bench/migrate.py --sources DIR                 every program of migrate.toml
    python bench/migrate.py --sources DIR --only sn_gan   some of them
    python bench/migrate.py --sources DIR --log FOLDER    and keep what they wrote, and the diffs
    python bench/migrate.py --sources DIR --before        as they are only: nothing is migrated

DIR holds a checkout of each repository, named owner+name. Each run is in a fresh copy with made-up
data (programs_data.py) and the same seed, as in programs.py. A program that is too old for today's
releases is corrected first, by what the table says and why; none of that is about devices.

As it is, it has to run on an emulated CUDA device and to fail on the plain CPU. Then a copy is
migrated, and the copy has to have no finding of DEV1 left at default settings, to tell the same
losses to the last digit on an emulated CUDA device, and to end on an emulated MPS device, where its
optimizer must have worked, and on the plain CPU. A second `devlint migrate` must change nothing.
"""

from __future__ import annotations

import argparse
import difflib
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import migrate_data
import programs
import programs_data
from programs import CUDA, PLAIN, Outcome, Program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("migrate.toml")
MPS = "mps"
MIGRATE = [sys.executable, "-m", "devlint", "migrate", "--yes"]
CHECK = [sys.executable, "-m", "devlint", "check", "--no-cache", "--output-format", "json"]


@dataclass(frozen=True)
class Patch:
    """A correction of a program that is too old, made in all copies of it."""

    file: str
    old: str
    new: str
    why: str


@dataclass(frozen=True)
class CudaOnly(Program):
    """An entry of migrate.toml."""

    kind: str = ""
    paths: tuple[str, ...] = (".",)
    """What is migrated: files and folders of the checkout."""
    patch: tuple[Patch, ...] = ()


@dataclass(frozen=True)
class Migration:
    """What `devlint migrate` did to a program."""

    failure: str
    diff: dict[str, str]
    """Of each file that is not as it was, by name."""
    left: int
    """Findings of DEV1 after it."""
    settled: bool
    """A second migration changes nothing."""

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines were added, and how many removed."""
        lines = [line for diff in self.diff.values() for line in diff.splitlines()[2:]]
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        return added, removed


@dataclass
class Row:
    """What came of a program."""

    program: CudaOnly
    found: int = 0
    migration: Migration | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """By when, and on which device."""

    def failures(self) -> Iterator[str]:
        """What is not as it should be."""
        for name, outcome in self.outcomes.items():
            if outcome.failure and name != f"before, {PLAIN}":
                yield f"{name}: {outcome.failure}"
        if not self.outcomes[f"before, {PLAIN}"].failure:
            yield f"before, {PLAIN}: runs, so it isn't for CUDA only"
        if self.migration is None:
            return
        if self.migration.failure:
            yield f"migrate: {self.migration.failure}"
        if self.migration.left:
            yield f"{self.migration.left} findings of DEV1 are left"
        if not self.migration.settled:
            yield "a second migration changes more"
        if not self.same:
            yield f"other losses on {CUDA} than before"

    @property
    def same(self) -> bool:
        """Whether it tells the same losses on an emulated CUDA device as before."""
        before, after = (self.outcomes.get(f"{when}, {CUDA}") for when in ("before", "after"))
        return before is not None and after is not None and before.losses == after.losses

    def cells(self) -> list[str]:
        cells = [self.program.name, self.program.kind]
        if self.migration is not None:
            added, removed = self.migration.lines
            cells += [str(len(self.migration.diff)), f"+{added} -{removed}"]
            cells += [f"{self.found} / {self.migration.left}"]
        else:
            cells += ["", "", f"{self.found} /"]
        cells += [yes(bool(self.outcomes[f"before, {PLAIN}"].failure))]
        if self.migration is not None:
            ends = (self.outcomes[f"after, {device}"] for device in (MPS, PLAIN))
            cells += [yes(self.same), *(yes(not outcome.failure) for outcome in ends)]
            cells += [yes(self.migration.settled)]
        else:
            cells += [""] * 4
        told = self.outcomes[f"before, {CUDA}"]
        cells += [str(len(told.losses)), told.last]
        return [*cells, f"{sum(each.seconds for each in self.outcomes.values()):.0f}"]


HEADER = [
    "program",
    "kind",
    "files",
    "lines",
    "DEV1 before / after",
    "fails on the CPU before",
    "same losses on cuda",
    "ends on mps",
    "ends on the CPU",
    "settled",
    "losses",
    "the last one",
    "s",
]


def yes(value: bool) -> str:
    return "yes" if value else "NO"


def entries(table: Path = TABLE) -> list[CudaOnly]:
    """All programs of the table."""
    found = []
    for entry in tomllib.loads(table.read_text())["program"]:
        patches = tuple(Patch(**each) for each in entry.pop("patch", []))
        values = {key: programs.frozen(value) for key, value in entry.items()}
        found.append(CudaOnly(**values, patch=patches))
    return found


@contextmanager
def corrected(program: CudaOnly, source: Path) -> Iterator[tuple[Path, Path]]:
    """Two copies of a checkout with its patches: one to keep, one to migrate."""
    with tempfile.TemporaryDirectory(prefix="devlint-migrate-") as folder:
        kept, migrated = Path(folder, "before"), Path(folder, "after")
        shutil.copytree(source, kept, ignore=shutil.ignore_patterns(".git"))
        for patch in program.patch:
            file = kept / patch.file
            text = file.read_bytes().decode()
            if patch.old not in text:
                raise ValueError(f"{program.name}: {patch.file} doesn't have {patch.old!r}")
            file.write_bytes(text.replace(patch.old, patch.new).encode())
        shutil.copytree(kept, migrated)
        yield kept, migrated


def findings(program: CudaOnly, folder: Path) -> int:
    """How many findings of DEV1 there are at default settings."""
    done = subprocess.run(
        [*CHECK, *program.paths], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise ValueError(f"{program.name}: {done.stderr}")
    return sum(each["code"].startswith("DEV1") for each in json.loads(done.stdout))


def migrate(program: CudaOnly, kept: Path, folder: Path, command: list[str]) -> Migration:
    """Migrate a copy, and look at what was done to it."""
    failure = migrate_once(program, folder, command)
    diff = dict(differences(kept, folder))
    left = findings(program, folder)
    with tempfile.TemporaryDirectory(prefix="devlint-migrate-") as place:
        once = Path(place, "once")
        shutil.copytree(folder, once)
        migrate_once(program, folder, command)
        settled = not dict(differences(once, folder))
    return Migration(failure, diff, left, settled)


def migrate_once(program: CudaOnly, folder: Path, command: list[str]) -> str:
    done = subprocess.run(
        [*command, *program.paths],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return ""
    return programs.reason(done.stdout.splitlines()) or f"ended with {done.returncode}"


def differences(old: Path, new: Path) -> Iterator[tuple[str, str]]:
    """The Python files that differ between two folders, and how."""
    names = {path.relative_to(folder) for folder in (old, new) for path in folder.rglob("*.py")}
    for name in sorted(names):
        before, after = (text(folder / name) for folder in (old, new))
        if before != after:
            diff = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
            yield str(name), "".join(diff)


def text(file: Path) -> list[str]:
    """The lines of a file; none if there is no such file."""
    if not file.is_file():
        return []
    return file.read_bytes().decode(errors="replace").splitlines(keepends=True)


def measured(
    program: CudaOnly, source: Path, command: list[str] | None, most_seconds: float
) -> Row:
    """All runs of a program, before and after its migration; without a command only before."""
    row = Row(program)
    with corrected(program, source) as (kept, migrated):
        row.found = findings(program, kept)
        for device in (CUDA, PLAIN):
            outcome = programs.run(program, kept, device, most_seconds)
            row.outcomes[f"before, {device}"] = outcome
        if command is not None:
            row.migration = migrate(program, kept, migrated, command)
            for device in (CUDA, MPS, PLAIN):
                outcome = programs.run(program, migrated, device, most_seconds)
                row.outcomes[f"after, {device}"] = outcome
    return row


def keep(row: Row, folder: Path) -> None:
    """Write down what a program wrote, and how it was changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, outcome in row.outcomes.items():
        when = name.replace(", ", ".").replace(":1", "")
        (folder / f"{row.program.name}.{when}.txt").write_text(outcome.output)
    if row.migration is not None:
        diff = "".join(row.migration.diff.values())
        (folder / f"{row.program.name}.diff").write_text(diff)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sources", type=Path, required=True, help="the folder of checkouts")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--log", type=Path, help="a folder for what the programs wrote")
    parser.add_argument("--before", action="store_true", help="migrate nothing")
    parser.add_argument("--migrate", type=shlex.split, default=MIGRATE, metavar="COMMAND")
    parser.add_argument("--most-seconds", type=float, default=600, help="for one run")
    options = parser.parse_args()

    programs_data.MAKERS.update(migrate_data.MAKERS)
    table = entries()
    if unknown := set(options.only) - {each.name for each in table}:
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    chosen = [each for each in table if not options.only or each.name in options.only]
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER), flush=True)
    failing: dict[str, list[str]] = {}
    for program in chosen:
        source = options.sources / program.repository.replace("/", "+")
        if lacking := program.missing() or ([] if source.is_dir() else [str(source)]):
            failing[program.name] = [f"not run: no {', '.join(lacking)}"]
            continue
        command = None if options.before else options.migrate
        row = measured(program, source.resolve(), command, options.most_seconds)
        print("| " + " | ".join(row.cells()) + " |", flush=True)
        if options.log:
            keep(row, options.log)
        if failures := list(row.failures()):
            failing[program.name] = failures
    print(f"\n{len(chosen) - len(failing)} of {len(chosen)} programs are as they should be")
    for name, failures in failing.items():
        for failure in failures:
            print(f"    {name}: {failure}")
    sys.exit(bool(failing))


if __name__ == "__main__":
    main()
