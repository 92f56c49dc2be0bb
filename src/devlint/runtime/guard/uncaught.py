"""Errors that nobody catches, told with their explanation.

Each place that Python has for them is taken: `sys.excepthook`, `threading.excepthook`, the end of
a process of `multiprocessing`, and the cells of IPython. Where several processes train together,
what one of them says begins with its rank and is written at once.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType, TracebackType
from typing import Any

from devlint.runtime.ending import rank_line, write
from devlint.runtime.guard.tracebacks import chain, shorten

Tell = Callable[[Exception], Exception]
"""Adds to an error what is known of it; returns it, or what says it better."""

Hook = Callable[..., Any]
"""Takes what `sys.excepthook` takes."""

PRINTS_NOTES = hasattr(BaseException, "add_note")
"""Whether Python shows the notes of an error itself, as it does from version 3.11 on."""


@contextmanager
def explained(tell: Tell, *, program: bool = True) -> Iterator[None]:
    """Explain what ends the program, a thread or process of it, or a cell of a notebook.

    Args:
        tell: says what is known of an error.
        program: whether errors that end the program are meant, too. Who runs the program itself
            shows them with `show`, and leaves `sys.excepthook` to the program.
    """
    takers = [_of_threads(tell), _of_processes(tell)]
    if program:
        takers.append(_of_program(tell))
    shell = _shell()
    if shell is not None:
        takers.append(_of_notebook(shell, tell))
    try:
        yield
    finally:
        for take_off in reversed(takers):
            take_off()


class _Taken:
    """An attribute that somebody has been put in front of. Called, it is what stands there now.

    Others may do the same in any order: who can't be taken off, since another one stands in front,
    only hands over, and goes when that one goes, if it is a guard's too.
    """

    def __init__(self, module: Any, name: str, do: Callable[..., Any]) -> None:
        self._module, self._name, self._do = module, name, do
        self._previous: Hook = getattr(module, name)
        self._is_on = True
        setattr(module, name, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_on:
            return self._previous(*args, **kwargs)
        return self._do(self._previous, *args, **kwargs)

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def take_off(self) -> None:
        self._is_on = False
        while isinstance(there := getattr(self._module, self._name), _Taken) and not there._is_on:
            setattr(self._module, self._name, there._previous)


# --- the places


def _of_program(tell: Tell) -> Callable[[], None]:
    def excepthook(
        previous: Hook,
        kind: type[BaseException],
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, BaseException):
            show(error, previous, tell, trace)
        else:
            previous(kind, error, trace)

    return _Taken(sys, "excepthook", excepthook).take_off


def show(
    error: BaseException, hook: Hook, tell: Tell | None = None, trace: TracebackType | None = None
) -> None:
    """Show an error that ends the program, with what is known of it.

    Args:
        error: the error.
        hook: shows it, as `sys.excepthook` would.
        tell: says what is known of it.
        trace: what is shown as its traceback, unless that is its own.
    """
    shown = tell(error) if tell is not None and isinstance(error, Exception) else error
    if shown is not error or trace is None or trace is error.__traceback__:
        shorten(shown)
        trace = shown.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = type(shown), shown, trace
    if hasattr(sys, "last_exc"):  # from Python 3.12 on
        sys.last_exc = shown
    rank = "" if tell is None else rank_line()
    if rank and hook is sys.__excepthook__:
        write(sys.stderr, rank + _formatted(shown, trace))
    else:
        hook(type(shown), shown, trace)
        print_notes(shown)


def _of_threads(tell: Tell) -> Callable[[], None]:
    def excepthook(previous: Hook, args: Any) -> None:
        error, thread = args.exc_value, args.thread
        if not isinstance(error, Exception):
            previous(args)
            return
        shown = tell(error)
        shorten(shown)
        args = threading.ExceptHookArgs((type(shown), shown, shown.__traceback__, thread))
        if rank_line() and previous is threading.__excepthook__:
            name = threading.get_ident() if thread is None else thread.name
            text = f"Exception in thread {name}:\n{_formatted(shown, shown.__traceback__)}"
            write(sys.stderr, rank_line() + text)
        else:
            previous(args)
            print_notes(shown)

    return _Taken(threading, "excepthook", excepthook).take_off


def _of_processes(tell: Tell) -> Callable[[], None]:
    from multiprocessing.process import BaseProcess

    def bootstrap(previous: Hook, process: Any, *args: Any, **kwargs: Any) -> Any:
        run = process.run
        process.run = lambda: _run_told(process.name, run, tell)
        return previous(process, *args, **kwargs)

    return _Taken(BaseProcess, "_bootstrap", bootstrap).take_off


def _run_told(name: str, run: Callable[[], object], tell: Tell) -> None:
    """What a process of `multiprocessing` does, and its error as `multiprocessing` shows it."""
    try:
        run()
    except SystemExit:
        raise
    except BaseException as error:
        inner = error.__traceback__
        error.__traceback__ = None if inner is None else inner.tb_next
        shown = tell(error) if isinstance(error, Exception) else error
        shorten(shown)
        write(sys.stderr, f"{rank_line()}Process {name}:\n{_formatted(shown, shown.__traceback__)}")
        sys.exit(1)


def _shell() -> Any:
    """The shell of IPython, or of a notebook, that runs this process."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get_ipython is None else get_ipython()


def _of_notebook(shell: Any, tell: Tell) -> Callable[[], None]:
    previous, previous_show = shell.custom_exceptions, shell.CustomTB
    is_on = True

    def show_cell(
        self: Any, kind: Any, error: BaseException, trace: Any, tb_offset: int | None = None
    ) -> Any:
        if is_on and isinstance(error, Exception):
            error = tell(error)
            shorten(error)
            kind, trace = type(error), error.__traceback__
        if isinstance(error, previous):
            return previous_show(kind, error, trace, tb_offset=tb_offset)
        self.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
        return None

    shell.set_custom_exc((Exception, *previous), show_cell)
    mine = shell.CustomTB

    def take_off() -> None:
        nonlocal is_on
        is_on = False
        if shell.CustomTB is mine:
            shell.custom_exceptions, shell.CustomTB = previous, previous_show

    return take_off


# --- how it is printed


def print_notes(error: BaseException) -> None:
    """Print the notes of an error, and of those it came from, where Python doesn't do it."""
    if not PRINTS_NOTES:
        write(sys.stderr, _notes(error))


def _notes(error: BaseException) -> str:
    notes = [note for link in reversed(chain(error)) for note in getattr(link, "__notes__", ())]
    return "".join(f"{note}\n" for note in notes)


def _formatted(error: BaseException, trace: TracebackType | None) -> str:
    text = "".join(traceback.format_exception(type(error), error, trace))
    return text if PRINTS_NOTES else text + _notes(error)
