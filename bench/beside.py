"""Whole programs on the emulated accelerator beside this machine's own.

    python bench/beside.py --jobs 16                     the programs of --generate, and all others
    python bench/beside.py --generate 2000 --only generated
    python bench/beside.py --json seen.json              what each came to on the real one

The programs: the blocks of the rules' pages and of docs/, the programs of the mistakes*.md with
their mistakes and without, and those that bench/grammar.py writes. Each runs to its end or to its
error, once here and once on as many emulated devices as there are. Compared are the type and the
first line of the error, and the line of the program that raises. What a program imports and
nobody has installed leaves it out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path

import mistakes
import torch
from answering import accelerator, answer_lines, ask_all
from grammar import MAIN
from grammar_programs import generated

from devlint import emulate
from devlint.config import rulebook

HERE = Path(__file__).resolve().parent
SEED = 4242
Ended = dict[str, str]
"""How a program ended: its `error`, the line it was raised `at`, or why it is `skipped`."""


@cache
def programs(count: int) -> dict[str, Mapping[str, str]]:
    """All programs by name, each as its files."""
    found: dict[str, Mapping[str, str]] = {}
    for page in rulebook.pages().values():
        for block in page.blocks:
            if block.is_python:
                found[f"page {page.code} {block.row} {block.kind}"] = {MAIN: block.text}
    for path in sorted(HERE.glob("mistakes*.md")):
        for case in mistakes.planted(path, lambda _: None):
            if "setup.py" not in case.files and not case.alone:
                found[f"{path.stem} {case.title}"] = case.files
                found[f"{path.stem} {case.title}, right"] = case.repaired
    for number in range(count):
        found[f"generated {SEED} {number}"] = generated(SEED, number).files
    return found


def ended(files: Mapping[str, str]) -> Ended:
    """Run a program in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with mistakes.inside(folder, files):
            try:
                _execute(folder / MAIN)
            except ModuleNotFoundError as error:
                return {"skipped": str(error)}
            except BaseException as error:
                rows = [
                    f"{Path(frame.f_code.co_filename).name}:{row}"
                    for frame, row in traceback.walk_tb(error.__traceback__)
                    if frame.f_code.co_filename.startswith(str(folder))
                ]
                text = f"{type(error).__name__}: {error}".partition("\n")[0]
                return {"error": text.replace(str(folder), "."), "at": rows[-1] if rows else ""}
    return {"error": "", "at": ""}


def _execute(path: Path) -> None:
    quiet = io.StringIO()
    torch.manual_seed(0)
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        warnings.catch_warnings(),
        _settled(),
    ):
        warnings.simplefilter("ignore")
        exec(compile(path.read_bytes(), str(path), "exec"), {"__name__": "__main__"})


@contextlib.contextmanager
def _settled() -> Iterator[None]:
    """Undo what a program may set for its process."""
    argv, environment = sys.argv, dict(os.environ)
    sys.argv = ["main.py"]
    try:
        yield
    finally:
        sys.argv = argv
        os.environ.clear()
        os.environ.update(environment)
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def work(machine: str, count: int) -> None:
    """Answer the names of programs with how they ended."""
    torch.set_num_threads(1)
    devices = torch.cuda.device_count() or 1
    there = nullcontext if machine == "cuda" else partial(emulate, "cuda", count=devices)

    def answered(name: str) -> Ended:
        with there():
            return ended(programs(count)[name])

    answer_lines(answered)


def run(names: list[str], machine: str, count: int, jobs: int) -> dict[str, Ended]:
    command = [sys.executable, __file__, "--worker", machine, "--generate", str(count)]
    found = {}
    for name, answer in zip(names, ask_all(names, command, jobs), strict=True):
        answer.pop("works", None)
        found[name] = {"error": f"Crash: {answer['crash']}"} if "crash" in answer else answer
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--generate", type=int, default=1000, help="so many generated programs")
    parser.add_argument("--only", default="", help="programs whose names begin so")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="write what was seen there")
    parser.add_argument("--worker", choices=["cuda", "emulated"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.generate)
        return 0
    if not torch.cuda.is_available():
        parser.error("torch finds no CUDA device on this machine")
    names = [name for name in programs(options.generate) if name.startswith(options.only)]
    real = run(names, "cuda", options.generate, options.jobs)
    emulated = run(names, "emulated", options.generate, options.jobs)
    counts: Counter[str] = Counter()
    different = {}
    for name in names:
        kind = name.partition(" ")[0]
        if "skipped" in real[name] or "skipped" in emulated[name]:
            counts[f"{kind}: left out"] += 1
            continue
        counts[f"{kind}: programs"] += 1
        counts[f"{kind}: end by an error"] += bool(real[name]["error"])
        same = real[name] == emulated[name]
        counts[f"{kind}: the same on both"] += same
        if not same:
            different[name] = {"real": real[name], "emulated": emulated[name]}
            print(f"{name}\n      real: {real[name]}\n  emulated: {emulated[name]}")
    for label, number in sorted(counts.items()):
        print(f"{number:6} {label}")
    if options.json:
        record = {**accelerator(), "counts": counts, "different": different}
        options.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return min(len(different), 1)


if __name__ == "__main__":
    sys.exit(main())
