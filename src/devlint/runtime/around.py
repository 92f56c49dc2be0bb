"""What is on while `devlint run` runs a program, and what is told of it at the end."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import multiprocessing.spawn
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from devlint.escaping import json_text, line
from devlint.runtime.ending import at_end, rank_line, write

if TYPE_CHECKING:
    from devlint.runtime.guard import Guard
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
    """The folder for them as JSON and as a picture."""

    @property
    def logs_transfers(self) -> bool:
        """Whether copies between devices are noted."""
        return bool(self.transfers or self.transfers_file is not None or self.report is not None)


def in_words(limit: str, count: int) -> str:
    """Something that isn't emulated, and how often the program used it."""
    return f"{limit} ({'once' if count == 1 else f'{count} times'})"


@dataclass(slots=True)
class Around:
    """The emulation and the guard of a program, from before its first line to behind its last."""

    request: Request
    emulation: Emulation | None = None
    guard: Guard | None = None
    log: TransferLog | None = None
    file: TextIO | None = None
    folder: Path | None = None
    stream: TextIO | None = field(default_factory=lambda: sys.stderr)
    """The program may have put something else into its place by the time it ends."""
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """Done only where there is no program: what runs last may still use the devices."""

    def begin(self) -> None:
        """Turn everything on.

        Raises:
            CannotRunError: where it can't be; nothing is left on.
        """
        # Before torch and the program are imported: what is registered first is called last.
        self.undo.callback(at_end(self.tell))
        try:
            self._turn_on()
        except BaseException:
            self.give_up()
            raise

    def give_up(self) -> None:
        """There is no program to tell of."""
        self.undo.close()

    def _turn_on(self) -> None:
        request = self.request
        if request.emulate is None and request.guard == "off":
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
        if request.guard != "off":
            self._guard()

    def _emulation(self, kind: str) -> Emulation:
        from devlint.runtime.virtual import emulate

        try:
            return emulate(kind, transfers=self.log)
        except ValueError as error:
            raise CannotRunError(str(error)) from None

    def _guard(self) -> None:
        from devlint.runtime.guard import Guard
        from devlint.runtime.guard.uncaught import explained

        mode = self.request.guard
        self.guard = guard = Guard((), mode, transfers=self.log if mode == "trace" else None)
        self.undo.enter_context(guard)
        # The program's own end is shown by `show`, which leaves `sys.excepthook` to the program.
        self.undo.enter_context(explained(guard.told, program=False))
        self.undo.enter_context(_guard_in_spawned(mode))

    def _open(self) -> None:
        # Now, for the program may go to another folder, and better now than after hours.
        name, folder = self.request.transfers_file, self.request.report
        if folder is not None:
            if importlib.util.find_spec("matplotlib") is None:
                raise CannotRunError("--report needs matplotlib: pip install 'devlint[report]'")
            self.folder = _writable_folder(folder)
        if name is None:
            return
        path, rank = Path(name), _rank()
        if rank:
            path = path.with_name(f"{path.stem}.{rank}{path.suffix}")
        try:
            self.file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise _unwritable(name, error) from None
        self.undo.callback(self.file.close)

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

        show(error, hook, None if self.guard is None else self.guard.told)

    def tell(self) -> None:
        """Say what wasn't emulated, and which copies were made."""
        text = ""
        if self.emulation is not None:
            for limit, count in self.emulation.limits.items():
                text += f"devlint: not emulated: {in_words(limit, count)}\n"
        if self.log is not None and self.request.transfers:
            text += self.log.table()
        if text and self.guard is not None:
            text = rank_line() + text
        write(self.stream, text)
        if self.log is not None:
            self._write(self.log)

    def _write(self, log: TransferLog) -> None:
        if self.file is not None:
            try:
                with self.file as file:
                    file.write(json_text(log.as_record(), indent=2) + "\n")
            except OSError as error:
                self._complain(_unwritable(self.request.transfers_file, error))
        if self.folder is not None:
            from devlint.runtime.picture import write_report

            try:
                write_report(log, self.folder)
            except OSError as error:
                self._complain(_unwritable(self.request.report, error))
            except ImportError as error:
                self._complain(f"{self.request.report}: no picture was drawn: {error}")

    def _complain(self, problem: object) -> None:
        write(self.stream, line(f"devlint: {problem}") + "\n")


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        text = "running a program needs torch: pip install 'devlint[runtime]'"
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


def _unwritable(name: str | None, error: OSError) -> CannotRunError:
    return CannotRunError(f"{name}: can't be written: {error.strerror or error}")


# --- processes that the program starts


class _Start:
    """Unpickled by a spawned process before it imports the program: starts the guard there."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def __reduce__(self) -> tuple[Any, ...]:
        return _start_for_good, (self._mode,)


def _start_for_good(mode: str) -> None:
    from devlint.runtime.guard import install_guard

    install_guard(mode)


@contextlib.contextmanager
def _guard_in_spawned(mode: str) -> Iterator[None]:
    """Have processes that are started afresh, and so share nothing, guarded as well."""
    prepare = multiprocessing.spawn.get_preparation_data

    @functools.wraps(prepare)
    def with_guard(name: str) -> dict[str, Any]:
        # Behind the rest: where there is an emulation, the guard is to find it.
        return {**prepare(name), "devlint_guard": _Start(mode)}

    multiprocessing.spawn.get_preparation_data = with_guard
    try:
        yield
    finally:
        if multiprocessing.spawn.get_preparation_data is with_guard:
            multiprocessing.spawn.get_preparation_data = prepare
