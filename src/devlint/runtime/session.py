"""What is on while `devlint run` runs a program, and what is told of it at the end."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from devlint.runtime.ending import at_end, rank_line, write
from devlint.runtime.gathering import Gathering, guard_in_spawned
from devlint.safety.escaping import json_text, line
from devlint.safety.writing import check_writable, overwrite

if TYPE_CHECKING:
    from devlint.runtime.collected import Collection
    from devlint.runtime.guard import Guard
    from devlint.runtime.summary import Steps
    from devlint.runtime.transfers import TransferLog
    from devlint.runtime.virtual import Emulation


class CannotRunError(Exception):
    """The program can't be started; the text says why, on one line."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to run, and what to tell of it."""

    name: str
    """Of a script, a folder, a zip file or a module; `-` for standard input."""
    arguments: Sequence[str]
    is_module: bool
    emulate: str | None = None
    """`cuda`, `cuda:2`, ...; nothing for the machine as it is."""
    guard: str = "strict"
    """The guard's mode."""
    transfers: bool = False
    """Whether to print a table of the copies between devices when the program has ended."""
    transfers_file: str | None = None
    """Where to write them as JSON."""
    report: str | None = None
    """The folder for them as JSON and as a page."""
    output_format: str = "text"
    """How what was collected is written."""
    output_file: str | None = None
    """Where it is written besides."""
    seed: int | None = None
    """Where the generators of random numbers start."""
    losses: str | None = None
    """Where the losses are written whose gradients are computed."""

    @property
    def logs_transfers(self) -> bool:
        """Whether copies between devices are noted."""
        return bool(self.transfers or self.transfers_file is not None or self.report is not None)


def seed_all(seed: int) -> None:
    """Let the generators of Python, NumPy and PyTorch start from a number."""
    import random

    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    if importlib.util.find_spec("numpy") is not None:
        importlib.import_module("numpy").random.seed(seed)


def in_words(limit: str, count: int) -> str:
    """Something that isn't emulated, and how often the program used it."""
    return f"{limit} ({'once' if count == 1 else f'{count} times'})"


