"""The emulated accelerator beside what a real one does, case by case.

    python bench/conformance.py                   emulated: every difference in full
    python bench/conformance.py --plain-cpu       'cuda' replaced by 'cpu': what a host alone shows
    python bench/conformance.py --device cuda     this machine's own: what is to be expected

The cases are those of tests/conformance. A real accelerator is asked in a process of its own, which
is started anew after a crash, an error of CUDA itself or a minute without an answer; cases that
need more accelerators than there are are left out. What it did is written to
tests/conformance/outcomes/, where the tests find it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # before this folder, which has a module of the same name

import torch  # noqa: E402
from answering import accelerator, answer_lines, ask_all  # noqa: E402
from conformance import suite  # noqa: E402
from conformance.suite import Case, Outcome  # noqa: E402

from devlint import emulate  # noqa: E402


def ran(case: Case) -> Outcome:
    """The outcome of a case here; an error in its setup counts as one of the case."""
    try:
        return suite.run(case)
    except Exception as error:
        return Outcome(raised=f"SetupError: {type(error).__name__}: {error}")


# --- three machines --------------------------------------------------------------------------


def emulated(cases: list[Case]) -> Iterator[tuple[Case, Outcome]]:
    for case in cases:
        with emulate("cuda", count=2):
            outcome = ran(case)
        yield case, outcome


def on_plain_cpu(cases: list[Case]) -> Iterator[tuple[Case, Outcome]]:
    for case in cases:
        yield case, ran(suite.on_cpu(case))


def on_device(cases: list[Case]) -> Iterator[tuple[Case, Outcome]]:
    command = [sys.executable, __file__, "--worker"]
    answers = ask_all([case.id for case in cases], command, jobs=1)
    for case, answer in zip(cases, answers, strict=True):
        crash = answer.get("crash")
        yield case, Outcome(raised=f"Crash: {crash}") if crash else Outcome.read(answer)


def work() -> None:
    """Answer the ids of cases with their outcomes."""
    cases = {case.id: case for case in suite.load()}
    answer_lines(lambda name: ran(cases[name]).record())


# --- what is told ----------------------------------------------------------------------------


def tell(results: Iterator[tuple[Case, Outcome]]) -> int:
    """Print how many of how many by file, each difference in full; the number of differences."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    different, meant = [], []
    for case, outcome in results:
        expected = suite.difference(case, outcome)
        counts[case.theme][0] += expected is None
        counts[case.theme][1] += 1
        if expected is not None:
            (meant if case.differs else different).append((case, expected, outcome))
    for theme, (fit, whole) in sorted(counts.items()):
        print(f"{theme:16}{fit:5} of {whole}")
    whole = sum(whole for _, whole in counts.values())
    print(f"{'all':16}{whole - len(different) - len(meant):5} of {whole}")
    for case, _, _ in meant:
        print(f"differs as it means to: {case.id}: {case.differs}")
    for case, expected, outcome in different:
        print(f"\n{case.theme}.toml: {case.id} ({case.known}: {case.basis})")
        print("    " + case.code.strip().replace("\n", "\n    "))
        print(f"  expected: {expected}\n       got: {outcome}")
    return len(different)


def tell_plain_cpu(results: Iterator[tuple[Case, Outcome]]) -> None:
    """Print what becomes visible of the cases that raise, on a machine without accelerators."""
    same = other = silent = passed = whole = 0
    for case, outcome in results:
        if case.raises is None:
            whole += 1
            passed += outcome.raised is None
        elif suite.difference(case, outcome) is None:
            same += 1
        elif outcome.raised is not None:
            other += 1
        else:
            silent += 1
    print(f"of {same + other + silent} cases that raise on an accelerator, without one")
    print(f"{silent:6} pass in silence\n{same:6} raise the same error\n{other:6} raise another")
    print(f"of {whole} cases that pass on an accelerator, {passed} pass without one")


def written(results: list[tuple[Case, Outcome]]) -> Path:
    """The file that now holds these outcomes."""
    machine = accelerator()
    data = {
        **machine,
        "outcomes": {
            case.id: {"code": case.digest, **outcome.record()} for case, outcome in results
        },
    }
    suite.OUTCOMES.mkdir(exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9.+-]+", "-", f"{machine['card']}-torch{torch.__version__}")
    path = suite.OUTCOMES / f"{name}.json"
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--plain-cpu", action="store_true", help="without any accelerator")
    where.add_argument("--device", choices=["cuda"], help="this machine's own accelerator")
    where.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work()
        return 0
    torch.set_num_threads(1)
    cases = [case for case in suite.load() if case.concerns(suite.TORCH)]
    if chosen.plain_cpu:
        tell_plain_cpu(on_plain_cpu(cases))
        return 0
    if chosen.device is None:
        return min(tell(emulated(cases)), 1)
    if not torch.cuda.is_available():
        parser.error("torch finds no CUDA device on this machine")
    there = torch.cuda.device_count()
    results = list(on_device([case for case in cases if case.devices <= there]))
    different = tell(iter(results))
    left = len(cases) - len(results)
    print(f"\n{left} cases left out: they need more than {there} devices")
    print(f"written: {written(results)}")
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main())
