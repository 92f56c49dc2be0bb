"""Training programs of public repositories, as they are, on the CPU and on an emulated accelerator.

    python bench/programs.py --sources DIR                  every program of programs.toml
    python bench/programs.py --sources DIR --only vae gcn   some of them
    python bench/programs.py --sources DIR --log FOLDER     and keep what they wrote

DIR holds a checkout of each repository, named owner+name. A program runs twice, each time in a
fresh copy of its checkout with made-up data (programs_data.py) and the same seed: on the plain CPU,
and under `devlint run --emulate cuda:1`. Nothing of it is changed; its own options make it short,
or it is ended once it has told its loss often enough.

All losses that it tells must be the same, to the last digit. Where a program's own code does
something else on a GPU than on a CPU (another order of the data, say), the run on the CPU takes
its branches for a GPU: see --cuda-is-cpu of programs_start.py. The table marks that with `*`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import programs_data

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("programs.toml")
START = Path(__file__).with_name("programs_start.py")
WITNESS = "trained-on-the-accelerator"
PLAIN = "cpu"
CUDA = "cuda:1"
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "PYTHONWARNINGS": "ignore",
    "WANDB_MODE": "disabled",
}
"""No GPU of the machine's own, no download, no window, and one thread: sums keep their order."""


@dataclass(frozen=True)
class Program:
    """An entry of programs.toml."""

    name: str
    repository: str
    script: str
    loss: str
    """A regular expression; its groups are the numbers that tell the loss."""
    arguments: tuple[str, ...] = ()
    on_cpu: tuple[str, ...] = ()
    on_cuda: tuple[str, ...] = ()
    folder: str | None = None
    """The folder of the checkout that it is run in, where that isn't its own."""
    path: tuple[str, ...] = ()
    """Folders of the checkout that it imports from, besides its own."""
    data: dict[str, str] = field(default_factory=dict)
    """Kinds of made-up data (programs_data.py), by the place in the checkout where it is put."""
    seed: int | None = None
    """Given where the program sets no seed of its own."""
    cuda_is_cpu: bool = False
    """Takes its branches for a GPU on the CPU too; it has others that do something else."""
    bar: bool = False
    """Told on a progress bar, which shows the same loss as often as the clock makes it."""
    stop_after: int | None = None
    """It is ended after so many losses, where no option of its own makes it short."""
    again: tuple[str, ...] = ()
    """The arguments of a second run in the same copy, which goes on with what the first saved."""
    environment: dict[str, str] = field(default_factory=dict)
    """What it is told by the environment, besides what all are told."""
    imports: tuple[str, ...] = ()
    """The modules that it needs besides torch and NumPy."""
    note: str = ""

    @property
    def place(self) -> Path:
        """The folder of the checkout that it is run in."""
        return Path(self.script).parent if self.folder is None else Path(self.folder)

    def missing(self) -> list[str]:
        """The modules that it needs and that aren't installed."""
        return [name for name in self.imports if importlib.util.find_spec(name) is None]

    def commands(self, device: str, witness: Path) -> list[list[str]]:
        """How to run it on a device: PLAIN, or what `devlint run --emulate` takes."""
        emulated = device != PLAIN
        start = [sys.executable]
        if emulated:
            start += ["-m", "devlint", "run", "--emulate", device]
        start += [str(START)]
        if emulated:
            start += ["--witness", str(witness)]
        if self.seed is not None:
            start += ["--seed", str(self.seed)]
        if self.cuda_is_cpu and not emulated:
            start += ["--cuda-is-cpu"]
        like_cuda = emulated or self.cuda_is_cpu
        start += [os.path.relpath(self.script, self.place)]
        own = [*self.arguments, *(self.on_cuda if like_cuda else self.on_cpu)]
        return [[*start, *own], *([[*start, *self.again]] if self.again else [])]


@dataclass(frozen=True)
class Outcome:
    """What a run of a program came to."""

    losses: tuple[str, ...]
    seconds: float
    failure: str
    output: str

    @property
    def last(self) -> str:
        return self.losses[-1] if self.losses else "none"

    def then(self, other: Outcome) -> Outcome:
        """This one and a later one, as one."""
        return Outcome(
            self.losses + other.losses,
            self.seconds + other.seconds,
            self.failure or other.failure,
            self.output + other.output,
        )


def programs(table: Path = TABLE) -> list[Program]:
    """All programs, with the table's lists as tuples."""
    entries = tomllib.loads(table.read_text())["program"]
    return [Program(**{key: frozen(value) for key, value in entry.items()}) for entry in entries]


def frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def run(program: Program, source: Path, device: str, most_seconds: float) -> Outcome:
    """Run a program in a fresh copy of its checkout; the copy's place is always the same."""
    folder = Path(tempfile.gettempdir()) / f"devlint-programs-{os.getpid()}"
    place = folder / "checkout"
    shutil.copytree(source, place, ignore=shutil.ignore_patterns(".git"))
    try:
        for where, kind in program.data.items():
            programs_data.make(kind, place / where)
        environment = {**os.environ, **ENVIRONMENT, **program.environment, "HOME": str(place)}
        paths = [str(place / path) for path in program.path]
        if paths:
            paths += filter(None, [environment.get("PYTHONPATH")])
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        outcome = Outcome((), 0, "", "")
        for command in program.commands(device, place / WITNESS):
            started = time.monotonic()
            process = subprocess.Popen(
                command,
                cwd=place / program.place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            outcome = outcome.then(followed(process, program, started, most_seconds))
            if outcome.failure:
                break
        if device != PLAIN and not outcome.failure and not (place / WITNESS).exists():
            return replace(outcome, failure="trained nothing on the accelerator")
        return outcome
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def followed(
    process: subprocess.Popen[str], program: Program, started: float, most_seconds: float
) -> Outcome:
    """Read what a program writes until it ends, or has told enough."""
    told: list[str] = []
    lines: list[str] = []
    failure = ""
    signal.signal(signal.SIGALRM, lambda *_: end(process))
    signal.alarm(int(most_seconds))
    try:
        for line in lines_of(process):
            lines.append(line)
            found = losses(program, line)
            told += news(found, told) if program.bar else found
            if program.stop_after is not None and len(told) >= program.stop_after:
                end(process)
                told = told[: program.stop_after]
                break
        else:
            if process.wait() != 0:
                failure = reason(lines) or f"ended with {process.returncode}"
    except BaseException:
        end(process)
        raise
    seconds = time.monotonic() - started
    if not signal.alarm(0):
        failure = f"still running after {most_seconds:.0f} s"
    process.wait()
    if not failure and not told:
        failure = "told no loss"
    return Outcome(tuple(told), seconds, failure, "".join(lines))


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    with process.stdout:
        yield from process.stdout


def end(process: subprocess.Popen[str]) -> None:
    """End a program and the workers that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def losses(program: Program, line: str) -> list[str]:
    """The losses that a line tells, each as written."""
    return [" ".join(filter(None, found.groups())) for found in re.finditer(program.loss, line)]


def news(found: list[str], told: list[str]) -> list[str]:
    """The losses that a progress bar didn't show just before."""
    before = [*told[-1:], *found]
    return found[:1] * (not told) + [
        loss for last, loss in itertools.pairwise(before) if last != loss
    ]


def reason(lines: list[str]) -> str:
    """The error that ended a program: its text up to the end of the first line, or ""."""
    text = [line.strip() for line in lines if line.strip()]
    errors = [
        " ".join(text[index : index + 1 + line.endswith("Error:")])
        for index, line in enumerate(text)
        if re.match(r"(\w+\.)*\w*(Error|Exception|Exit)\b", line)
    ]
    return (errors or text[-1:] or [""])[-1]


def same(program: Program, plain: Outcome, emulated: Outcome) -> bool:
    """Whether both runs ended well with the same losses."""
    if plain.failure or emulated.failure:
        return False
    return plain.losses == emulated.losses


def report(program: Program, plain: Outcome, emulated: Outcome) -> None:
    star = "*" if program.cuda_is_cpu else " "
    verdict = "same" if same(program, plain, emulated) else "DIFFERENT"
    print(
        f"{program.name:24}{star}{plain.last:>22} {emulated.last:>22} {len(plain.losses):5}"
        f" {verdict:>10} {plain.seconds:7.1f} {emulated.seconds:7.1f}",
        flush=True,
    )
    for where, outcome in (("on the CPU", plain), ("emulated", emulated)):
        if outcome.failure:
            print(f"    {where}: {outcome.failure}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sources", type=Path, required=True, help="the folder of checkouts")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--log", type=Path, help="a folder for what the programs wrote")
    parser.add_argument("--most-seconds", type=float, default=600, help="for one run")
    options = parser.parse_args()

    table = programs()
    if unknown := set(options.only) - {each.name for each in table}:
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    chosen = [each for each in table if not options.only or each.name in options.only]
    print(
        f"{'program':25}{'loss on the CPU':>22} {'emulated':>22} {'told':>5}"
        f" {'':>10} {'s':>7} {'s':>7}"
    )
    agreeing = ran = 0
    for program in chosen:
        source = options.sources / program.repository.replace("/", "+")
        lacking = program.missing()
        if lacking or not source.is_dir():
            print(f"{program.name:25}not run: no {', '.join(lacking) or source}", flush=True)
            continue
        plain, emulated = (
            run(program, source.resolve(), device, options.most_seconds) for device in (PLAIN, CUDA)
        )
        report(program, plain, emulated)
        ran += 1
        agreeing += same(program, plain, emulated)
        if options.log:
            options.log.mkdir(parents=True, exist_ok=True)
            (options.log / f"{program.name}.cpu.txt").write_text(plain.output)
            (options.log / f"{program.name}.cuda.txt").write_text(emulated.output)
    print(f"{agreeing} of {ran} programs end with the same loss")
    sys.exit(not ran or agreeing != ran)


if __name__ == "__main__":
    main()
