"""`--watch`: lints, and again whenever something has changed that findings hang on."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from devlint.cli import complain, say
from devlint.cli.arguments import UsageError
from devlint.config.configuration import Configuration
from devlint.config.settings import SettingsError
from devlint.driver.discover import discover
from devlint.driver.run import Result

_AT_MOST = 10.0
"""Seconds after which it is looked at all even where nobody tells of a change: a configuration file
may be new, in a folder that isn't watched."""
_SETTLED = 0.2
"""Seconds in which the thread begins to listen: what changes before is looked for after them."""
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"
_ONCE = (
    "stdin_filename", "fix", "fix_only", "diff", "add_ignore", "update_baseline", "show_files",
    "show_settings", "dump_facts",
)  # fmt: skip
"""What is asked for once, or writes the files that are watched."""

Round = Callable[[argparse.Namespace, "Around"], int]


@dataclass(slots=True)
class Around:
    """The files that findings of the last round hang on besides the linted ones."""

    paths: frozenset[str] = frozenset()

    def note(self, result: Result) -> None:
        """Take down what a run has looked at."""
        found = {path for consulted in result.hang_on for path in json.loads(consulted)}
        self.paths = frozenset(path for path in found if os.path.isfile(path))


def watch(options: argparse.Namespace, configure: Callable[[], Configuration], lint: Round) -> int:
    """Lint until somebody interrupts. Raises `UsageError`, and in the first round whatever a run
    raises; later mistakes in settings are told, and waited for to go."""
    _check(options, configure)
    paths = tuple(options.paths) or (".",)
    first = True
    while True:
        around = Around()
        before = _linted(paths, configure)
        _clear_screen()
        try:
            lint(argparse.Namespace(**vars(options)), around)
        except (UsageError, SettingsError) as error:
            if first:
                raise
            complain(str(error))
        first = False
        others = _stats(around.paths)
        if not (options.quiet or options.silent):
            say("devlint: waiting for changes; Ctrl-C ends")
        with _changes_below(_watched(paths, configure, around)) as changed:
            changed.wait(_SETTLED)
            while _linted(paths, configure) == before and _stats(around.paths) == others:
                changed.wait(_AT_MOST)
                changed.clear()


@contextmanager
def _changes_below(paths: Iterable[str]) -> Iterator[threading.Event]:
    """What is set when something changes below one of the paths that are there. A thread listens:
    the main one has to hear of Ctrl-C."""
    from watchfiles import watch

    there = [path for path in paths if os.path.exists(path)]
    changed, stop = threading.Event(), threading.Event()

    def listen() -> None:
        try:
            for _ in watch(*there, watch_filter=None, stop_event=stop, raise_interrupt=False):
                changed.set()
        except OSError as error:  # one has gone meanwhile, or there are too many to watch
            complain(f"--watch: {error}; looking every {_AT_MOST:.0f} seconds")

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield changed
    finally:
        stop.set()
        thread.join(1)


def _check(options: argparse.Namespace, configure: Callable[[], Configuration]) -> None:
    given = vars(options)
    for name in _ONCE:
        if given[name] not in (None, False):
            option = name.replace("_", "-")
            raise UsageError(f"--watch and --{option} don't go together: give one of them")
    if "-" in options.paths:
        raise UsageError("--watch needs files, not standard input")
    settings = configure().for_folder(os.getcwd())
    if settings.fix or settings.fix_only:
        raise UsageError("--watch writes no fixes: turn `fix` off")
    if options.baseline is not None and not os.path.lexists(options.baseline):
        raise UsageError(f"--watch: there is no baseline `{options.baseline}`: write it first")
    try:
        import watchfiles  # noqa: F401
    except ImportError as error:
        raise UsageError("--watch needs watchfiles: pip install watchfiles") from error


def _linted(paths: tuple[str, ...], configure: Callable[[], Configuration]) -> object:
    """The files of a run, how they look, and their settings; what is wrong with these where they
    can't be read."""
    _forget()
    try:
        found = discover(paths, configure())
    except SettingsError as error:
        return str(error)
    settings = {source.path: source.settings for source in found.sources}
    return settings, found.failures, _stats(settings)


def _stats(paths: Iterable[str]) -> dict[str, tuple[int, ...]]:
    return {path: _stat(path) for path in paths}


def _stat(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _watched(
    paths: tuple[str, ...], configure: Callable[[], Configuration], around: Around
) -> frozenset[str]:
    """What to listen at: the given paths, the files that are imported, those of settings."""
    configuration = configure()
    with suppress(SettingsError):  # what was read until then is watched: somebody repairs it
        discover(paths, configuration)
    given = list(map(os.path.abspath, paths))
    folders = tuple(os.path.join(path, "") for path in given if os.path.isdir(path))
    more = (*around.paths, *configuration.read)
    return frozenset([*given, *(path for path in more if not path.startswith(folders))])


def _forget() -> None:
    """Drop what this process remembers of files without looking at them again."""
    from devlint.driver import ignoring
    from devlint.project.importing import forget
    from devlint.project.plan import prepare

    prepare.cache_clear()
    forget()
    ignoring.forget()


def _clear_screen() -> None:
    if sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
        sys.stdout.flush()
