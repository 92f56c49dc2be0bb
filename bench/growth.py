"""How time and memory grow with what is linted.

    python bench/growth.py                      all kinds, to their full sizes: some minutes
    python bench/growth.py --kinds lines files --most 0.25
    python bench/growth.py --draw docs/growth.svg

Each kind is a text that is made, in sizes that double up to the largest:

  lines        functions of ten lines in one file: 100,000 lines
  statements   one function, that moves tensors and adds them: 5,000 statements
  classes      modules, each with a layer and a `forward`: 1,000
  branches     an `if` in an `if`, each moving a tensor: 200 deep
  files        a project in which each file imports another one: 20,000 files

Each size is linted by a process of its own, on one core and without a cache. CPU seconds are user
and system time; the memory is the largest resident set. The start, an empty file, is taken away
from both. The slope is that of the straight line through the logarithms of the three largest sizes:
1 is linear growth, 2 is quadratic. To hold: no slope of time above 1.2.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

MOST_SLOPE = 1.2
_SIZES = 5
"""How many sizes of a kind are measured."""


@dataclass(frozen=True)
class Point:
    """What a size costs: CPU seconds and MiB, beyond those of an empty file."""

    size: int
    seconds: float
    memory: float


def lines(size: int) -> dict[str, str]:
    """A file of functions, of ten lines each."""
    body = """def step_{0}(model, batch, device):
    # where the model is
    x = batch[0].to(device)
    mask = torch.ones(3, device=device)
    scale = torch.full((3,), {0}.0)
    out = model(x) * mask
    if out.requires_grad:
        out = out.detach()
    return out.cpu().numpy(), scale

"""
    return {"main.py": "import torch\n\n" + "".join(map(body.format, range(size // 10)))}


def statements(size: int) -> dict[str, str]:
    """A file with one long function."""
    rows = [
        f"    x{n} = torch.ones(3) + x{n - 1}" if n % 2 == 0 else f"    x{n} = x{n - 1}.to(device)"
        for n in range(1, size + 1)
    ]
    head = "import torch\n\n\ndef run(x0, device):\n"
    return {"main.py": head + "\n".join(rows) + f"\n    return x{size}\n"}


def classes(size: int) -> dict[str, str]:
    """A file of modules, each of which calls the one before."""
    body = """class Net{0}(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.inner = {1}
        self.scale = torch.ones(4)

    def forward(self, x):
        return self.layer(self.inner(x)) * self.scale


"""
    inner = ("nn.Identity()", *(f"Net{n}()" for n in range(size - 1)))
    made = (body.format(n, each) for n, each in enumerate(inner))
    return {"main.py": "import torch\nfrom torch import nn\n\n\n" + "".join(made)}


def branches(size: int) -> dict[str, str]:
    """A function of nested branches."""
    rows = ["def run(x, y, flags):"]
    for n in range(size):
        # As deep as the parser of Python reads: a new function every ninety.
        if n and n % 90 == 0:
            rows += [f"def run{n}(x, y, flags):"]
        indent = "  " * (n % 90 + 1)
        rows += [f"{indent}if flags.f{n}:", f"{indent}  x = x.cuda() + y"]
    rows += ["  return x"]
    return {"main.py": "import torch\n" + "\n".join(rows) + "\n"}


def files(size: int) -> dict[str, str]:
    """A project whose files import each other, in packages of a hundred."""
    found = {"pyproject.toml": "[tool.devlint]\n"}
    for n in range(size):
        other = n - 1 if n % 10 else None
        start = "" if other is None else f"from pack{other // 100}.m{other} import move{other}\n"
        call = "x" if other is None else f"move{other}(x, device)"
        found[f"pack{n // 100}/__init__.py"] = ""
        found[f"pack{n // 100}/m{n}.py"] = (
            f"import torch\n{start}\n\ndef move{n}(x, device):\n"
            f"    y = torch.zeros(3, device=device)\n    return {call}.to(device) + y\n"
        )
    return found


KINDS: Mapping[str, tuple[Callable[[int], dict[str, str]], int]] = {
    "lines": (lines, 100_000),
    "statements": (statements, 5_000),
    "classes": (classes, 1_000),
    "branches": (branches, 200),
    "files": (files, 20_000),
}


def cost(texts: Mapping[str, str]) -> tuple[float, float]:
    """The CPU seconds and the memory in MiB that linting such files takes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "devlint", "--jobs", "1", "--no-cache", "--silent"]
        process = subprocess.Popen([*command, "--isolated", "."], cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"devlint ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(kind: str, most: float) -> list[Point]:
    """What the sizes of a kind cost, up to a share of the largest."""
    make, largest = KINDS[kind]
    start = cost({"main.py": ""})
    found = []
    for halvings in range(_SIZES - 1, -1, -1):
        size = max(10, int(largest * most) >> halvings)
        seconds, memory = cost(make(size))
        found.append(Point(size, max(0.001, seconds - start[0]), max(0.1, memory - start[1])))
    return found


def slope(points: Iterable[Point]) -> float:
    """How fast the time grows: the power of the size by which it does, over the largest three."""
    last = list(points)[-3:]
    sizes = [math.log(each.size) for each in last]
    return linear_regression(sizes, [math.log(each.seconds) for each in last]).slope


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS], default=[*KINDS])
    parser.add_argument("--most", type=float, default=1.0, help="a share of the largest sizes")
    parser.add_argument("--draw", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = {}
    for kind in options.kinds:
        found[kind] = measured(kind, options.most)
        for point in found[kind]:
            each = point.seconds / point.size * 1e6
            print(f"{kind:>11} {point.size:>8,} {point.seconds:8.2f} s {each:9.1f} us each"
                  f" {point.memory:7.0f} MiB", flush=True)  # fmt: skip
        print(f"{kind:>11}    slope {slope(found[kind]):.2f} (at most {MOST_SLOPE})", flush=True)
    if options.draw is not None:
        draw(found, options.draw)
    return int(any(slope(points) > MOST_SLOPE for points in found.values()))


def draw(found: Mapping[str, list[Point]], path: Path) -> None:
    """Draw time and memory over size, one line for each kind, as SVG."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SystemExit("--draw needs matplotlib") from error
    mpl.use("svg")
    from matplotlib import pyplot

    with mpl.rc_context({"svg.hashsalt": "devlint", "svg.fonttype": "none"}):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        for kind, points in found.items():
            sizes = [each.size for each in points]
            told = f"{kind}, slope {slope(points):.2f}"
            left.loglog(sizes, [each.seconds for each in points], marker="o", label=told)
            right.loglog(sizes, [each.memory for each in points], marker="o")
        left.set(xlabel="size", ylabel="CPU seconds")
        right.set(xlabel="size", ylabel="MiB")
        left.legend(fontsize="small")
        figure.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    sys.exit(main())
