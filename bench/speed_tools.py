"""The tools that speed.py measures: their commands, and what a process takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

PEERS = ("torchfix", "flake8", "ruff")
"""Packages of another environment: TorchFix needs an older LibCST than devlint."""
FLOORS = ("libcst", "ast")
"""Parsers alone: what a linter that is built on them can't undercut."""
TOOLS = ("devlint", *PEERS, *FLOORS)

_FLAKE8 = """
import importlib.metadata as metadata
own, every = {"flake8", "pycodestyle", "pyflakes"}, metadata.distributions
metadata.distributions = lambda: [each for each in every() if each.metadata["Name"] in own]
from flake8.main.cli import main
raise SystemExit(main())
"""
"""flake8 as it is by itself: it runs each plugin it finds, TorchFix for one, whatever is chosen."""

_KEPT = {"PYTHONDONTWRITEBYTECODE": ""}
"""What an installation has: modules are compiled once, and not by each run."""

_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds of CPU, seconds on the clock, MiB of its largest process."""

    user: float
    wall: float
    memory: float


def middle(costs: Iterable[Cost]) -> Cost:
    """The median of each figure."""
    user, wall, memory = zip(*((each.user, each.wall, each.memory) for each in costs), strict=True)
    return Cost(median(user), median(wall), median(memory))


def measured(command: list[str], environment: Mapping[str, str] = _KEPT) -> Cost:
    """What a process and those that it started take. Raises SystemExit where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **_KEPT, **environment},
    )
    assert process.stderr is not None
    complaints = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        told = complaints.decode(errors="replace").strip()[-2000:]
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{told}")
    return Cost(usage.ru_utime, wall, usage.ru_maxrss / 1024)


def devlint(*words: str) -> list[str]:
    """devlint of this interpreter, without settings."""
    return [sys.executable, "-m", "devlint", "check", "--isolated", "--exit-zero", *words]


def ruff(peers: str, *words: str) -> list[str]:
    """ruff of another environment, without settings and without starting that one's Python."""
    return [str(Path(peers).with_name("ruff")), "check", "--isolated", "--exit-zero", *words]


def versions(tools: Iterable[str], peers: str) -> dict[str, str]:
    """The release of each tool. Raises SystemExit where `peers` hasn't got one."""
    names = {python: [each for each in tools if (each in PEERS) == (python == peers)]
             for python in (peers, sys.executable)}  # fmt: skip
    if peers == sys.executable:
        names = {peers: list(tools)}
    found = {}
    for python, wanted in names.items():
        told = subprocess.run([python, "-c", _VERSIONS, *wanted], capture_output=True, check=True)
        found.update(json.loads(told.stdout))
    missing = [each for each in tools if each not in found and each not in ("ast", "devlint")]
    if missing:
        raise SystemExit(f"not in {peers}: {', '.join(missing)} (--peers, or --tools without it)")
    return {**found, "devlint": ""}


def warm_up(tools: Iterable[str], peers: str) -> None:
    """Have each tool's modules compiled, and read from the disk."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "a.py").write_text("import torch\n\nx = torch.ones(3)\nx.cuda()\n")
        for tool in tools:
            lint(tool, Path(place), 1, peers)


def lint(tool: str, root: Path, jobs: int, peers: str) -> Cost:
    """What a tool takes over all files below a folder, with nothing remembered of them."""
    place, environment = str(root), {}
    if tool == "devlint":
        words = ("--no-cache", "--no-respect-gitignore", "--output-format=json")
        command = devlint(f"--jobs={jobs}", *words, place)
    elif tool == "torchfix":
        command = [peers, "-m", "torchfix", f"--jobs={jobs}", "--select=ALL", place]
    elif tool == "flake8":
        command = [peers, "-c", _FLAKE8, "--isolated", "--exit-zero", f"--jobs={jobs}", place]
    elif tool == "ruff":
        command = ruff(peers, "--no-cache", "--no-respect-gitignore", place)
        environment = {"RAYON_NUM_THREADS": str(jobs)}
    else:
        command = [sys.executable, __file__, tool, place, str(jobs)]
    return measured(command, environment)


def parse(parser: str, path: Path) -> str:
    """Parse one file and drop its tree; why it can't be parsed, or ""."""
    try:
        if parser == "ast":
            import ast

            ast.parse(path.read_bytes())
        else:
            import libcst

            libcst.parse_module(path.read_bytes())
    except Exception as error:
        return str(error).partition("\n")[0] or type(error).__name__
    return ""


def main(parser: str, root: Path, jobs: int) -> None:
    """Parse every file below a folder, by the loop and the processes that devlint has for it."""
    from functools import partial

    import speed_tools  # by a name that other processes know, which `__main__` isn't

    from devlint.driver.pool import each

    files = [path for path in sorted(root.rglob("*.py*")) if path.is_file()]
    for path, error in each(partial(speed_tools.parse, parser), files, jobs):
        if error:
            print(f"not parsed: {path}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
