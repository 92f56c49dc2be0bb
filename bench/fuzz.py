"""Feeds devlint damaged files: sources, configurations, ignore files and caches.

    python bench/fuzz.py --seconds 3600 --jobs 2 --seed 1
    python bench/fuzz.py --seconds 600 --only tokens        one kind of case
    python bench/fuzz.py --seconds 600 --only written       programs by hypothesmith, if it is there

Each case is made from its number alone, so `--case N` makes it again. What must hold: no crash, no
internal error, an end within `LIMIT` seconds of the processor's time, findings that lie inside of
the text, reports that can be made in every format, fixes that parse, that leave all else as it is
and nothing to fix; settings or one line that says what is wrong; and whatever a cache holds, the
findings that there are without one.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

from fuzz_programs import mutated, real, written, wrong_fix

from devlint.config.configuration import Configuration
from devlint.config.settings import Settings, SettingsError, check_layer
from devlint.config.sources import Source
from devlint.driver.cache import Cache
from devlint.driver.discover import discover
from devlint.driver.executing import Died
from devlint.driver.pool import each
from devlint.driver.run import check_bytes, run
from devlint.model.codec import decode
from devlint.model.findings import OUTPUT_FORMATS
from devlint.report import Summary, render
from devlint.safety.files import UNSEEN

ROOT = Path(__file__).parents[1]
LIMIT = 30.0
"""Seconds of the processor's time that one case may take."""
MEMORY = 8 << 30
"""Bytes that a process may ask for, so that a case which asks for more is told and not the end of
the run. Only POSIX has the limit."""

KINDS = (
    "source", "source", "source", "tokens", "tokens", "import", "import", "configuration", "ignore",
    "cache",
)  # fmt: skip

CONFIGURATION = b"""[tool.devlint]
select = ["DEV1", "DEV202", "discarded-move"]
extend-select = ["ALL"]
ignore = ["DEV104"]
exclude = ["third_party", "*.gen.py", "/build/**", "!keep"]
max-file-size = 100_000
device-types = ["npu"]
output-format = "concise"
respect-gitignore = true

[tool.devlint.per-file-ignores]
"tests/**" = ["DEV1"]

[tool.devlint.torchapi]
"mylib.to_device" = { effect = "move", of = [0], device = [1] }
"""

IGNORE = b"*.log\n/build/\n!build/keep.py\ndocs/**/*.py\n[ab]?c*.py\n\\#x\\ \n**/gen\n"

