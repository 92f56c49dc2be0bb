"""What many files take on a cluster of Dask's on this machine: seconds, memory, bytes sent.

    python bench/scale.py --files 20000 --workers 2
    python bench/scale.py --files 5000 --workers 2 --compare       also in one process, and compared

A tree is generated: projects of 500 files, in packages of ten that import from each other, with
some mistakes. A scheduler and workers are started, each a process of its own with one thread, and
the command line lints the tree by `--executor`. Bytes are those that the loopback carried; nothing
else uses it in a network of one's own:

    unshare -rn sh -c 'ip link set lo up && python bench/scale.py --files 5000'
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cluster import SOURCE, cluster

PROJECT, PACKAGE = 500, 10

HEAD = """\
import torch
from torch import nn

from {package} import m{other}
from .m{other} import Block{other}, scaled{other}
"""

BLOCK = """

class Block{n}(nn.Module):
    \"\"\"{words}\"\"\"

    def __init__(self, width, depth={depth}):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.register_buffer("mean", torch.zeros(width))
        self.scale = {scale}

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = torch.relu(layer(x)) + self.mean * self.scale
        if mask is not None:
            x = x * mask.to(x.device)
        return x


def scaled{n}(x, factor={scale}):
    \"\"\"{words}\"\"\"
    offset = torch.full((1,), factor, device=x.device)
    total = offset.new_zeros(1)
    for index in range({depth}):
        total = total + x.sum() * index + offset
    return total
"""

STEP = """

def step{k}(model, batch, optimizer, device):
    inputs, targets = batch
    inputs = inputs.to(device)
    loss = nn.functional.mse_loss(model(inputs), targets.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item() * {k}
"""

MISTAKES = (
    "\n\ndef table(x):\n    x.cuda()\n    return x.cuda() + torch.arange(10)\n",
    "\n\ndef load(path):\n    return torch.load(path)\n",
    '\n\nDEVICE = torch.device("gpu")\n',
)


PLAIN = """

def plain{k}(rows, limit={depth}):
    \"\"\"{words}\"\"\"
    found = {{}}
    for index, row in enumerate(rows):
        if index >= limit or not row:
            continue
        key, _, value = row.partition("=")
        found.setdefault(key.strip(), []).append(value.strip() or None)
    return sorted(found.items(), key=lambda item: (len(item[1]), item[0]))
"""


def plain_text_of(number: int, dice: random.Random) -> str:
    """A file that has nothing to do with torch."""
    package, n = f"p{number // PACKAGE}", number % PACKAGE
    head = f"import os\n\nfrom {package} import m{dice.randrange(n)}\n" if n else "import os\n"
    words = " ".join(dice.choice("rows of a table by key".split()) for _ in range(30))
    parts = (PLAIN.format(k=k, depth=dice.randrange(99), words=words)
             for k in range(dice.randrange(1, 9)))  # fmt: skip
    return head + "".join(parts)


def text_of(number: int, dice: random.Random) -> str:
    """A file of a package, by its number in it."""
    package, n = f"p{number // PACKAGE}", number % PACKAGE
    other = dice.randrange(n) if n else 0
    words = " ".join(dice.choice("load moves batch model weights scale layer norm".split())
                     for _ in range(dice.randrange(5, 60)))  # fmt: skip
    names = {"n": n, "words": words, "depth": dice.randrange(1, 9), "scale": dice.random()}
    head = (
        HEAD.format(package=package, other=other) if n else "import torch\nfrom torch import nn\n"
    )
    steps = "".join(STEP.format(k=k) for k in range(dice.randrange(8)))
    mistake = dice.choice(MISTAKES) if dice.random() < 0.1 else ""
    return head + BLOCK.format(**names) + steps + mistake


def generate(root: Path, count: int, share: float = 1.0) -> int:
    """Write so many files, a share of them in packages that use torch; returns their bytes."""
    dice, size, make = random.Random(7), 0, text_of
    for number in range(count):
        project = root / f"project{number // PROJECT}"
        folder = project / f"p{number // PACKAGE}"
        if number % PACKAGE == 0:
            folder.mkdir(parents=True, exist_ok=True)
            (project / "setup.py").touch()
            (folder / "__init__.py").touch()
            make = text_of if dice.random() < share else plain_text_of
        text = make(number, dice)
        (folder / f"m{number % PACKAGE}.py").write_text(text)
        size += len(text)
    return size


@dataclass
class Ran:
    """What a run took."""

    seconds: float
    cpu: float
    memory: int
    """The most bytes that the process of the command had."""


def lint(root: Path, output: Path, *words: str) -> Ran:
    """Run the command. Raises SystemExit where it can't do its job."""
    command = [sys.executable, "-m", "devlint", "-n", "-q", "--output-format=json"]
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, f"--output-file={output}", *words, str(root)], cwd=root.parent
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"devlint ended with {os.waitstatus_to_exitcode(status)}")
    return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def carried() -> int:
    """The bytes that the loopback has carried."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (line,) = [line for line in lines if line.strip().startswith("lo:")]
    return int(line.split(":")[1].split()[0])


def cpu_of(pid: int) -> float:
    """The CPU seconds that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """The most bytes that a process had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Generate, lint, print a line of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--torch", type=float, default=1.0, help="the share that uses torch")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--compare", action="store_true", help="lint in one process as well")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(SOURCE / "src")  # whichever is installed
    with tempfile.TemporaryDirectory() as name:
        root, outputs = Path(name) / "tree", Path(name)
        began = time.monotonic()
        size = generate(root, options.files, options.torch)
        print(
            f"{options.files:,} files, {size / 1e6:.1f} MB, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        (outputs / "dask").mkdir()
        with cluster(outputs / "dask") as made:
            for number in range(options.workers):
                made.start(f"worker{number}")
            made.wait(options.workers)
            pids = [process.pid for process in made.workers.values()]
            idle = sum(map(cpu_of, pids))
            before = carried()
            ran = lint(root, outputs / "many.json", f"--executor=dask://{made.address}")
            sent = carried() - before
            spent = sum(map(cpu_of, pids)) - idle
            workers = list(map(memory_of, pids))
            scheduler = memory_of(made.processes[0].pid)
        findings = len(json.loads((outputs / "many.json").read_text()))
        print(
            f"{options.workers} workers: {ran.seconds:.1f} s, {findings:,} findings, command "
            f"{ran.cpu:.1f} s of CPU and {ran.memory / 1e6:.0f} MB, workers {spent:.1f} s and "
            f"at most {max(workers) / 1e6:.0f} MB, scheduler {scheduler / 1e6:.0f} MB, "
            f"{sent / 1e6:.1f} MB sent ({sent / options.files:.0f} bytes a file)"
        )
        if options.compare:
            alone = lint(root, outputs / "one.json", "-j1")
            same = (outputs / "one.json").read_bytes() == (outputs / "many.json").read_bytes()
            print(
                f"one process: {alone.seconds:.1f} s, {alone.cpu:.1f} s of CPU, "
                f"{alone.memory / 1e6:.0f} MB; the same findings: {same}"
            )


if __name__ == "__main__":
    main()
