"""PyTorch's own operator database on the emulated accelerator, entry by entry.

    python bench/operators.py                            everything, in two processes
    python bench/operators.py add nn.functional.linear   two entries
    python bench/operators.py --fast                     the first sample of each entry
    python bench/operators.py --device cuda --jobs 16    on this machine's own accelerator

Operators, foreach functions, modules and optimizers of torch.testing._internal bring sample
inputs. They run on the plain CPU, and then under `devlint.emulate`:

  agreement   All tensors are on the accelerator. Results, strides, shared storage, gradients and
              second derivatives are the CPU's bit for bit and lie on the accelerator; the same
              for the method, in-place, operator, alias and out= variants.
  stray       One tensor was left on the CPU, or lies on a second accelerator: PyTorch raises.
              operators.toml lists the placements that PyTorch takes, each with the reason and the
              file of PyTorch's source where it is to be read.
  out         A result is to be written to another device: PyTorch raises.
  errors      The entry's own error inputs, made on the accelerator, raise what PyTorch's tests
              expect of a real one.

The exit code is 1 if anything differs, passes unlisted, or raises though it is listed.

A real accelerator is asked the same, to see whether operators.toml says what it does: of agreement
devices, dtypes and shapes, for its kernels round otherwise; and one of them has no second one.
Needs torch, numpy and expecttest.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import json
import multiprocessing
import re
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from answering import accelerator, answer_lines, ask_all
from operator_calls import (
    Call,
    Outcome,
    Snapshot,
    described,
    differing,
    run,
    spread,
    with_out,
)
from operator_subjects import Subject, subjects

from devlint import emulate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LISTING = Path(__file__).resolve().with_suffix(".toml")

HOME = "cuda:0"


@dataclass(frozen=True)
class Machine:
    """Where the calls run."""

    strays: tuple[str, ...]
    """The devices to misplace operands on."""
    is_exact: bool
    """Whether results have the CPU's bits, strides and storages."""
    there: Callable[[], AbstractContextManager[object]]


EMULATED = Machine(("cpu", "cuda:1"), True, lambda: emulate("cuda", count=2))
REAL = Machine(("cpu",), False, nullcontext)

SAMPLES_OF_VARIANTS = 8
"""The variants, second derivatives and out= of an entry run with so many of its samples."""

PLACEMENTS = 96
"""About so many calls with a misplaced operand are made for an entry."""

DEVICE_ERROR = re.compile(r"device|cuda|CPU|\bcpu\b")
"""What an error about devices speaks of; the same call worked where all was on one."""


# ---- what operators.toml says


@dataclass(frozen=True)
class Placement:
    """One operand of an entry on a device of its own, and what PyTorch may make it depend on."""

    subject: str
    operand: str
    stray: str
    dims: str
    """"0" if it is 0-dimensional, else "n"."""
    others: str
    """"0" if all other operands are 0-dimensional, else "n"."""
    empty: bool
    """Whether any operand has no elements."""
    beside: tuple[str, ...]
    """The names of the other operands."""

    def __str__(self) -> str:
        kind = " 0-dim" * (self.dims == "0") + " with empty operands" * self.empty
        return f"{self.operand}{kind} beside {', '.join(self.beside)} on {self.stray}"

    def fits(self, row: dict[str, Any]) -> bool:
        """Whether a row of operators.toml is about it."""
        return (
            self.operand in row["operands"]
            and self.stray in row.get("strays", EMULATED.strays)
            and self.dims in row.get("dims", "0n")
            and self.others in row.get("others", "0n")
            and self.empty == row.get("empty", self.empty)
            and self.beside == tuple(row.get("beside", self.beside))
        )


