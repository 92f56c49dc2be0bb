"""`devlint generate-shell-completion SHELL`: a script that completes the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from devlint.cli.arguments import COMMANDS, PARSERS, Parser, UsageError


def generate_shell_completion(options: argparse.Namespace) -> int:
    """Print the script. Raises `UsageError` where what makes it isn't installed."""
    try:
        import shtab
    except ImportError as error:
        raise UsageError("generate-shell-completion needs shtab: pip install shtab") from error
    by_metavar = {
        "FILE": shtab.FILE,
        "FILE|KEY=VALUE": shtab.FILE,
        "FOLDER": shtab.DIRECTORY,
        "PATH": shtab.FILE,
        "PATHS": shtab.FILE,
        "SCRIPT": shtab.FILE,
    }
    root = Parser(prog="devlint", add_help=False, allow_abbrev=False)
    commands = root.add_subparsers(metavar="COMMAND")
    for name, text in COMMANDS.items():
        own = commands.add_parser(name, help=text, add_help=False)
        own._add_container_actions(PARSERS[name]())
    root._add_container_actions(PARSERS["check"]())  # the command that needn't be named
    for parser in (root, *commands.choices.values()):
        for action in parser._actions:
            _complete(action, by_metavar)
    print(shtab.complete(root, options.shell))
    return 0


def _complete(action: argparse.Action, by_metavar: Mapping[str, object]) -> None:
    """Say what completes the value of an option: rules and keys by their names, else files."""
    from devlint.config.rulebook import pages
    from devlint.config.selection import ALL
    from devlint.config.settings import file_keys

    if action.metavar in ("RULES", "CODE|NAME"):
        found = pages().values()
        words = [*(page.code for page in found), *(page.name for page in found)]
        action.choices = [*words, ALL] if action.metavar == "RULES" else words
    elif action.metavar == "KEY":
        action.choices = list(file_keys())
    elif isinstance(action.metavar, str) and action.metavar in by_metavar:
        action.complete = by_metavar[action.metavar]  # type: ignore[attr-defined]
