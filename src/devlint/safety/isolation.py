"""Keeps what is linted from being imported. It imports nothing that Python hasn't by now."""

from __future__ import annotations

import os
import site
import sys

_PARENT = os.path.abspath(os.path.join(__file__, *[os.pardir] * 3))
"""The folder that devlint itself is imported from."""


def isolate(words: list[str]) -> None:
    """Take off the import path the current directory, and of what `PYTHONPATH` put there all that
    leads into it, or into a tree that one of the words of the command line names.

    What Python has imported by then, as `PYTHONPATH` says, can't be helped. The folder of devlint
    itself stays, and so do those that Python installs packages into.
    """
    given = os.environ.get("PYTHONPATH")
    suspects = set() if given is None else set(map(_resolved, given.split(os.pathsep)))
    suspects -= set(map(_resolved, site.getsitepackages()))
    values = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    named = [_resolved(value) for value in values if value and os.path.lexists(value)]
    folders = (path if os.path.isdir(path) else os.path.dirname(path) for path in named)
    trees = [_resolved(os.curdir), *folders]

    def leads_there(entry: str) -> bool:
        place = _resolved(entry)
        return place in suspects and any(_are_nested(place, tree) for tree in trees)

    sys.path[:] = [
        entry for entry in sys.path if entry == _PARENT or (entry and not leads_there(entry))
    ]


def _resolved(path: str) -> str:
    """A path without links; as it is where these are a chain that is too long for Python, and for
    the system before."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


def _are_nested(one: str, other: str) -> bool:
    """Whether one of two folders lies in the other."""
    shorter, longer = sorted((os.path.join(one, ""), os.path.join(other, "")), key=len)
    return longer.startswith(shorter)
