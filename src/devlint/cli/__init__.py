"""The command line: understands it, runs the command, turns failures into exit codes."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Sequence

from devlint import __version__

INTERRUPTED = 130
UNABLE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run devlint. Returns the exit code: 0 clean, 1 findings, 2 couldn't, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "run":  # the streams are the program's, and so are interrupts
        from devlint.cli.running import run

        return UNABLE if _is_listed(words) else run(words[1:])
    _fill_streams()
    try:
        if words in (["--version"], ["-V"], ["version"]):  # asked for by scripts: without delay
            print(f"devlint {__version__}", flush=True)
            return 0
        return _run(words)
    except KeyboardInterrupt:
        complain("interrupted")
        # An interrupt that went through the `exec` of a text, as dataclasses are made by, lets
        # CPython end by a signal instead of our exit code, until another `exec` succeeds.
        exec("")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # whoever read it has seen enough
        return 0
    except OSError as error:
        complain(f"{error.filename or 'the output'}: {error.strerror or error}")
        _drop_output()
        return UNABLE


def _is_listed(words: list[str]) -> bool:
    """Whether `run` and what follows may be the names of files, as `devlint *` lists them: no file
    of a folder that is linted makes devlint run another one."""
    listed = len(words) > 1 and all(map(os.path.lexists, words[:2]))
    if listed:
        complain("`run` is here: say `devlint run -- PROGRAM`, or `devlint ./run` to lint it")
    return listed


def _fill_streams() -> None:
    """Streams that were closed lead nowhere: Python has None for them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Python would complain when it flushes at exit."""
    try:  # noqa: SIM105
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:
        pass  # a stream of somebody else's may have no file


def _run(words: list[str]) -> int:
    from devlint.safety.isolation import isolate

    try:
        isolate(words)
    except FileNotFoundError:
        complain("the current directory is gone: change to another one")
        return UNABLE
    # Nothing that was read of a project goes before the process ends: Python needn't look for it.
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal can't show is no reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return _command_of(words)


def _command_of(words: list[str]) -> int:
    from devlint.cli.arguments import COMMANDS, UsageError, parse
    from devlint.config.settings import SettingsError

    command, rest = "check", words
    if words and words[0] in COMMANDS:
        command, rest = words[0], words[1:]
    elif words and words[0] in ("-h", "--help"):
        command, rest = "help", words[1:]
    try:
        code = _command(command)(parse(command, rest))
        sys.stdout.flush()
        return code
    except (UsageError, SettingsError) as error:
        complain(str(error))
        try:
            sys.stdout.flush()
        except OSError:  # what the error is about, perhaps
            _drop_output()
        return UNABLE


def complain(text: str) -> None:
    """A line on stderr about what went wrong."""
    say(f"devlint: {text}")


def say(text: str) -> None:
    """One line on stderr, whatever the text is made of."""
    from devlint.safety.escaping import line

    print(line(text), file=sys.stderr)


def _command(name: str) -> Callable[..., int]:
    # Imported one by one: `check` has to start fast, and needs nothing of the others.
    if name == "check":
        from devlint.cli.check import check

        return check
    if name == "migrate":
        from devlint.cli.migrate import migrate

        return migrate
    if name == "why":
        from devlint.cli.why import why

        return why
    if name == "explain":
        from devlint.cli.crashes import explain

        return explain
    if name == "generate-shell-completion":
        from devlint.cli.completion import generate_shell_completion

        return generate_shell_completion
    if name == "merge":
        from devlint.cli.merging import merge_shards

        return merge_shards
    if name == "server":
        from devlint.cli.server import server

        return server
    from devlint.cli import commands

    return {
        "rule": commands.rule,
        "config": commands.config,
        "clean": commands.clean,
        "version": commands.version,
        "help": commands.help_,
    }[name]
