"""Runs a generated program on an emulated accelerator, lints it, and compares the two."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from grammar import MAIN, Program
from oracle import PLACE, Line, Outcome, Place, labels
from oracle_lines import Lines

import devlint
from devlint import emulate
from devlint.crashes.messages import may_be_about_devices
from devlint.model.findings import Finding, Level
from devlint.project.plan import prepare
from devlint.runtime.explaining.caught import explain_error
from devlint.runtime.ported.code import Code
from devlint.runtime.virtual.running import running_world
from devlint.verdict.score import THRESHOLD

CLAIMS = ("DEV2", "DEV4")
"""The rules that claim that something goes wrong on a device."""
SETTINGS = {"pedantic": True, "select": ["DEV2", "DEV3", "DEV4"]}


@dataclass(frozen=True)
class Run:
    """How a program ended."""

    error: str
    """The first line of the error, or "" where there was none."""
    is_about_devices: bool
    lines: frozenset[Line]
    """The lines of the program that the error names."""
    at: Line
    """The innermost of them that was running."""
    ran: Mapping[Line, bool]
    """The lines that have called torch, with whether that was ever with a tensor of the device."""
    rows: frozenset[Line]
    """All lines that have run."""


@dataclass(frozen=True)
class Judged:
    """A finding, or an error that no finding names, and what its run says of it."""

    outcome: Outcome
    code: str
    """Of the rule; of an error that is missed, of the rule that the explanation names."""
    message: str
    at: Line
    origin: Line
    """Where its trace begins."""
    sorts: tuple[str, ...] = ()
    is_shown: bool = True
    """Whether it needs no `--pedantic`."""


@dataclass(frozen=True)
class Result:
    """What came of a program."""

    run: Run
    judged: tuple[Judged, ...]

    @property
    def is_broken(self) -> bool:
        """Whether it ended by an error that isn't about devices: the grammar's fault."""
        return bool(self.run.error) and not self.run.is_about_devices

    def disagreements(self) -> Iterator[Judged]:
        """False findings of a program that ends well, and the error that no finding names."""
        for each in self.judged:
            if each.outcome == "missed" or self._is_false(each):
                yield each

    def _is_false(self, each: Judged) -> bool:
        """Whether nothing has gone wrong at a finding that claims so, though it was tried."""
        was_tried = each.outcome == "ran" and each.at in self.run.rows
        return was_tried and not self.run.error and each.code.startswith(CLAIMS)


@contextlib.contextmanager
def machine() -> Iterator[None]:
    """Two emulated GPUs; many programs may run on them."""
    torch.set_num_threads(1)
    with emulate("cuda", 2):
        yield
    prepare.cache_clear()  # it remembers the files of all these programs


def tried(program: Program) -> Result:
    """Run and lint a program, on a machine that is there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, text in program.files.items():
            (folder / file).write_text(text)
        (folder / "pyproject.toml").write_text("")
        run = _run(folder, program)
        found = devlint.check(str(folder), SETTINGS)
    return Result(run, tuple(_judged(folder, found, run)))


def _judged(folder: Path, found: list[Finding], run: Run) -> Iterator[Judged]:
    errors = [each for each in found if each.level is Level.ERROR]
    kept = [_place(folder, each) for each in errors]
    causes = []
    if run.error and run.is_about_devices:
        causes = [Place(*run.at, "", run.error, run.lines)]
    for (place, outcome), finding in zip(
        labels(kept, causes, run.ran), [*errors, None, None], strict=False
    ):
        if finding is None:
            yield Judged(outcome, place.code, place.message, run.at, run.at)
            continue
        trace = [
            (_named(folder, step.filename or finding.filename), step.span.row)
            for step in finding.trace
        ]
        at = _named(folder, finding.filename), finding.span.row
        origin = trace[0] if trace else at
        is_shown = finding.score >= THRESHOLD
        yield Judged(
            outcome, finding.code, finding.message, at, origin, tuple(finding.sorts), is_shown
        )


def _named(folder: Path, file: str) -> str:
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def _place(folder: Path, finding: Finding) -> Place:
    file = _named(folder, finding.filename)
    own = ((file, row) for row in range(finding.span.row, finding.span.end_row + 1))
    steps = (
        (_named(folder, step.filename or finding.filename), step.span.row) for step in finding.trace
    )
    return Place(file, finding.span.row, finding.code, finding.message, frozenset((*own, *steps)))


def _run(folder: Path, program: Program) -> Run:
    world = running_world()
    assert world is not None
    functions, handlers = world.functions, world.functions.handlers
    functions.handlers = lines = Lines(dict(handlers), Code(str(folder)))
    error, about, named, at = "", False, frozenset[Line](), (MAIN, 0)
    rows = set[Line]()
    try:
        with _noted(str(folder), rows):
            _execute(folder)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}".partition("\n")[0]
        about = may_be_about_devices(str(raised))
        frames = [
            (Path(frame.f_code.co_filename).name, row)
            for frame, row in traceback.walk_tb(raised.__traceback__)
            if frame.f_code.co_filename.startswith(str(folder))
        ]
        at = frames[-1] if frames else at
        told = explain_error(raised) if about else None
        texts = [] if told is None else [text for _, text in told.explanation.lines]
        places = (
            (Path(file).name, int(row)) for text in texts for file, row in PLACE.findall(text)
        )
        named = frozenset((*frames, *places))
    finally:
        functions.handlers = handlers
        for module in [n for n in sys.modules if f"{n}.py" in program.files]:
            del sys.modules[module]
        linecache.clearcache()
    ran = {(Path(file).name, row): is_on for (file, row), is_on in lines.on_device.items()}
    return Run(error, about, named, at, ran, frozenset(rows))


@contextlib.contextmanager
def _noted(folder: str, rows: set[Line]) -> Iterator[None]:
    """Note the lines that run in the files of a folder."""

    def local(frame: FrameType, event: str, arg: object) -> Any:
        rows.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        return local

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        return local if frame.f_code.co_filename.startswith(folder) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _execute(folder: Path) -> None:
    quiet = io.StringIO()
    path = folder / MAIN
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    before = sys.path, sys.argv, sys.dont_write_bytecode
    torch.manual_seed(0)
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        sys.path, sys.argv = [str(folder), *sys.path], [str(path)]
        sys.dont_write_bytecode = True
        try:
            exec(code, {"__name__": "__main__", "__file__": str(path)})
        finally:
            sys.path, sys.argv, sys.dont_write_bytecode = before


def without_numbers(message: str) -> str:
    """A message with its numbers and names of variables left out, to group by."""
    return re.sub(r"`[^`]*`", "`...`", re.sub(r"\d+", "N", message))
