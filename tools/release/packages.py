"""The packages: built twice, checked, installed, listed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from release.candidate import git
from release.steps import Candidate, StepError, environment, run, surroundings, tool

LARGEST = 25_000_000
"""Bytes that an installation may put on a disk, without what Python compiles."""
SLOWEST = 0.060
"""Seconds by which `devlint --version` may take longer than Python itself."""


def build(candidate: Candidate) -> str:
    """Build wheel and sdist twice, in other places, times and settings, and compare the bytes."""
    first = _built(candidate, "first", umask=0o022, zone="UTC", seed="0")
    second = _built(candidate, "second", umask=0o077, zone="Pacific/Auckland", seed="1")
    stem = f"devlint-{candidate.version}"
    if sorted(first) != [f"{stem}-py3-none-any.whl", f"{stem}.tar.gz"]:
        raise StepError(f"the tag is {candidate.tag}, and built is {', '.join(sorted(first))}")
    other = [name for name in first if _digest(first[name]) != _digest(second[name])]
    if other:
        raise StepError(f"built twice, these differ: {', '.join(other)}")
    lines = []
    for name, path in sorted(first.items()):
        shutil.copy(path, candidate.packages / name)
        lines.append(f"{_digest(path)}  packages/{name}")
    (candidate.out / "SHA256SUMS").write_text("".join(f"{line}\n" for line in lines))
    sizes = [f"{name}: {path.stat().st_size / 1e6:.2f} MB" for name, path in sorted(first.items())]
    return "\n".join([*sizes, "built twice: the same bytes"])


def _built(candidate: Candidate, name: str, umask: int, zone: str, seed: str) -> dict[str, Path]:
    folder = candidate.work / name
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", f"{folder / 'built'}"]
    told = {"SOURCE_DATE_EPOCH": str(candidate.epoch), "TZ": zone, "PYTHONHASHSEED": seed}
    before = os.umask(umask)
    try:
        git(candidate.work, "clone", "--quiet", str(candidate.tree), str(folder / "tree"))
        run(command, cwd=folder / "tree", env=told)
    finally:
        os.umask(before)
    return {path.name: path for path in (folder / "built").iterdir()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def twine(candidate: Candidate) -> str:
    """What the index would refuse, or show otherwise than meant."""
    command = [sys.executable, "-m", "twine", "check", "--strict"]
    run([*command, candidate.wheel, candidate.sdist], cwd=candidate.work)
    return "twine check --strict: nothing to tell"


def sdist(candidate: Candidate) -> str:
    """A wheel made of the sdist alone is the wheel."""
    folder = candidate.work / "of-sdist"
    folder.mkdir()
    run(["tar", "-xf", candidate.sdist, "--strip-components=1"], cwd=folder)
    told = {"SOURCE_DATE_EPOCH": str(candidate.epoch)}
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", "built", "."]
    run(command, cwd=folder, env=told)
    (built,) = (folder / "built").iterdir()
    if built.name != candidate.wheel.name or _digest(built) != _digest(candidate.wheel):
        raise StepError(f"{built.name}, made of the sdist, isn't {candidate.wheel.name}")
    return "the wheel that its tree makes, without git, has the same bytes"


def install(candidate: Candidate) -> str:
    """An empty environment and `pip install`: how much, how long, and what comes with it."""
    folder = candidate.work / "installed"
    environment(folder, candidate.wheel)  # what pip downloads is in its cache from here on
    start = time.monotonic()
    python = environment(folder, candidate.wheel)
    seconds = time.monotonic() - start
    files = [path for path in folder.rglob("site-packages/**/*") if path.is_file()]
    compiled = sum(path.stat().st_size for path in files if path.suffix == ".pyc")
    size = sum(path.stat().st_size for path in files) - compiled
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps(sorted(d.metadata['Name'].lower() for d in m.distributions())))"
    )
    names = json.loads(run([python, "-c", code], cwd=candidate.work))
    if "torch" in names:
        raise StepError("pip brings torch")
    told = f"{size / 1e6:.1f} MB in {seconds:.1f} s (and {compiled / 1e6:.1f} MB compiled by pip)"
    if size > LARGEST:
        raise StepError(f"{told}: more than {LARGEST / 1e6:.0f} MB")
    return f"{told}: {', '.join(names)}"


def start(candidate: Candidate) -> str:
    """`devlint --version` beside Python itself, in turns."""
    folder = candidate.work / "installed" / "bin"
    shown = run([folder / "devlint", "--version"], cwd=candidate.work).strip()
    if shown != f"devlint {candidate.version}":
        raise StepError(f"`devlint --version` says {shown!r}")
    commands = ([f"{folder / 'python'}", "-c", "pass"], [f"{folder / 'devlint'}", "--version"])
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(15):
        for command, taken in zip(commands, times, strict=True):
            began = time.perf_counter()
            subprocess.run(
                command,
                cwd=candidate.work,
                env=surroundings(),
                check=True,
                stdout=subprocess.DEVNULL,
            )
            taken.append(time.perf_counter() - began)
    bare, own = map(statistics.median, times)
    told = f"{shown}: {own * 1000:.0f} ms, Python alone {bare * 1000:.0f} ms (medians of 15)"
    if own - bare > SLOWEST:
        raise StepError(f"{told}: more than {SLOWEST * 1000:.0f} ms above it")
    return told


def sbom(candidate: Candidate) -> str:
    """What an installation consists of, in CycloneDX."""
    program, python = tool("cyclonedx-py"), candidate.work / "installed" / "bin" / "python"
    target = candidate.out / f"devlint-{candidate.version}.cdx.json"
    options = ["--pyproject", f"{candidate.tree / 'pyproject.toml'}", "--mc-type", "application"]
    options += ["--output-reproducible", "--output-format", "JSON", "--output-file", f"{target}"]
    run([program, "environment", *options, python], cwd=candidate.work)
    bill = json.loads(target.read_text("utf-8"))
    components = {part["name"]: part for part in bill["components"]}
    own = bill["metadata"]["component"]
    own["version"] = candidate.version  # pyproject.toml leaves it to the tag
    target.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    bare = [name for name, part in components.items() if not part.get("version")]
    if bare or own["name"] != "devlint" or "libcst" not in components:
        raise StepError(f"{target.name} lacks versions or packages: {', '.join(bare)}")
    return f"CycloneDX {bill['specVersion']}: {len(components)} packages beside devlint"
