"""`devlint run`: runs a program under the guard, and on devices that the machine doesn't have."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence

from devlint.cli import UNABLE, complain
from devlint.cli.arguments import GUARDS, UsageError, parse

_VARIABLE = "DEVLINT_GUARD"


def run(words: Sequence[str]) -> int:
    """Run the program. How it ends, by an exception or a signal, is how this process ends."""
    try:
        options = parse("run", words)
        if options.module is None and not options.program:
            raise UsageError("name a script to run, or a module with -m")
        asked = options.guard or _of_environment()
        guard = _guard(asked, options)
        _check_output(guard, options)
    except UsageError as error:
        complain(str(error))
        return UNABLE
    # By their names, since linting must not import what imports torch.
    importlib.import_module("devlint.auto").stand_back()  # the program may import it, too
    program = importlib.import_module("devlint.runtime.program")
    name = options.module
    if name is None:
        name, *options.program = options.program
    request = program.Request(
        name,
        options.program,
        options.module is not None,
        options.emulate,
        guard,
        options.transfers or asked == "trace",
        options.transfers_file,
        options.report,
        options.output_format,
        options.output_file,
        options.seed,
        options.losses,
    )
    try:
        code: int = program.run(request)
    except program.CannotRunError as error:
        complain(str(error))
        return UNABLE
    return code


def _check_output(guard: str, options: argparse.Namespace) -> None:
    if options.output_file is not None and guard != "collect":
        raise UsageError("--output-file needs --guard collect")
    if options.output_format != "text" and options.output_file is None:
        raise UsageError("--output-format needs --output-file: the streams are the program's")


def _of_environment() -> str:
    mode = os.environ.get(_VARIABLE, "strict") or "off"
    if mode not in GUARDS:
        raise UsageError(f"{_VARIABLE}={mode}: it is {', '.join(GUARDS[:-1])} or {GUARDS[-1]}")
    return mode


def _guard(mode: str, options: argparse.Namespace) -> str:
    """The guard's mode. Copies between devices are noted by an emulation, or else by a trace."""
    wanted = [
        f"--{name}"
        for name in ("transfers", "transfers-file", "report")
        if getattr(options, name.replace("-", "_"))
    ]
    if not wanted or options.emulate is not None or mode in ("trace", "collect"):
        return mode
    if options.guard is not None:
        raise UsageError(f"{wanted[0]} needs --guard trace, or an emulation")
    return "trace"
