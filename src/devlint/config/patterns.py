"""Patterns of paths in gitignore's notation, matched against absolute paths."""

from __future__ import annotations

import os
import re
from functools import cache

from devlint.config.globs import Lines
from devlint.safety.files import LONGEST_PATH

_SPECIAL = re.compile(r"([\\*?\[\]!#])")
_WILD = re.compile(r"[\\*?\[]")


def rebase(pattern: str, base: str) -> str:
    """A pattern that meant paths below `base`, as one that means absolute paths.

    As in a `.gitignore` file of `base`: `build` stands for any path of that name below `base`,
    `src/build` and `/build` for the one in that place.
    """
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    body = body.removeprefix("./")
    folder = _SPECIAL.sub(r"\\\1", base.replace(os.sep, "/").rstrip("/"))
    if body == base or body.startswith(base.rstrip("/") + "/"):
        return sign + body
    anchored = "/" in body.rstrip("/")
    return f"{sign}{folder}/{body.lstrip('/') if anchored else '**/' + body}"


def below(pattern: str, folder: str) -> str:
    """A pattern of absolute paths, as one of the same paths below a folder; one of names stays."""
    if "/" not in pattern:
        return pattern
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    body = body.replace(":/", "/", 1) if not body.startswith("/") else body  # a drive of Windows
    escaped = _SPECIAL.sub(r"\\\1", folder.replace(os.sep, "/").rstrip("/"))
    return f"{sign}{escaped}/{body.lstrip('/')}"


class Matcher:
    """Says whether a path matches one of several patterns.

    A pattern without a slash (the defaults have none) is compared with the last name of a path
    only, so that a project may itself lie in a folder called `build`.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        plain = [pattern for pattern in patterns if "/" not in pattern]
        rooted = [pattern for pattern in patterns if "/" in pattern]
        suffixes = [pattern for pattern in plain if _is_suffix(pattern)]
        wild = [item for item in plain if _WILD.search(item) and item not in suffixes]
        self._suffixes = tuple(pattern[1:] for pattern in suffixes)
        self._names = frozenset(item for item in plain if not _WILD.search(item))
        self._wild = _compile(tuple(wild)) if wild else None
        self._rooted = _compile(tuple(rooted)) if rooted else None

    def matches(self, path: str, name: str, is_folder: bool = False) -> bool:
        """`path` is absolute, with the separators of the system; `name` is its last part."""
        if name in self._names or (self._suffixes and name.endswith(self._suffixes)):
            return True
        if self._wild is not None and self._wild.decide(name):
            return True
        if self._rooted is None:
            return False
        return bool(self._rooted.decide(as_pattern_path(path) + ("/" if is_folder else "")))


def _is_suffix(pattern: str) -> bool:
    return pattern.startswith("*.") and not _WILD.search(pattern[1:])


def as_pattern_path(path: str) -> str:
    """An absolute path as `Lines` take it: forward slashes, none at the start."""
    return path.replace(os.sep, "/").lstrip("/")


@cache
def matcher(patterns: tuple[str, ...]) -> Matcher:
    """A matcher, made once for each set of patterns."""
    return Matcher(patterns)


def is_pattern(line: str) -> bool:
    """Whether a line is valid in gitignore's notation: it names something, ends its escapes, and is
    no longer than a path may be."""
    body = line.strip().removeprefix("!")
    ends = (len(body) - len(body.rstrip("\\"))) % 2 == 0
    return bool(body) and ends and len(line) <= LONGEST_PATH


def compile_lines(lines: tuple[str, ...]) -> Lines | None:
    """The patterns of a `.gitignore` file; lines that are none are left out, as git does."""
    patterns = tuple(line for line in lines if not line.startswith("#") and is_pattern(line))
    return _compile(patterns) if patterns else None


@cache
def _compile(lines: tuple[str, ...]) -> Lines:
    return Lines(lines)