@dataclass(frozen=True)
class Listing:
    """operators.toml: where PyTorch has an operand elsewhere, or takes a stray one, and why."""

    tables: dict[str, list[dict[str, Any]]]

    @classmethod
    @functools.cache
    def read(cls) -> Listing:
        with LISTING.open("rb") as file:
            return cls(tomllib.load(file))

    def rows(self, table: str, subject: str) -> Iterator[dict[str, Any]]:
        for row in self.tables.get(table, ()):
            if any(fnmatch.fnmatchcase(subject, pattern) for pattern in row["ops"]):
                yield row

    def homes(self, subject: Subject, call: Call) -> list[str]:
        """Where each operand lies when nothing is misplaced."""
        on_host = [name for row in self.rows("host", subject.name) for name in row["operands"]]
        return ["cpu" if name in on_host else HOME for name, _ in call.operands()]

    def home_of_result(self, subject: Subject, path: str) -> str:
        """Where a part of the result lies when nothing is misplaced."""
        for row in self.rows("results", subject.name):
            if re.search(row["path"], path):
                return str(row["device"])
        return HOME

    def explains(self, subject: str, what: str, machine: Machine) -> bool:
        """Whether a difference from the plain CPU is expected."""
        return any(
            re.search(row["what"], what)
            for row in self.rows("differs", subject)
            if not (row.get("real") and machine is EMULATED)
        )

    def passing(self, placement: Placement) -> dict[str, Any] | None:
        """The row that says that PyTorch takes a placement."""
        rows = self.rows("passes", placement.subject)
        return next((row for row in rows if placement.fits(row)), None)


# ---- what is found


@dataclass(frozen=True)
class Difference:
    """Something that is not as the plain CPU has it, or as operators.toml says."""

    subject: str
    measure: str
    where: str
    what: str


@dataclass
class Report:
    """What was counted, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    taken: Counter[int] = field(default_factory=Counter)
    """How many placements were taken, by the number of the row that lists them."""

    def record(self) -> dict[str, Any]:
        """For a file; `read` is the way back."""
        differences = [asdict(difference) for difference in self.differences]
        return {"counts": self.counts, "taken": self.taken, "differences": differences}

    @classmethod
    def read(cls, record: dict[str, Any]) -> Report:
        return cls(
            Counter(record["counts"]),
            [Difference(**each) for each in record["differences"]],
            Counter({int(row): count for row, count in record["taken"].items()}),
        )

    def add(self, other: Report) -> None:
        self.counts.update(other.counts)
        self.differences += other.differences
        self.taken.update(other.taken)


# ---- all tensors on the accelerator


def agreement(
    subject: Subject, listing: Listing, samples: int | None = None, machine: Machine = EMULATED
) -> Report:
    """Run every call on the plain CPU and on the accelerator, and compare."""
    if not subject.kernel:
        return without_kernel(subject, samples, machine)
    planned = []
    for number, call in enumerate(subject.calls[:samples]):
        few = number < SAMPLES_OF_VARIANTS
        for name, function in subject.variants.items():
            if few or name == "function":
                order = 0 if name == "out" else min(subject.order, 1 + few)
                expected = on_plain_cpu(function, call, order)
                if expected.error is None:
                    planned.append((f"{name}, sample {number}", function, call, order, expected))
    report = Report(Counter({"agreement: calls": len(planned)}))
    if not planned:
        return report
    with machine.there():
        outcomes = [
            run(function, call.on(listing.homes(subject, call), HOME), order)
            for _, function, call, order, _ in planned
        ]
    for (where, _, call, _, expected), outcome in zip(planned, outcomes, strict=True):
        found = list(compare(subject, call, listing, expected, outcome, machine.is_exact))
        wrong = [what for what in found if not listing.explains(subject.name, what, machine)]
        report.counts["agreement: calls that agree"] += not wrong
        report.counts["agreement: calls that differ as explained"] += bool(found) and not wrong
        report.differences += [Difference(subject.name, "agreement", where, one) for one in wrong]
    return report


def without_kernel(subject: Subject, samples: int | None, machine: Machine) -> Report:
    """Operators that PyTorch has for the CPU only say so on an accelerator."""
    report = Report()
    with machine.there():
        for number, call in enumerate(subject.calls[:samples]):
            outcome = run(subject.function, call.on([HOME] * len(call.operands()), HOME))
            report.counts["no kernel: calls"] += 1
            if isinstance(outcome.error, NotImplementedError):
                report.counts["no kernel: calls that say so"] += 1
            else:
                what = described(outcome.error) or "passes"
                where = f"function, sample {number}"
                report.differences.append(Difference(subject.name, "no kernel", where, what))
    return report


def on_plain_cpu(function: Callable[..., Any], call: Call, order: int = 0) -> Outcome:
    return run(function, call.on(["cpu"] * len(call.operands()), "cpu"), order)


def compare(
    subject: Subject,
    call: Call,
    listing: Listing,
    expected: Outcome,
    outcome: Outcome,
    exact: bool,
) -> Iterator[str]:
    """How an outcome on the accelerator differs from the plain CPU's."""
    if outcome.error is not None:
        yield f"raises {described(outcome.error)}"
        return
    home = functools.partial(at, "cpu")
    if call.names_a_device():
        home = functools.partial(listing.home_of_result, subject)
    yield from differing("result", expected.result, outcome.result, home, exact)
    yield from compare_operands(call, listing.homes(subject, call), expected, outcome, exact)


