"""Running a program under an emulation, and otherwise as `python` itself would run it.

The program gets its own `__main__`, `sys.argv` and `sys.path[0]`; how it ends is left to Python.
So its threads and its own `atexit` functions still believe in the devices.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import importlib.util
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
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
    emulate: str
    """`cuda`, `cuda:2`, ..."""
    transfers: bool = False
    """Whether to print a table of the copies between devices when the program has ended."""
    transfers_file: str | None = None
    """Where to write them as JSON."""


@dataclass(frozen=True, slots=True)
class _Main:
    """What becomes the module `__main__`."""

    code: CodeType
    names: dict[str, Any]
    """What Python itself puts into that module."""


def run(request: Request) -> None:
    """Run a program until its last line. What it raises is raised here.

    Raises:
        CannotRunError: where there is nothing to run, or no emulation to run it under.
    """
    sys.argv = ["-m" if request.is_module else request.name, *request.arguments]
    main = None
    if request.is_module:
        _put_first(str(Path.cwd()))
    else:
        with _AsIfAlone():
            main = _read(request.name)
    report = _Report(request)
    # Before torch and the program are imported: what is registered first is called last.
    atexit.register(report.tell)
    try:
        report.begin()
        if main is None:  # only now, because the packages around a module are imported for it
            with _AsIfAlone():
                main = _find(request.name)
            sys.argv[0] = main.names["__file__"]
    except CannotRunError:
        report.give_up()
        raise
    module = ModuleType("__main__")
    module.__dict__.update(main.names, __builtins__=builtins)
    sys.modules["__main__"] = module
    with _AsIfAlone():
        exec(main.code, module.__dict__)


# --- What to run --------------------------------------------------------------------------------


def _put_first(folder: str, even_if_safe: bool = False) -> None:
    """Have modules looked for in a folder first, unless Python was told not to (`-P`, `-I`)."""
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):  # 3.10 has no `safe_path`
        sys.path[0] = folder  # where devlint was started from, which means nothing to the program
    elif even_if_safe:
        sys.path.insert(0, folder)


def _read(name: str) -> _Main:
    """The code of a script, a folder or zip file with a `__main__`, or standard input."""
    if name == "-":
        _put_first("")
        code = compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)
        return _Main(code, {"__file__": "<stdin>", "__loader__": BuiltinImporter})
    path = str(Path.cwd() / name)
    finder = pkgutil.get_importer(path)
    if finder is not None:
        spec = finder.find_spec("__main__")
        if spec is None:
            raise CannotRunError(f"{name}: there is no `__main__` in it to run")
        _put_first(path, even_if_safe=True)
        return _from_spec(spec)
    try:
        main = _from_file(path)
    except OSError as error:
        raise CannotRunError(f"{name}: {error.strerror or error}") from None
    _put_first(str(Path(path).resolve().parent))
    return main


def _from_file(path: str) -> _Main:
    loader: SourceFileLoader | SourcelessFileLoader
    if path.endswith(".pyc"):
        loader = SourcelessFileLoader("__main__", path)
        code = loader.get_code("__main__")
    else:
        loader = SourceFileLoader("__main__", path)
        # Not `get_code`: it writes bytecode beside the source, which is not done for scripts.
        code = loader.source_to_code(loader.get_data(path), path)
    assert code is not None
    return _Main(code, {"__file__": path, "__cached__": None, "__loader__": loader})


def _find(name: str) -> _Main:
    """The code of a module by its name; of a package, that of its `__main__`."""
    spec = _spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.__main__")
        if spec is None:
            raise CannotRunError(f"the package `{name}` has no module `__main__` to run")
    if spec is None or spec.loader is None:
        hint = "; to run a file, leave out `-m`" if name.endswith(".py") else ""
        raise CannotRunError(f"there is no module `{name}`{hint}")
    return _from_spec(spec)


def _spec(name: str) -> ModuleSpec | None:
    package = name.rpartition(".")[0]
    try:
        if package:
            __import__(package)  # its errors are the program's
    except ModuleNotFoundError as error:
        if error.name is None or not f"{package}.".startswith(f"{error.name}."):
            raise
        return None
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError):  # `os.x`, `.x`, `a..b`
        return None


def _from_spec(spec: ModuleSpec) -> _Main:
    get_code = getattr(spec.loader, "get_code", None)
    code = get_code(spec.name) if get_code is not None else None
    if code is None:
        raise CannotRunError(f"the module `{spec.name}` has no Python code to run")
    names = {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }
    return _Main(code, names)


# --- What is told of it -------------------------------------------------------------------------


def in_words(limit: str, count: int) -> str:
    """Something that isn't emulated, and how often the program used it."""
    return f"{limit} ({'once' if count == 1 else f'{count} times'})"


