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
import contextlib
import datetime
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # before this folder, which has a module of the same name

import torch  # noqa: E402
from conformance import suite  # noqa: E402
from conformance.suite import Case, Outcome  # noqa: E402

from devlint import emulate  # noqa: E402

PATIENCE = 60.0
"""Seconds that a case may take on a real accelerator."""


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
    worker = Worker()
    try:
        for case in cases:
            yield case, worker.ask(case)
    finally:
        worker.stop()


class Worker:
    """A process that runs cases on the accelerator, and another one if it ends."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self.listen, args=(self.process, self.answers), daemon=True).start()

    @staticmethod
    def listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put("")

    def stop(self) -> int:
        self.process.kill()
        return self.process.wait()

    def ask(self, case: Case) -> Outcome:
        """The outcome; a broken one only if a fresh process breaks as well."""
        for _ in range(2):
            outcome = self.asked_once(case)
            if not broken(outcome):
                break
            self.stop()
            self.start()
        return outcome

    def asked_once(self, case: Case) -> Outcome:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(case.id + "\n")
            self.process.stdin.flush()
            answer = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            return Outcome(raised=f"Crash: no answer within {PATIENCE:.0f} seconds")
        except BrokenPipeError:
            answer = ""
        if not answer:
            return Outcome(raised=f"Crash: the process ended with {self.process.wait()}")
        return Outcome.read(json.loads(answer))


def broken(outcome: Outcome) -> bool:
    """Whether the process is of no further use: CUDA does not recover from errors of its own."""
    raised = outcome.raised or ""
    return raised.startswith("Crash: ") or "CUDA error" in raised


def work() -> None:
    """Answer the ids of cases on standard input with their outcomes, one a line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the cases print is no answer
    cases = {case.id: case for case in suite.load()}
    for line in sys.stdin:
        print(json.dumps(ran(cases[line.strip()]).record()), file=answers, flush=True)


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


def driver() -> str:
    """The version of the driver, or "" where nobody says it."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    return ""


def written(results: list[tuple[Case, Outcome]]) -> Path:
    """The file that now holds these outcomes."""
    card = torch.cuda.get_device_name(0)
    data = {
        "card": card,
        "devices": torch.cuda.device_count(),
        "torch": torch.__version__,
        "driver": driver(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "outcomes": {
            case.id: {"code": case.digest, **outcome.record()} for case, outcome in results
        },
    }
    suite.OUTCOMES.mkdir(exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9.+-]+", "-", f"{card}-torch{torch.__version__}")
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
