"""Runs a program before and after its migration, on devices that are emulated."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(\d(\.\d+)?)?(\.exe)?")
_FLAGS = frozenset({"-u", "-B", "-O", "-I"})
_LARGEST = 16_000_000
_SKIPPED = frozenset({".git", ".hg", "__pycache__", ".venv", "venv", "node_modules", ".tox"})
_SEED = "0"


class CannotVerifyError(Exception):
    """The program can't be run as it has to be; the message says why."""


@dataclass(frozen=True, slots=True)
class Command:
    """`A=1 python train.py --epochs 1`: what is behind `python`, and what is put before it."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """How one run has ended. `losses` are those that were differentiated, in their order."""

    name: str
    code: int
    losses: tuple[float, ...]
    tail: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What the runs of a program say of its migration."""

    runs: tuple[Run, ...]
    objections: tuple[str, ...]
    notes: tuple[str, ...]


def command(text: str) -> Command:
    """Read a command line. Raises `CannotVerifyError` for all but a program of Python."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CannotVerifyError(f"`{text}` can't be read: {error}") from None
    environment = []
    while words and (found := _ASSIGNMENT.fullmatch(words[0])):
        environment.append((found[1], found[2]))
        del words[0]
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
        raise CannotVerifyError(
            f"`{text}` doesn't run Python: it is `python SCRIPT ...` or `python -m MODULE ...`"
        )
    del words[0]
    while words and words[0] in _FLAGS:
        del words[0]
    if not words or (words[0].startswith("-") and words[0] != "-m"):
        raise CannotVerifyError(f"`{text}` names no script, and no module with -m")
    return Command(tuple(words), tuple(environment))


def verify(
    command: Command, root: str, changed: Mapping[str, bytes], progress: Callable[[str], None]
) -> Verified:
    """Run a program as it is on emulated CUDA, and with the files that are `changed` on emulated
    CUDA, on emulated MPS and on the plain CPU.

    Each run has a copy of the folder `root` for itself, so none writes into the project; it starts
    in the current folder, below `root`. Raises
    `CannotVerifyError` where that can't be copied, or torch is missing.
    """
    inside = os.path.join(root, "")
    outside = [path for path in changed if not path.startswith(inside)]
    if outside:
        raise CannotVerifyError(f"{outside[0]} is outside of {root}, which the runs have a copy of")
    runs = []
    plan: tuple[tuple[str, Mapping[str, bytes], str], ...] = (
        ("before, on emulated cuda", {}, "cuda:1"),
        ("after, on emulated cuda", changed, "cuda:1"),
        ("after, on emulated mps", changed, "mps"),
        ("after, on the CPU", changed, ""),
    )
    for name, files, kind in plan:
        progress(name)
        runs.append(_run(command, root, files, name, kind))
        if len(runs) == 1 and runs[0].code:
            break
    return _judged(runs)


def _judged(runs: Sequence[Run]) -> Verified:
    before, *after = runs
    if before.code:
        text = f"it ends with {before.code} before anything is changed, on emulated cuda"
        return Verified(tuple(runs), (text,), ())
    objections = [f"{run.name}: it ends with {run.code}" for run in after if run.code]
    notes = []
    cuda = after[0]
    if not cuda.code and before.losses != cuda.losses:
        place = _first_difference(before.losses, cuda.losses)
        objections.append(f"{cuda.name}: {place}")
    if not before.losses:
        notes.append("no loss was differentiated in its process, so none could be compared")
    return Verified(tuple(runs), tuple(objections), tuple(notes))


def _first_difference(before: Sequence[float], after: Sequence[float]) -> str:
    for number, (old, new) in enumerate(zip(before, after, strict=False), start=1):
        if old != new:
            return f"loss {number} is {new!r}, and was {old!r} before"
    return f"{len(after)} losses, and {len(before)} before"


def _run(command: Command, root: str, files: Mapping[str, bytes], name: str, kind: str) -> Run:
    with tempfile.TemporaryDirectory(prefix="devlint-verify-") as folder:
        copy = os.path.join(folder, os.path.basename(root) or "project")
        _copy(root, copy, files)
        record = os.path.join(folder, "losses.jsonl")
        words = [sys.executable, "-m", "devlint", "run", "--guard", "off"]
        words += ["--seed", _SEED, "--losses", record]
        words += ["--emulate", kind] if kind else []
        words += command.words if command.words[0] == "-m" else ("--", *command.words)
        environment = os.environ | dict(command.environment)
        if not kind:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        process = subprocess.run(
            words,
            cwd=os.path.join(copy, os.path.relpath(os.path.realpath(os.getcwd()), root)),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        tail = process.stdout.decode("utf-8", "replace").replace(copy, root)
        return Run(name, process.returncode, tuple(_losses(record)), tail)


def _losses(path: str) -> Iterator[float]:
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                yield from json.loads(line)
    except FileNotFoundError:
        return


def _copy(root: str, target: str, files: Mapping[str, bytes]) -> None:
    """Copy a project: its folders, its small files, links to its large ones. What has been changed
    comes from `files`, by their paths."""
    try:
        for folder, folders, names in os.walk(root):
            folders[:] = [each for each in folders if each not in _SKIPPED]
            inside = os.path.join(target, os.path.relpath(folder, root))
            os.makedirs(inside, exist_ok=True)
            for name in (*names, *(each for each in folders if _is_link(folder, each))):
                path, copy = os.path.join(folder, name), os.path.join(inside, name)
                if path in files:
                    with open(copy, "wb") as file:
                        file.write(files[path])
                elif os.path.isfile(path) and os.path.getsize(path) <= _LARGEST:
                    shutil.copy(path, copy)
                elif os.path.exists(path):
                    os.symlink(path, copy)
    except OSError as error:
        place = error.filename or root
        raise CannotVerifyError(f"{place}: can't be copied: {error.strerror}") from error


def _is_link(folder: str, name: str) -> bool:
    return os.path.islink(os.path.join(folder, name))
