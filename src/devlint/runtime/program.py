"""Running a program under a guard and an emulation, and otherwise as `python` itself would run it.

The program gets its own `__main__`, `sys.argv` and `sys.path[0]`; how it ends is left to Python.
So its threads and its own `atexit` functions still believe in the devices.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from devlint.runtime.session import CannotRunError, Request, Session, in_words

__all__ = ["CannotRunError", "Request", "in_words", "run"]


@dataclass(frozen=True, slots=True)
class _Main:
    """What becomes the module `__main__`."""

    code: CodeType
    names: dict[str, Any]
    """What Python itself puts into that module."""


def run(request: Request) -> int:
    """Run a program until its last line. What it raises is raised here; returns the exit code.

    Raises:
        CannotRunError: where there is nothing to run, or something that it is to run under can't
            be turned on.
    """
    sys.argv = ["-m" if request.is_module else request.name, *request.arguments]
    session = Session(request)
    main = None
    if request.is_module:
        _put_first(str(Path.cwd()))
    else:
        with _AsIfAlone(session):
            main = _read(request.name)
    session.begin()
    if main is None:  # only now, because the packages around a module are imported for it
        try:
            with _AsIfAlone(session):
                main = _find(request.name)
        except CannotRunError:
            session.give_up()
            raise
        sys.argv[0] = main.names["__file__"]
    module = ModuleType("__main__")
    module.__dict__.update(main.names, __builtins__=builtins)
    sys.modules["__main__"] = module
    try:
        with _AsIfAlone(session):
            exec(main.code, module.__dict__)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    return session.ended()


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


# --- How it ends --------------------------------------------------------------------------------


class _AsIfAlone:
    """Has Python show the program's errors as if no devlint were above it.

    Python itself does the rest when an error arrives at the top: it calls `sys.excepthook`, which
    may be the program's own, waits for threads, and ends with the code or the signal that is due.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, (CannotRunError, SystemExit)):
            sys.excepthook = functools.partial(_show, self._session, sys.excepthook, error)


def _show(
    session: Session,
    hook: Callable[..., Any],
    error: BaseException,
    kind: type[BaseException],
    value: BaseException,
    trace: TracebackType | None,
) -> None:
    """Stands in for `sys.excepthook` for one error."""
    sys.excepthook = hook
    if value is error:
        value.__traceback__ = sys.last_traceback = _of_program(trace)
        session.show(value, hook)
    else:
        hook(kind, value, trace)


_MACHINERY = ("<frozen importlib", "<frozen zipimport")


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
