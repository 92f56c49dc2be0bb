"""What the guard costs, in one run, beside nothing and beside hooks that check nothing.

    python bench/guard.py
    python bench/guard.py --only tiny --repeat 41
    python bench/guard.py --json results.json
    python bench/guard.py --shares --steps 0
    python bench/guard.py --device cuda               on this machine's own accelerator

In each round every variant runs a block of the same calls, one after the other in a random order;
a figure is the median over rounds of its time (CPU seconds of one thread, the median of the calls
of a block) beside that of the same round without a guard, with the 95 % interval of that median.
`none again` is a second run of nothing: what differs there is noise.

What `strict` adds to a step is too little for that on a machine where others work as well. All that
it does stands around torch's own code for calls of modules; so it is timed there, in the step with
its own inputs, and told as a share of the step, with the 95 % interval over rounds. Steps with
small inputs, calls in a loop or counted instructions would say too little: half of what a call
costs is to bring the guard's code back from memory, since the kernels between two layers have taken
its place.

A training run turns its guard on once, so the first calls after each change aren't counted: Python
runs them slower, guard or not, until it knows torch's class of modules again. Memory is what 10,000
small steps leave behind.

On an accelerator a call has ended when its kernels have, so there it is seconds of a clock.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import platform
import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))  # this checkout's devlint, whichever is installed

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from accelerate.hooks import attach_align_device_hook, remove_hook_from_submodules  # noqa: E402
from answering import accelerator  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn.modules.module import register_module_forward_pre_hook  # noqa: E402

import devlint  # noqa: E402

# --- what runs -----------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet(nn.Module):
    """As ResNet-18, an eighth as wide."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU())
        widths = [(8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1)]
        widths += [(16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)]
        self.stages = nn.Sequential(*(Residual(*width) for width in widths))
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(128, 100)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


class Tiny(nn.Module):
    """The worst case: modules that do next to nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(200))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass(frozen=True)
class Subject:
    """A model, and what is done with it."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], Tensor]
    trains: bool


def _subjects(name: str, *details: Any) -> dict[str, Subject]:
    return {
        f"{name} forward": Subject(*details, False),
        f"{name} step": Subject(*details, True),
    }


SUBJECTS = {
    **_subjects("transformer", Transformer, lambda: torch.randint(0, 100, (16, 64))),
    **_subjects("resnet", ResNet, lambda: torch.randn(16, 3, 32, 32)),
    **_subjects("tiny", Tiny, lambda: torch.randn(4, 8)),
}


class Runs:
    """A model at work."""

    def __init__(self, subject: Subject, device: str) -> None:
        torch.manual_seed(0)
        self.subject, self.device = subject, device
        self.model = subject.make().to(device)
        self.inputs = subject.inputs().to(device)
        self.targets = torch.zeros(len(self.inputs), dtype=torch.long, device=device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)

    def once(self) -> None:
        if not self.subject.trains:
            with torch.no_grad():
                self.model(self.inputs)
            return
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(self.inputs), self.targets).backward()
        self.optimizer.step()

    def block(self, times: int) -> float:
        """Seconds of one call: the median of several."""
        found: list[float] = []
        for _ in range(times):
            start = self.now()
            self.once()
            found.append(self.now() - start)
        return median(found)

    def now(self) -> float:
        """Seconds: of this process's CPU, or of a clock once the accelerator has done its work."""
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


# --- under what ----------------------------------------------------------------------------


@contextmanager
def global_hook(runs: Runs) -> Iterator[None]:
    handle = register_module_forward_pre_hook(lambda module, args: None)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def aligned(runs: Runs) -> Iterator[None]:
    attach_align_device_hook(runs.model, execution_device=torch.device(runs.device))
    try:
        yield
    finally:
        remove_hook_from_submodules(runs.model)


@contextmanager
def spent(runs: Runs) -> Iterator[None]:
    with devlint.guard(runs.model, when="first-batches", batches=1):
        runs.once()
        yield


