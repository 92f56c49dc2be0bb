"""Generated programs: what the linter says of them beside what the emulated accelerator does.

    python bench/generate.py --count 20000          the programs of seed 0
    python bench/generate.py --count 2000 --show 5  and some disagreements, as small as can be
    python bench/generate.py --program 17 --show    one program, what is found and how it ends
    python bench/generate.py --count 300 --write-known  tests/generated.txt anew

A grammar writes programs that are right but for where their tensors are (grammar_programs.py, and
those that it imports). Each runs on two emulated GPUs and is linted, with all that `--pedantic`
shows. Nobody reads anything; as in oracle.py a finding is named by its line and those of its trace,
an error by the lines that were running and those of its explanation. A disagreement is

    false       a finding of level error of DEV2 or DEV4 in a program that runs to its end, whose
                line has run, and of whose lines one with a tensor of the device
    missed      an error about devices that no finding names

A program is made from the seed and its number alone. One that ends by another error than one about
devices is `broken`: a mistake of the grammar.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from generated_runs import Judged, Result, machine, tried
from grammar import Program
from grammar_programs import generated
from shrinking import Files, shrunk

KNOWN = Path(__file__).resolve().parents[1] / "tests" / "generated.txt"
PART = 50
"""How many programs share a machine."""


@dataclass(frozen=True)
class Part:
    """Some numbers of a seed."""

    seed: int
    numbers: range


@dataclass(frozen=True)
class Outcome:
    """What a program came to, as tables need it."""

    number: int
    error: str
    is_broken: bool
    judged: tuple[Judged, ...]
    disagreements: tuple[tuple[Judged, tuple[str, str]], ...]
    """Each with the productions of its line and of its origin."""
    productions: frozenset[str]
    raised_at: str
    """The production of the line that raises."""


def outcomes_of(part: Part) -> list[Outcome]:
    """Try the programs of a part."""
    with machine():
        return [_outcome(part.seed, number) for number in part.numbers]


def _outcome(seed: int, number: int) -> Outcome:
    program = generated(seed, number)
    result = tried(program)
    disagreements = tuple(
        (each, (_production(program, each.at), _production(program, each.origin)))
        for each in result.disagreements()
    )
    return Outcome(
        number,
        result.run.error,
        result.is_broken,
        result.judged,
        disagreements,
        frozenset(program.productions.values()),
        _production(program, result.run.at),
    )


def _production(program: Program, line: tuple[str, int]) -> str:
    return program.productions.get(line, "?") or "?"


def all_outcomes(seed: int, start: int, count: int, jobs: int) -> Iterator[Outcome]:
    """Those of the programs from a number on."""
    parts = [
        Part(seed, range(first, min(first + PART, start + count)))
        for first in range(start, start + count, PART)
    ]
    # What the linter and torch remember of a thousand programs is a process's memory.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=20) as pool:
        for found in pool.imap(outcomes_of, parts):
            yield from found


# --- tables


def tables(found: Sequence[Outcome]) -> str:
    """All that is counted."""
    ended = [each for each in found if not each.error]
    broken = [each for each in found if each.is_broken]
    raised = len(found) - len(ended) - len(broken)
    lines = [
        f"{len(found)} programs: {len(ended)} end well, {raised} end by an error about devices"
    ]
    lines[0] += f", {len(broken)} are broken" * bool(broken)
    false = [(o, d) for o in found for d in o.disagreements if d[0].outcome != "missed"]
    missed = [(o, d) for o in found for d in o.disagreements if d[0].outcome == "missed"]
    shown = sum(d.is_shown for _, (d, _) in false)
    lines.append(f"false: {len(false)} findings, {shown} without --pedantic, in "
                 f"{len({o.number for o, _ in false})} of {len(ended)} programs")  # fmt: skip
    lines.append(f"missed: {len(missed)} of {raised} errors")
    lines += ["", *_by_rule(found), "", *_by_sort(found), "", *_by_production(found)]
    lines += ["", *_classes("false", false), "", *_classes("missed", missed)]
    return "\n".join(lines)


def _by_rule(found: Sequence[Outcome]) -> Iterator[str]:
    yield "| rule | names the error | false | not tried | in programs that end otherwise |"
    yield "|---|---|---|---|---|"
    yield from _counted((each.code, o, each) for o in found for each in o.judged)


def _by_sort(found: Sequence[Outcome]) -> Iterator[str]:
    yield "| sort of step | names the error | false | not tried | in programs that end otherwise |"
    yield "|---|---|---|---|---|"
    yield from _counted(
        (sort, o, each) for o in found for each in o.judged for sort in set(each.sorts)
    )


def _counted(items: Iterator[tuple[str, Outcome, Judged]]) -> Iterator[str]:
    counts = Counter((name, _column(o, each)) for name, o, each in items)
    for name in sorted({name for name, _ in counts}):
        cells = [counts[name, column] for column in ("raised", "false", "not tried", "open")]
        if any(cells):
            yield f"| {name} | " + " | ".join(str(cell or "") for cell in cells) + " |"


def _column(outcome: Outcome, each: Judged) -> str:
    if each.outcome in ("raised", "missed"):
        return each.outcome
    if outcome.error:
        return "open"
    return "false" if any(each is other for other, _ in outcome.disagreements) else "not tried"


def _by_production(found: Sequence[Outcome]) -> Iterator[str]:
    """How often a line of a production raises, and how much of that is named."""
    yield "| production | programs with it | errors at it | missed | false findings at it |"
    yield "|---|---|---|---|---|"
    uses = Counter(name for o in found for name in o.productions)
    errors = Counter(o.raised_at for o in found if o.error and not o.is_broken)
    told = [(each, at) for o in found for each, at in o.disagreements]
    missed = Counter(at for each, (at, _) in told if each.outcome == "missed")
    false = Counter(at for each, (at, _) in told if each.outcome != "missed")
    for name in sorted(name for name in uses if errors[name] or false[name]):
        cells = uses[name], errors[name], missed[name] or "", false[name] or ""
        yield f"| {name} | " + " | ".join(map(str, cells)) + " |"


Disagreement = tuple[Outcome, tuple[Judged, tuple[str, str]]]


def class_of(judged: Judged, productions: tuple[str, str]) -> str:
    """What disagreements are grouped by."""
    kind = "missed" if judged.outcome == "missed" else judged.code
    text = re.sub(r"cuda:\d|cpu|cuda", "D", judged.message.split(",")[0])[:70]
    words = text if judged.outcome == "missed" else productions[1]
    return f"{kind}: {productions[0]}, {words}"


def _classes(title: str, found: Sequence[Disagreement]) -> Iterator[str]:
    yield f"{title}, by rule, production and message:"
    by_class = Counter(class_of(*d) for _, d in found)
    first = {class_of(*d): o.number for o, d in reversed(found)}
    for name, count in by_class.most_common():
        yield f"  {count:5}  {name}  (as in program {first[name]})"


# --- examples


def smallest(seed: int, number: int) -> Files:
    """A program with a disagreement, made small while it stays."""
    program = generated(seed, number)
    with machine():
        keys = {_key(d) for d in tried(program).disagreements()}
        if not keys:
            return program.files
        key = min(keys)

        def stays(files: Files) -> bool:
            try:
                return key in {_key(d) for d in tried(Program(files)).disagreements()}
            except Exception:
                return False

        return shrunk(program.files, stays)


def _key(judged: Judged) -> tuple[str, str]:
    text = re.sub(r"\d+", "N", judged.message) if judged.outcome == "missed" else ""
    return (judged.code, text)


def shown(files: Files) -> str:
    """Files, what is found in them, and how they end."""
    with machine():
        result: Result = tried(Program(files))
    parts = [f"# {file}\n{text}" for file, text in files.items()]
    file, row = result.run.at
    parts.append(f"ends: {(result.run.error and f'{file}:{row}: {result.run.error}') or 'well'}")
    for each in result.judged:
        words = f"{each.at[0]}:{each.at[1]}: {each.code} {each.message}"
        parts.append(f"{each.outcome}: {words} ({', '.join(each.sorts)})")
    return "\n".join(parts)


def known_lines(found: Sequence[Outcome]) -> list[str]:
    """The disagreements of some programs, a line each."""
    return sorted(
        {f"{o.number} {class_of(*d)}" for o in found for d in o.disagreements},
        key=lambda line: (int(line.split()[0]), line),
    )


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no more after these")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, nargs="?", const=1, default=0, metavar="N")
    parser.add_argument("--program", type=int, help="this one only")
    parser.add_argument("--write-known", action="store_true")
    options = parser.parse_args()
    if options.program is not None:
        print(shown(generated(options.seed, options.program).files))
        if options.show:
            print("\nsmallest:\n" + shown(smallest(options.seed, options.program)))
        return 0
    end = time.monotonic() + options.seconds
    outcomes = all_outcomes(options.seed, options.start, options.count, options.jobs)
    found = list(itertools.takewhile(lambda _: time.monotonic() < end, outcomes))
    print(tables(found))
    if options.write_known:
        KNOWN.write_text("".join(f"{line}\n" for line in known_lines(found)))
    firsts = {class_of(*d): o.number for o in reversed(found) for d in o.disagreements}
    for name, number in itertools.islice(firsts.items(), options.show):
        print(f"\n## {name} (program {number})\n{shown(smallest(options.seed, number))}")
    return int(any(o.is_broken for o in found))


if __name__ == "__main__":
    import generate  # worker processes look for the functions in a module of this name

    sys.exit(generate.main())