@dataclass(slots=True)
class Session:
    """The emulation and the guard of a program, from before its first line to behind its last."""

    request: Request
    emulation: Emulation | None = None
    guard: Guard | None = None
    log: TransferLog | None = None
    gathering: Gathering | None = None
    steps: Steps | None = None
    file: str | None = None
    output: str | None = None
    folder: Path | None = None
    stream: TextIO | None = field(default_factory=lambda: sys.stderr)
    """The program may have put something else into its place by the time it ends."""
    root: Path = field(default_factory=Path.cwd)
    succeeded: bool = False
    """Whether the program has ended without an error."""
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """Done only where there is no program: what runs last may still use the devices."""

    def begin(self) -> None:
        """Turn everything on.

        Raises:
            CannotRunError: where it can't be; nothing is left on.
        """
        # Before torch and the program are imported: what is registered first is called last.
        self.undo.callback(at_end(self.report))
        try:
            self._turn_on()
        except BaseException:  # whatever ends it, Ctrl-C too, what is on already goes off
            self.give_up()
            raise

    def give_up(self) -> None:
        """There is no program to tell of."""
        self.undo.close()

    def _turn_on(self) -> None:
        request = self.request
        starts = request.seed is not None or request.losses is not None
        if request.emulate is None and request.guard == "off" and not starts:
            return
        _need_torch()
        if request.logs_transfers:
            from devlint.runtime.transfers import TransferLog

            self.log = TransferLog()
        emulation = None if request.emulate is None else self._emulation(request.emulate)
        self._open()
        if emulation is not None:
            self.undo.enter_context(emulation)
            self.emulation = emulation
        self._count_steps(emulation, self.log)
        if request.guard != "off":
            self._guard()
        if request.seed is not None:
            seed_all(request.seed)
        if request.losses is not None:
            self._record(request.losses)

    def _record(self, path: str) -> None:
        from devlint.runtime.losses import Losses

        try:
            self.undo.enter_context(Losses(path))
        except OSError as error:
            raise CannotRunError(f"{path}: can't be written: {error.strerror}") from None

    def _emulation(self, kind: str) -> Emulation:
        from devlint.runtime.virtual import emulate

        try:
            return emulate(kind, transfers=None if self._is_traced else self.log)
        except ValueError as error:
            raise CannotRunError(str(error)) from None

    @property
    def _is_traced(self) -> bool:
        """Whether the guard notes copies, and so the emulation needn't."""
        return self.request.guard in ("trace", "collect")

    def _guard(self) -> None:
        from devlint.runtime.guard import Guard
        from devlint.runtime.guard.uncaught import explained

        mode = self.request.guard
        folder = ""
        if mode == "collect":
            self.gathering = Gathering()
            self.undo.callback(self.gathering.close)
            folder = self.gathering.folder
        self.guard = guard = Guard(
            (),
            mode,
            transfers=self.log if self._is_traced else None,
            collected=None if self.gathering is None else self.gathering.collection,
        )
        self.undo.enter_context(guard)
        # The program's own end is shown by `show`, which leaves `sys.excepthook` to the program.
        self.undo.enter_context(explained(guard.explained_error, program=False))
        self.undo.enter_context(guard_in_spawned(mode, folder))

    def _open(self) -> None:
        # Now, for the program may go to another folder, and better now than after hours.
        folder = self.request.report
        if folder is not None:
            self.folder = _writable_folder(folder)
        self.file = _writable_file(self.request.transfers_file)
        self.output = _writable_file(self.request.output_file)

    # --- the end

    def show(self, error: BaseException, hook: Callable[..., Any]) -> None:
        """Show an error that ends the program, with what is known of it.

        Args:
            error: the error.
            hook: shows it, as `sys.excepthook` would.
        """
        if self.emulation is None and self.guard is None:
            hook(type(error), error, error.__traceback__)
            return
        from devlint.runtime.guard.uncaught import show

        show(error, hook, None if self.guard is None else self.guard.explained_error)

    def ended(self) -> int:
        """The program has ended without an error of its own; returns the exit code."""
        self.succeeded = True
        if self.gathering is None:
            return 0
        self.gathering.finish()
        return 1 if self.gathering.collection else 0

    def report(self) -> None:
        """Say what wasn't emulated, which copies were made, and what was collected."""
        text = ""
        if self.emulation is not None:
            for limit, count in self.emulation.limits.items():
                text += f"devlint: not emulated: {in_words(limit, count)}\n"
        if self.log is not None and self.request.transfers:
            text += self.log.table()
        if self.gathering is not None:
            self.gathering.take_in()
            self.gathering.close()
            text += self.gathering.collection.text()
            self._write_collected(self.gathering.collection)
        if self.succeeded and self.guard is not None:
            from devlint.runtime.summary import success_line

            text += success_line(self.guard, self.emulation, self.steps)
        if text and self.guard is not None:
            text = rank_line() + text
        write(self.stream, text)
        if self.log is not None:
            self._write(self.log)

    def _count_steps(self, emulation: Emulation | None, log: TransferLog | None) -> None:
        if emulation is None and log is None:
            return
        from devlint.runtime.summary import Steps

        copies = (lambda: 0) if emulation is None else (lambda: emulation.copies)
        steps = Steps(copies) if log is None else Steps(copies, log.stepped)
        self.undo.callback(steps.remove)
        if emulation is not None:  # copies are counted by it
            self.steps = steps

    def _write_collected(self, collection: Collection) -> None:
        if self.output is not None:
            from devlint.runtime.collected_report import rendered

            text = rendered(self.request.output_format, collection, self.root)
            with self._complaining(self.request.output_file):
                overwrite(self.output, text.encode())

    def _write(self, log: TransferLog) -> None:
        if self.file is not None:
            with self._complaining(self.request.transfers_file):
                overwrite(self.file, f"{json_text(log.as_record(), indent=2)}\n".encode())
        if self.folder is not None:
            from devlint.runtime.run_report import write_report

            with self._complaining(self.request.report):
                write_report(log, self.folder, self.root)

    @contextlib.contextmanager
    def _complaining(self, name: str | None) -> Iterator[None]:
        """Say why something could not be written, instead of raising it."""
        try:
            yield
        except OSError as error:
            write(self.stream, line(f"devlint: {_unwritable(name, error)}") + "\n")


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        text = "running a program needs torch: pip install torch"
        raise CannotRunError(text) from None


def _rank() -> str:
    """What the files of one of several processes are called by; empty where it is alone."""
    return f"rank{os.environ['RANK']}" if rank_line() else ""


def _writable_folder(name: str) -> Path:
    folder = Path.cwd() / name / _rank()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(name, error) from None
    return folder


def _writable_file(name: str | None) -> str | None:
    """The whole path of a file that is written at the end: until then it stays as it is."""
    if name is None:
        return None
    path, rank = Path.cwd() / name, _rank()
    if rank:
        path = path.with_name(f"{path.stem}.{rank}{path.suffix}")
    try:
        check_writable(str(path))
    except OSError as error:
        raise _unwritable(name, error) from None
    return str(path)


def _unwritable(name: str | None, error: OSError) -> CannotRunError:
    return CannotRunError(f"{name}: can't be written: {error.strerror or error}")