TOKENS = (
    b"\0", b"\xff", b"\r", b"\f", b"\t", b"\\", b"'''", b'"""', b"(" * 50, b")" * 50, b"[" * 199,
    b"{", b"lambda: " * 40, b"not " * 60, b"-" * 90, b"await ", b"async ", b"# devlint: ignore[",
    b"# noqa: DEV", b"# coding: utf-7\n", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", b"\xe2\x80\xae",
    b"*" * 30, b"**/" * 30, b"*a" * 20, b"elif x:\n  pass\n", b".cuda()", b".to(device)",
    b"f'{x!r:{y}}'", b"match x:\n case {'a': [*_, 1]}:\n  pass\n", b"global x\n", b"import torch\n",
    b"from . import *\n", b"@", b":=", b"\n" * 100, b"1" * 5000, b"class A(A): pass\n", b"= [[[[",
    b"[tool.devlint]\n", b'"\\u0000"', b"inf", b"1979-05-27T07:32:00Z",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """The number of a case, which makes it, and of the series that it is in."""

    seed: int
    number: int
    kind: str = ""
    """What to make; by the number where it isn't said."""


@dataclass(frozen=True)
class Verdict:
    """What a case was, how long it took, and what was wrong; "" for nothing."""

    kind: str
    seconds: float
    problem: str = ""
    data: bytes = b""


class TooLongError(BaseException):
    """A case has used its time. No handler of ordinary errors stops it."""


@cache
def seeds() -> tuple[bytes, ...]:
    """Sources to damage: the examples, the blocks of all cases and pages, some of devlint's own."""
    texts = [path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.py"))]
    pages = [
        *sorted((ROOT / "tests" / "cases").glob("*.md")),
        *sorted((ROOT / "rules").glob("*.md")),
    ]
    for page in pages:
        blocks = page.read_bytes().split(b"```python")[1:]
        texts += [block.partition(b"\n")[2].partition(b"```")[0] for block in blocks]
    return tuple(texts)


def damaged(dice: random.Random, data: bytes, others: tuple[bytes, ...]) -> bytes:
    """The data after a few mishaps."""
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        at, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
        match dice.randrange(7):
            case 0 if data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at]
            case 2:
                other = dice.choice(others)
                data = data[:at] + other[dice.randrange(len(other) + 1) :]
            case 3:
                data = data[:at] + dice.choice(TOKENS) + data[at:]
            case 4:
                data = data[:at] + data[end:]
            case 5:
                data = (
                    data[:at] + data[at : min(end, at + 2000)] * dice.choice((2, 3, 20)) + data[at:]
                )
            case _:
                rows = data.split(b"\n")
                dice.shuffle(rows)
                data = b"\n".join(rows)
    return data[:200_000]


@cache
def everything() -> Settings:
    """All rules, and no configuration file."""
    layer = check_layer("the command line", "", {"select": ["ALL"], "pedantic": True})
    return Configuration((layer,), isolated=True).for_folder("")


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` where more of the processor's time is used. Only POSIX has the timer."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def bounded(size: int) -> Iterator[None]:
    """Make asking for more bytes a `MemoryError`."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def attempt(case: Case) -> Verdict:
    """Make a case and try it. Raises nothing."""
    with bounded(MEMORY):
        return _attempt(case)


def _attempt(case: Case) -> Verdict:
    dice = random.Random(f"{case.seed} {case.number}")
    kind = case.kind or dice.choice(KINDS)
    data, start = b"", time.process_time()
    try:
        if kind == "written":
            return _written(case, dice)
        with limited(LIMIT), tempfile.TemporaryDirectory() as folder:
            data = _data(kind, dice)
            problem = _TRIALS[kind](data, Path(folder), dice)
    except TooLongError:
        problem = f"it took more than {LIMIT:.0f} s"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return Verdict(kind, time.process_time() - start, problem, data if problem else b"")


def _written(case: Case, dice: random.Random) -> Verdict:
    """Programs that nobody would write, around one that has something to find."""
    start = time.process_time()
    try:  # in a process of its own: where hypothesmith has asked for too much, it keeps that
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            texts = pool.submit(written, case.number).result()
    except MemoryError:  # of hypothesmith's
        return Verdict("unwritten", time.process_time() - start)
    for text in texts:
        data = b"import torch\n" + text + b"\n" + dice.choice(seeds())
        with limited(LIMIT), tempfile.TemporaryDirectory() as folder:
            problem = _linted(data, Path(folder), dice)
        if problem:
            return Verdict("written", time.process_time() - start, problem, data)
    return Verdict("written", time.process_time() - start)


def _data(kind: str, dice: random.Random) -> bytes:
    if kind == "tokens":
        return mutated(dice, dice.choice((*seeds(), *real() * 5)))
    whole = {"configuration": CONFIGURATION, "ignore": IGNORE}.get(kind) or dice.choice(seeds())
    return whole if kind == "cache" else damaged(dice, whole, seeds())


def _source(data: bytes, folder: Path, dice: random.Random) -> str:
    return _linted(data, folder, dice)


def _import(data: bytes, folder: Path, dice: random.Random) -> str:
    """What is damaged is a file that another one uses."""
    (folder / "pyproject.toml").write_bytes(b"")
    (folder / "helper.py").write_bytes(data)
    head = (
        b"import torch\nimport helper\nfrom helper import *\nfrom helper import Net, train, model\n"
    )
    tail = b"\nnet = Net(3)\ntrain(net.cuda(), torch.ones(3))\nhelper.model(model(net))\n"
    return _linted(head + dice.choice(seeds()) + tail, folder, dice)


def _linted(data: bytes, folder: Path, dice: random.Random) -> str:
    source = Source(str(folder / "case.py"), "case.py", everything(), UNSEEN)
    outcome = check_bytes(data, source)
    if outcome.error:
        return outcome.details or outcome.error
    findings = decode(outcome.findings, "case.py")
    text = data.decode("utf-8", "replace")
    for finding in findings:
        span = finding.span
        if not 0 <= span.start <= span.end <= len(data) or span.row < 1 or span.column < 1:
            return f"{finding.code} lies outside of the text: {span}"
        edits = [] if finding.fix is None else finding.fix.edits
        here = [step.span for step in finding.trace if not step.filename]
        for part in (*here, *(edit.span for edit in edits)):
            if not 0 <= part.start <= part.end <= len(text):
                return f"{finding.code} speaks of what lies outside of the text: {part}"
    for name in OUTPUT_FORMATS:
        render(name, findings, Summary(files=1, root=folder), False, lambda _: text)
    if findings and dice.randrange(4) == 0:
        return wrong_fix(data, source, findings)
    return ""


def _configuration(data: bytes, folder: Path, dice: random.Random) -> str:
    name = dice.choice(("pyproject.toml", "devlint.toml"))
    text = data if name == "pyproject.toml" else data.replace(b"[tool.devlint]", b"", 1)
    (folder / name).write_bytes(text.replace(b"tool.devlint.", b"") if name[0] == "d" else text)
    (folder / "a.py").write_bytes(b"import torch\ntorch.load('x')\n")
    try:
        found = discover((str(folder),), Configuration((check_layer("", "", {}),)))
        run(found.sources, 1)
    except SettingsError as error:
        if "\n" in str(error):
            return f"an error of more than one line: {error}"
    return ""


def _ignore(data: bytes, folder: Path, dice: random.Random) -> str:
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_bytes(data)
    for name in ("a" * 200 + ".py", "b.py", "gen/a/b/a/b/c.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x = 1\n")
    discover((str(folder),), Configuration((check_layer("", "", {}),)))
    return ""


def _cache(data: bytes, folder: Path, dice: random.Random) -> str:
    os.environ["DEVLINT_CACHE_KEY"] = "fuzz"
    for number in range(3):
        (folder / f"a{number}.py").write_bytes(data)
    sources = discover((str(folder),), Configuration((check_layer("", "", {}),))).sources
    expected = run(sources, 1).findings
    warnings: list[str] = []
    for _ in range(4):
        with Cache(str(folder / "cache"), str(folder), warnings.append) as known:
            if run(sources, 1, known).findings != expected:
                return "the cache says something else"
        for path in (folder / "cache").glob("*.results"):
            path.write_bytes(damaged(dice, path.read_bytes(), seeds()))
    return f"warnings: {warnings}" if warnings else ""


_TRIALS = {
    "source": _source,
    "tokens": _source,
    "import": _import,
    "configuration": _configuration,
    "ignore": _ignore,
    "cache": _cache,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="try this case only")
    parser.add_argument("--only", choices=(*_TRIALS, "written"), default="", help="of this kind")
    options = parser.parse_args()
    if options.case is not None:
        verdict = attempt(Case(options.seed, options.case, options.only))
        sys.stdout.buffer.write(verdict.data)
        print(f"\n{verdict.kind}, {verdict.seconds:.2f} s: {verdict.problem or 'nothing wrong'}")
        return int(bool(verdict.problem))
    return _series(options.seconds, options.jobs, options.seed, options.only)


def _series(seconds: float, jobs: int, seed: int, only: str) -> int:
    """Try cases for a while, a batch after the other, and print what came of them."""
    end = time.monotonic() + seconds
    kinds: Counter[str] = Counter()
    slowest = Verdict("", 0.0)
    problems = 0
    size = 1 if only == "written" else 1000
    for first in itertools.count(0, size):
        batch = [Case(seed, number, only) for number in range(first, first + size)]
        for case, verdict in each(attempt, batch, jobs):
            if isinstance(verdict, Died):
                verdict = Verdict("unknown", 0.0, "the process died")
            kinds[verdict.kind] += 1
            slowest = max(slowest, verdict, key=lambda item: item.seconds)
            if verdict.problem:
                problems += 1
                print(f"case {case.number} ({verdict.kind}): {verdict.problem}", flush=True)
        if time.monotonic() >= end:
            break
    counts = ", ".join(f"{kinds[kind]} of {kind}" for kind in sorted(kinds))
    print(f"{kinds.total()} cases ({counts}), seed {seed}: {problems} problems; ", end="")
    print(f"the slowest, {slowest.kind}, took {slowest.seconds:.1f} s")
    return int(bool(problems))


if __name__ == "__main__":
    import fuzz  # worker processes look for `attempt` in a module of this name

    sys.exit(fuzz.main())