@dataclass(slots=True)
class _Report:
    """What is told when the program has ended."""

    request: Request
    emulation: Emulation | None = None
    log: TransferLog | None = None
    file: TextIO | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    """The program may have put something else into its place by the time it ends."""
    process: int = field(default_factory=os.getpid)

    def begin(self) -> None:
        """Turn the emulation on."""
        try:
            from devlint.runtime.virtual import emulate
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            text = "running a program needs torch: pip install 'devlint[runtime]'"
            raise CannotRunError(text) from None
        if self.request.transfers or self.request.transfers_file is not None:
            from devlint.runtime.transfers import TransferLog

            self.log = TransferLog()
        try:
            emulation = emulate(self.request.emulate, transfers=self.log)
        except ValueError as error:
            raise CannotRunError(str(error)) from None
        self._open()
        emulation.__enter__()  # never left: what runs last may still use the devices
        self.emulation = emulation

    def give_up(self) -> None:
        """There is no program to tell of."""
        atexit.unregister(self.tell)
        if self.file is not None:
            self.file.close()
        if self.emulation is not None:
            self.emulation.__exit__()

    def _open(self) -> None:
        # Now, for the program may go to another folder, and better now than after hours.
        name = self.request.transfers_file
        if name is None:
            return
        try:
            self.file = Path(name).open("w", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            text = f"{name}: can't be written: {error.strerror or error}"
            raise CannotRunError(text) from None

    def tell(self) -> None:
        """Say what wasn't emulated, and which copies were made."""
        if self.emulation is None or os.getpid() != self.process:  # a forked child isn't asked
            return
        for text, count in self.emulation.limits.items():
            self._print(f"devlint: not emulated: {in_words(text, count)}")
        if self.log is None:
            return
        if self.request.transfers:
            self._print(self.log.table().rstrip("\n"))
        if self.file is not None:
            try:
                with self.file as file:
                    json.dump(self.log.as_record(), file, indent=2)
                    file.write("\n")
            except OSError as error:
                name = self.request.transfers_file
                self._print(f"devlint: {name}: can't be written: {error.strerror or error}")

    def _print(self, text: str) -> None:
        # The program may have closed it, or nobody reads it any more.
        with contextlib.suppress(OSError, ValueError):
            print(text, file=self.stream, flush=True)


# --- How it ends --------------------------------------------------------------------------------


class _AsIfAlone:
    """Has Python show the program's errors as if no devlint were above it.

    Python itself does the rest when an error arrives at the top: it calls `sys.excepthook`, which
    may be the program's own, waits for threads, and ends with the code or the signal that is due.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, (CannotRunError, SystemExit)):
            sys.excepthook = functools.partial(_show, sys.excepthook, error)


def _show(
    hook: Callable[..., Any],
    error: BaseException,
    kind: type[BaseException],
    value: BaseException,
    trace: TracebackType | None,
) -> None:
    """Stands in for `sys.excepthook` for one error."""
    sys.excepthook = hook
    if value is error:
        trace = sys.last_traceback = _of_program(trace)
        value.__traceback__ = trace
        hide_emulation(value)
    hook(kind, value, trace)
    if not hasattr(value, "add_note"):  # Python 3.10 doesn't print them
        for link in reversed(_chain(value)):
            for note in getattr(link, "__notes__", ()):
                print(note, file=sys.stderr)


_MACHINERY = ("<frozen importlib", "<frozen zipimport")
_EMULATION = str(Path(__file__).with_name("virtual"))


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that lies beneath this module, without the import machinery."""
    here = run.__code__.co_filename
    entry = trace
    while entry is not None and entry.tb_frame.f_code is not run.__code__:
        entry = entry.tb_next
    while entry is not None:
        filename = entry.tb_frame.f_code.co_filename
        if filename != here and not filename.startswith(_MACHINERY):
            break
        entry = entry.tb_next
    return entry


def hide_emulation(error: BaseException) -> None:
    """End the tracebacks of an error, and of those it came from, where PyTorch's would end."""
    for link in _chain(error):
        if hasattr(link, "devlint_operands"):  # raised on purpose, so the way there tells nothing
            _cut(link.__traceback__)


def _chain(error: BaseException) -> list[BaseException]:
    """An error, and the others that are shown with it because it came from them."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and not any(link is other for other in chain):
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def _cut(trace: TracebackType | None) -> None:
    last = entry = trace
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_EMULATION):
            last = entry
        entry = entry.tb_next
    if last is not None:
        last.tb_next = None