Variant = Callable[[Runs], AbstractContextManager[object]]
VARIANTS: dict[str, Variant] = {
    "none": lambda runs: contextlib.nullcontext(),
    "none again": lambda runs: contextlib.nullcontext(),
    "empty global hook": global_hook,
    "AlignDevicesHook": aligned,
    "explain": lambda runs: devlint.guard(runs.model, mode="explain"),
    "strict": lambda runs: devlint.guard(runs.model),
    "strict, first batches": spent,
    "trace": lambda runs: devlint.guard(runs.model, mode="trace"),
}


@dataclass(frozen=True)
class Row:
    subject: str
    variant: str
    milliseconds: float
    ratio: float
    """Beside none: the median over the rounds."""
    low: float
    high: float


_UNCOUNTED = 4
"""Calls after each change of the guard."""


def measure(name: str, device: str, rounds: int, seconds: float) -> list[Row]:
    found = blocks(Runs(SUBJECTS[name], device), VARIANTS, rounds, seconds)
    return [row(name, variant, found[variant], found["none"]) for variant in VARIANTS]


def blocks(
    runs: Runs, variants: Iterable[str], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Seconds of a call, by variant and round."""
    for _ in range(3):
        runs.once()
    times = max(3, round(seconds / runs.block(3)))
    order = list(variants)
    found: dict[str, list[float]] = {variant: [] for variant in order}
    turns = random.Random(0)
    for _ in range(rounds):
        turns.shuffle(order)
        for variant in order:
            with VARIANTS[variant](runs):
                for _ in range(_UNCOUNTED):
                    runs.once()
                found[variant].append(runs.block(times))
    return found


@dataclass(frozen=True)
class Share:
    """What a guard adds to a step, beside what the step takes without one."""

    subject: str
    variant: str
    milliseconds: float
    """Without a guard."""
    share: float
    low: float
    high: float


def share(name: str, device: str, rounds: int, seconds: float) -> Share:
    """What strict adds to a step."""
    runs = Runs(SUBJECTS[name], device)
    for _ in range(3):
        runs.once()
    times = max(3, round(seconds / runs.block(3)))
    added, plain = list[float](), list[float]()
    for _ in range(rounds):
        none, strict = (timed(runs, variant, times) for variant in ("none", "strict"))
        added.append((strict.around - none.around) / none.step)
        plain.append(none.step)
    added.sort()
    low, high = interval(rounds)
    return Share(name, "strict", 1000 * median(plain), median(added), added[low], added[high])


@dataclass
class Timed:
    """Seconds of a step."""

    step: float
    around: float
    """Those that its calls of modules take before and after torch's own code for them."""


def timed(runs: Runs, variant: str, times: int) -> Timed:
    """The median step of several."""
    own, now = nn.Module._call_impl, time.perf_counter
    began = ended = around = 0.0

    def inner(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal ended, around
        around += now() - began
        result = own(self, *args, **kwargs)
        ended = now()
        return result

    def outer(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal began, around
        began = now()
        result = between(self, *args, **kwargs)
        around += now() - ended
        return result

    steps, arounds = list[float](), list[float]()
    nn.Module._call_impl = inner
    with VARIANTS[variant](runs):
        between = nn.Module._call_impl  # the guard's, or none
        nn.Module._call_impl = outer
        for _ in range(_UNCOUNTED):
            runs.once()
        for _ in range(times):
            around = 0.0
            steps.append(runs.block(1))
            arounds.append(around)
        nn.Module._call_impl = between
    nn.Module._call_impl = own
    return Timed(median(steps), median(arounds))


def row(subject: str, variant: str, values: list[float], plain: list[float]) -> Row:
    ratios = sorted(value / base for value, base in zip(values, plain, strict=True))
    low, high = interval(len(ratios))
    return Row(subject, variant, 1000 * median(values), median(ratios), ratios[low], ratios[high])


def interval(count: int) -> tuple[int, int]:
    """The places, in a sorted sample, of the 95 % interval of its median."""
    weights = [math.comb(count, k) / 2**count for k in range(count + 1)]
    total, low = 0.0, 0
    while low < count // 2 and total + weights[low] <= 0.025:
        total += weights[low]
        low += 1
    return max(low - 1, 0), min(count - low, count - 1)


# --- marks ---------------------------------------------------------------------------------


STEPS = {"strict": 0.01, "trace": 0.3}
"""The most that a guard may add to a training step that takes 5 ms or more."""


def marks(rows: list[Row], shared: list[Share]) -> list[tuple[str, str]]:
    """Whether the figures hold, and what they are held to."""
    by = {(row.subject, row.variant): row for row in rows}
    found = []
    added = [(each.low, each.high, each) for each in shared]
    added += [(each.low - 1, each.high - 1, each) for each in rows if each.variant == "trace"]
    for low, high, step in added:
        if SUBJECTS[step.subject].trains and step.milliseconds >= 5:
            most = STEPS[step.variant]
            word = "holds" if high <= most else "MISSED" if low > most else "open"
            found.append((word, f"{step.subject}: {step.variant} adds at most {most:.0%}"))
    for subject in dict.fromkeys(row.subject for row in rows):
        explain, strict = by[subject, "explain"], by[subject, "strict"]
        first = by[subject, "strict, first batches"]
        noise = by[subject, "none again"]
        for each in (explain, first):
            same = each.low <= max(1.0, noise.high) and each.high >= min(1.0, noise.low)
            text = f"{subject}: {each.variant} is not told from none"
            found.append(("holds" if same else "MISSED", text))
        if subject.startswith("tiny"):
            hook = by[subject, "empty global hook"].ratio - 1
            text = f"{subject}: strict adds at most 1.5 times what an empty global hook adds"
            found.append(("holds" if strict.ratio - 1 <= 1.5 * hook else "MISSED", text))
    return found


# --- memory --------------------------------------------------------------------------------


def growth(mode: str, steps: int) -> dict[str, float]:
    """What `steps` steps under a guard leave behind, after a tenth of them have been run."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with devlint.guard(model, mode=mode):
        before: tuple[int, int] = (0, 0)
        for step in range(steps + steps // 10):
            if step == steps // 10:
                gc.collect()
                before = len(gc.get_objects()), resident()
            inputs = torch.randn(4, 8)
            optimizer.zero_grad()
            model(inputs).sum().backward()
            optimizer.step()
        gc.collect()
        after = len(gc.get_objects()), resident()
    return {"objects": after[0] - before[0], "MiB": (after[1] - before[1]) / 1024}


def resident() -> int:
    """KiB."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", help="subjects whose names begin so")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--repeat", type=int, default=81, help="rounds")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a block")
    parser.add_argument("--shares", action="store_true", help="only what strict adds to a step")
    parser.add_argument("--steps", type=int, default=10_000, help="for memory; 0 leaves it out")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    machine = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "rounds": options.repeat,
        **(accelerator() if options.device == "cuda" else {}),
    }
    print(f"torch {machine['torch']}, Python {machine['python']}, one thread")
    rows: list[Row] = []
    shared: list[Share] = []
    wanted = tuple(options.only or SUBJECTS)
    how = options.device, options.repeat, options.seconds
    for subject in SUBJECTS:
        if not subject.startswith(wanted) or (options.shares and not SUBJECTS[subject].trains):
            continue
        print(f"\n{subject:24} {'ms':>8}  {'times':>6}  95 % interval")
        for each in () if options.shares else measure(subject, *how):
            rows.append(each)
            where = f"{each.low:.3f} to {each.high:.3f}"
            print(f"  {each.variant:22} {each.milliseconds:8.2f}  {each.ratio:6.3f}  {where}")
        if SUBJECTS[subject].trains:
            added = share(subject, *how)
            shared.append(added)
            what = f"{added.share:7.2%}  {added.low:.2%} to {added.high:.2%}"
            print(f"  {'strict adds':22} {added.milliseconds:8.2f} {what}", flush=True)
    left = {}
    if options.steps:
        print(f"\nleft behind by {options.steps:,} steps")
        for mode in ("off", "explain", "strict", "trace"):
            left[mode] = growth(mode, options.steps)
            objects, mib = left[mode]["objects"], left[mode]["MiB"]
            print(f"  {mode:22} {objects:+8.0f} objects  {mib:+6.1f} MiB")
    held = marks(rows, shared)
    print()
    for word, text in held:
        print(f"{word:7} {text}")
    if options.json:
        told = {"rows": [*map(asdict, rows)], "shares": [*map(asdict, shared)], "memory": left}
        record = {**machine, **told}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return int(any(word == "MISSED" for word, _ in held))


if __name__ == "__main__":
    sys.exit(main())