def compare_operands(
    call: Call, devices: list[str], expected: Outcome, outcome: Outcome, exact: bool
) -> Iterator[str]:
    """How the operands after a call and their gradients differ from the plain CPU's."""
    parts = [("operand", expected.operands, outcome.operands)]
    if expected.no_gradient != outcome.no_gradient:
        yield f"backward: {outcome.no_gradient or 'works'}, not: {expected.no_gradient or 'works'}"
    else:
        parts.append(("gradient of", expected.gradients, outcome.gradients))
        parts.append(("second derivative by", expected.second, outcome.second))
    for kind, befores, afters in parts:
        if len(befores) != len(afters):
            yield f"{kind}: {len(afters)}, not {len(befores)}"
            continue
        rows = zip(call.operands(), devices, befores, afters, strict=False)
        for (name, _), device, before, after in rows:
            where = functools.partial(at, device)
            yield from differing(f"{kind} {name}", before, after, where, exact)


def at(device: str, _: str) -> str:
    return device


# ---- one tensor elsewhere


def stray(
    subject: Subject,
    listing: Listing,
    device: str,
    samples: int | None = None,
    machine: Machine = EMULATED,
) -> Report:
    """Misplace each operand in turn, and see whether it raises."""
    report = Report()
    if not subject.kernel:
        return report
    seen: dict[Placement, Counter[str]] = defaultdict(Counter)
    examples: dict[tuple[Placement, str], str] = {}
    outcomes = []
    planned = placed_calls(subject, samples)
    if not planned:
        return report
    with machine.there():
        for call, expected in planned:
            for placement, placed in misplaced(subject, call, listing.homes(subject, call), device):
                outcome = run(subject.function, call.on(placed, HOME), min(subject.order, 1))
                outcomes.append((placement, placed, call, expected, outcome))
    for placement, placed, call, expected, outcome in outcomes:
        verdict = verdict_on(outcome)
        seen[placement][verdict] += 1
        examples.setdefault((placement, verdict), described(outcome.error))
        row = listing.passing(placement)
        if verdict == "passes" and row is not None:
            report.differences += [
                Difference(subject.name, "stray", str(placement), what)
                for what in compare_pass(
                    row, placement, placed, call, expected, outcome, machine.is_exact
                )
                if not listing.explains(subject.name, what, machine)
            ]
    for placement, verdicts in seen.items():
        judge(placement, verdicts, examples, listing, report)
    return report


def misplaced(
    subject: Subject, call: Call, homes: list[str], device: str
) -> Iterator[tuple[Placement, list[str]]]:
    """Every way to have one operand on `device`, and where all operands lie then.

    An operand that belongs on the CPU is misplaced on the accelerator instead.
    """
    operands = call.operands()
    empty = any(tensor.numel() == 0 for _, tensor in operands)
    for number, (name, tensor) in enumerate(operands):
        before, after = homes[:number], homes[number + 1 :]
        if HOME in before or HOME in after:
            other = HOME if homes[number] == device else device
            rest = [*operands[:number], *operands[number + 1 :]]
            placement = Placement(
                subject.name,
                name,
                other,
                dims="n" if tensor.dim() else "0",
                others="n" if any(tensor.dim() for _, tensor in rest) else "0",
                empty=empty,
                beside=tuple(sorted({name for name, _ in rest})),
            )
            yield placement, [*before, other, *after]


