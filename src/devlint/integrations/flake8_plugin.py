"""The flake8 plugin: findings as flake8 reports them, by devlint's own settings.

flake8 loads it wherever devlint is installed. It decides which files are linted and which codes are
shown; `per-file-ignores` and all else of `[tool.devlint]` hold as they do in a run of devlint.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import sys
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache

from devlint import __version__
from devlint.config.configuration import Configuration
from devlint.config.settings import Settings, SettingsError, check_layer
from devlint.config.sources import Source
from devlint.driver.ignoring import is_excluded
from devlint.driver.run import check_bytes
from devlint.model.codec import decode
from devlint.project.plan import prepare
from devlint.safety.escaping import line, shown
from devlint.safety.files import UNSEEN

Told = tuple[int, int, str, type]
"""A row, a column from 0, and a text that starts with a code."""

_UNREAD = "DEV003"
"""What tells of a file that couldn't be checked."""


class Plugin:
    """What flake8 makes for each file that parses. It is told the tree, which marks it as a plugin
    that runs once a file, the name, and the lines."""

    name = "devlint"
    version = __version__
    ignore_noqa = False

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self._filename = "stdin.py" if filename in ("-", "stdin") else filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Take over what flake8 was asked for. Mistakes in the settings that hold in the current
        folder end the run with 2, before it checks anything."""
        cls.ignore_noqa = bool(options.disable_noqa)
        try:
            _settings(os.getcwd(), cls.ignore_noqa)
        except SettingsError as error:
            print(line(f"devlint: {error}"), file=sys.stderr)
            raise SystemExit(2) from error

    def run(self) -> Iterator[Told]:
        """The findings of the file."""
        path = os.path.abspath(self._filename)
        try:
            settings = _settings(os.path.dirname(path), self.ignore_noqa)
        except SettingsError as error:
            yield 1, 0, f"{_UNREAD} {shown(str(error))}", type(self)
            return
        if settings.force_exclude and is_excluded(path, settings):
            return
        outcome = check_bytes(_bytes("".join(self._lines)), Source(path, path, settings, UNSEEN))
        if outcome.error:
            yield 1, 0, f"{_UNREAD} {shown(outcome.error)}", type(self)
        for found in decode(outcome.findings, path):
            place = found.span
            yield place.row, place.column - 1, f"{found.code} {shown(found.message)}", type(self)


def _bytes(text: str) -> bytes:
    """A text as its file holds it: flake8 reads that by the encoding that it declares."""
    plain = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(plain).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeError):
        return plain


@cache
def _configuration(ignore_noqa: bool) -> Configuration:
    values = {"ignore-noqa": True} if ignore_noqa else {}
    return Configuration((check_layer("flake8", os.getcwd(), values),))


def _settings(folder: str, ignore_noqa: bool) -> Settings:
    """The settings of a folder. Raises `SettingsError`, also for what only the rules can tell."""
    settings = _configuration(ignore_noqa).for_folder(folder)
    prepare(settings)
    return settings
