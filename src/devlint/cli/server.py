"""`devlint server`: serves an editor on the standard streams."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys

from devlint.cli import UNABLE, complain, say
from devlint.cli.arguments import UsageError
from devlint.cli.check import configured

_NEEDED = ("pygls", "lsprotocol")


def server(options: argparse.Namespace) -> int:
    """Serve until the editor ends it. Raises `UsageError` and `SettingsError`."""
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        raise UsageError("devlint server needs pip install 'pygls>=2,<3'")
    current = os.getcwd()
    configured(options, current)  # what is wrong with the command line is told before anything else
    from devlint.server.server import serve

    if sys.stdin.isatty():
        say("devlint server waits for an editor on standard input, see docs/editors.md")
    try:
        return serve(lambda: configured(options, current))
    except Exception as error:  # what is read is no message of an editor's, or a bug
        text = " ".join(str(error).split())
        complain(f"the server has ended: {type(error).__name__}: {text}".rstrip(": "))
        return UNABLE