def placed_calls(subject: Subject, samples: int | None) -> list[tuple[Call, Outcome]]:
    """The calls to misplace an operand of, with what the plain CPU makes of them.

    Some of every kind: with the same operands, 0-dim or not, empty or not.
    """
    kinds: dict[Any, list[Call]] = defaultdict(list)
    for call in subject.calls[:samples]:
        operands = call.operands()
        if len(operands) > 1:
            kinds[tuple((name, t.dim() > 0, t.numel() > 0) for name, t in operands)].append(call)
    found = []
    for kind, calls in kinds.items():
        for call in spread(calls, max(1, PLACEMENTS // len(kinds) // len(kind))):
            expected = on_plain_cpu(subject.function, call, min(subject.order, 1))
            if expected.error is None:
                found.append((call, expected))
    return found


def verdict_on(outcome: Outcome) -> str:
    if outcome.error is None:
        return "passes"
    return "raises" if DEVICE_ERROR.search(str(outcome.error)) else "fails"


def compare_pass(
    row: dict[str, Any],
    placement: Placement,
    placed: list[str],
    call: Call,
    expected: Outcome,
    outcome: Outcome,
    exact: bool,
) -> Iterator[str]:
    """What is wrong with the outcome of a placement that PyTorch takes."""
    if row.get("result") == "operand":
        pairs = zip(expected.result, outcome.result, placed, strict=False)
    else:
        device = placement.stray if row.get("result") == "stray" else HOME
        pairs = [(expected.result, outcome.result, device)]
    for before, after, device in pairs:
        yield from differing("result", before, after, functools.partial(at, device), exact)
    if row.get("backward", True):
        yield from compare_operands(call, placed, expected, outcome, exact)


def judge(
    placement: Placement,
    verdicts: Counter[str],
    examples: dict[tuple[Placement, str], str],
    listing: Listing,
    report: Report,
) -> None:
    """Hold what was seen of a placement against operators.toml."""
    row = listing.passing(placement)
    raised, count = examples.get((placement, "raises")), sum(verdicts.values())
    wrong = ""
    if verdicts["fails"]:
        wrong = f"another error: {examples[placement, 'fails']}"
    elif row is None and verdicts["passes"]:
        wrong = f"passes in {verdicts['passes']} of {count} calls, and is not listed"
    elif row is not None and raised and not row.get("when"):
        wrong = f"raises in {verdicts['raises']} of {count} calls, though listed: {raised}"
    report.counts[f"stray on {placement.stray}: calls"] += count
    report.counts[f"stray on {placement.stray}: placements"] += 1
    report.counts[f"stray on {placement.stray}: placements as PyTorch has them"] += not wrong
    if wrong:
        report.differences.append(Difference(placement.subject, "stray", str(placement), wrong))
    elif row is not None:
        report.counts[f"stray on {placement.stray}: taken, as listed"] += 1
        report.taken[listing.tables["passes"].index(row)] += 1


# ---- results elsewhere, and the error inputs


def out_elsewhere(subject: Subject, listing: Listing, machine: Machine = EMULATED) -> Report:
    """Hand entries that have out= a tensor on another device.

    PyTorch's test_out claims that every call raises for which it has a reason to: that is, not
    where a factory function isn't told the device.
    """
    report = Report()
    if not subject.out:
        return report
    calls = [
        call
        for call in spread(subject.calls, SAMPLES_OF_VARIANTS)
        if call.names_a_device()
        and holds_tensors(on_plain_cpu(with_out(subject.function), call).result)
    ]
    with machine.there():
        for number, call in enumerate(calls):
            for device in machine.strays:
                placed = call.on(listing.homes(subject, call), HOME)
                outcome = run(with_out(subject.function, device), placed)
                verdict = verdict_on(outcome)
                report.counts["out elsewhere: calls"] += 1
                report.counts["out elsewhere: calls that raise"] += verdict == "raises"
                if verdict != "raises":
                    what = described(outcome.error) or "passes"
                    where = f"on {device}, sample {number}"
                    report.differences.append(Difference(subject.name, "out", where, what))
    return report


def holds_tensors(snapshots: Any) -> bool:
    if isinstance(snapshots, list):
        return any(map(holds_tensors, snapshots))
    return isinstance(snapshots, Snapshot)


def errors(subject: Subject, machine: Machine = EMULATED) -> Report:
    """Call with the error inputs that PyTorch's tests have for a real accelerator."""
    report = Report()
    if subject.error_inputs is None:
        return report
    with machine.there():
        outcomes = error_outcomes(subject, HOME)
    on_cpu = [described(outcome.error) for _, outcome in error_outcomes(subject, "cpu")]
    for number, (case, outcome) in enumerate(outcomes):
        said = described(outcome.error)
        expected = isinstance(outcome.error, case.error_type) and re.search(
            case.error_regex, str(outcome.error)
        )
        report.counts["errors: cases"] += 1
        if expected:
            report.counts["errors: as PyTorch's tests expect"] += 1
        elif said in on_cpu:
            report.counts["errors: as the CPU's kernel words it"] += 1
        else:
            what = f"{said or 'passes'}, not {case.error_type.__name__}: {case.error_regex}"
            where = f"error input {number}"
            report.differences.append(Difference(subject.name, "errors", where, what))
    return report


def error_outcomes(subject: Subject, device: str) -> list[tuple[Any, Outcome]]:
    assert subject.error_inputs is not None
    found = []
    for case in subject.error_inputs(device):
        sample = case.sample_input
        call = Call((sample.input, *sample.args), sample.kwargs)
        found.append((case, run(subject.function, call)))
    return found


# ---- the whole run


def check(name: str, fast: bool = False, machine: Machine = EMULATED) -> Report:
    """All measures for one subject, or the first two with its first sample."""
    warnings.simplefilter("ignore")
    listing = Listing.read()
    torch.manual_seed(0)
    subject = subjects()[name]()
    samples = 1 if fast else None
    report = agreement(subject, listing, samples, machine)
    for device in machine.strays[:1] if fast else machine.strays:
        report.add(stray(subject, listing, device, samples, machine))
    if not fast:
        report.add(out_elsewhere(subject, listing, machine))
        report.add(errors(subject, machine))
    report.counts["entries"] += 1
    report.counts["entries without a difference"] += not report.differences
    return report


def check_all(names: list[str], *, fast: bool = False, jobs: int = 1) -> Report:
    """`check` for each name, in so many processes."""
    whole = Report()
    work = functools.partial(check, fast=fast)
    if jobs == 1:
        for name in names:
            whole.add(work(name))
        return whole
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, torch.set_num_threads, (1,)) as pool:
        for report in pool.map(work, names, chunksize=8):
            whole.add(report)
    return whole


def check_on_device(names: list[str], *, fast: bool, jobs: int) -> Report:
    """`check` for each name on this machine's accelerator, in processes that may break."""
    whole = Report()
    command = [sys.executable, __file__, "--worker", *["--fast"] * fast]
    for name, answer in zip(names, ask_all(names, command, jobs), strict=True):
        if "crash" in answer:
            whole.differences.append(Difference(name, "process", "", answer["crash"]))
            continue
        whole.add(Report.read(answer))
        if not answer["works"]:
            whole.differences.append(Difference(name, "process", "", "CUDA is broken after it"))
    return whole


def work(fast: bool) -> None:
    """Answer the names of entries with their reports."""
    answer_lines(lambda name: check(name, fast, REAL).record())


def never_taken(report: Report, listing: Listing) -> Iterator[Difference]:
    """The rows of operators.toml that no placement of a whole run needed."""
    for number, row in enumerate(listing.tables["passes"]):
        if number not in report.taken:
            where = f"{row['operands']}, dims {row.get('dims')}, strays {row.get('strays')}"
            yield Difference(
                ", ".join(row["ops"]), "listing", where, "no placement is taken for it"
            )


def render(report: Report) -> Iterator[str]:
    """The report for a reader: figures, exceptions with their reasons, and what is wrong."""
    counts = report.counts
    yield f"{counts['entries without a difference']} of {counts['entries']} entries as expected"
    for name in sorted(counts):
        if not name.startswith("entries"):
            yield f"{counts[name]:8} {name}"
    yield "placements that PyTorch takes, by reason:"
    reasons: Counter[str] = Counter()
    for number, row in enumerate(Listing.read().tables["passes"]):
        reasons[f"{row['reason']} ({row['source']})"] += report.taken[number]
    for reason, count in reasons.most_common():
        if count:
            yield f"{count:8} {reason}"
    for one in report.differences:
        yield f"{one.subject}: {one.measure}: {one.where}: {one.what}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("entries", nargs="*", help="names of entries; all where there are none")
    parser.add_argument("--fast", action="store_true", help="the first sample of each entry only")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--device", choices=["cuda"], help="this machine's own accelerator")
    where.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="write the figures and differences there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.worker:
        work(options.fast)
        return
    unknown = sorted(set(options.entries) - set(subjects()))
    if unknown:
        raise SystemExit(f"no such entry: {', '.join(unknown)}")
    start = time.perf_counter()
    names = options.entries or list(subjects())
    if options.device:
        report = check_on_device(names, fast=options.fast, jobs=options.jobs)
    else:
        report = check_all(names, fast=options.fast, jobs=1 if options.entries else options.jobs)
        if not options.entries and not options.fast:
            report.differences += never_taken(report, Listing.read())
    print(*render(report), sep="\n")
    print(f"{time.perf_counter() - start:.0f} s")
    if options.json:
        found = {**accelerator(), **report.record()} if options.device else report.record()
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if report.differences:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
