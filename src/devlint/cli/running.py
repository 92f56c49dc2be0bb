"""`devlint run`: runs a program on devices that the machine hasn't got."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from devlint.cli import UNABLE, complain
from devlint.cli.arguments import UsageError, parse


def run(words: Sequence[str]) -> int:
    """Run the program. How it ends, by an exception or a signal, is how this process ends."""
    try:
        options = parse("run", words)
        if options.emulate is None:
            raise UsageError("say with --emulate which devices to pretend, as in --emulate cuda:2")
        if options.module is None and not options.program:
            raise UsageError("name a script to run, or a module with -m")
    except UsageError as error:
        complain(str(error))
        return UNABLE
    # By its name, since linting must not import what imports torch.
    program = importlib.import_module("devlint.runtime.program")
    name = options.module
    if name is None:
        name, *options.program = options.program
    request = program.Request(
        name,
        options.program,
        options.module is not None,
        options.emulate,
        options.transfers,
        options.transfers_file,
    )
    try:
        program.run(request)
    except program.CannotRunError as error:
        complain(str(error))
        return UNABLE
    return 0
