"""Diffs as a terminal shows them, in colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devlint.report.text import TAB, Line, paint

_STYLES = {"@": "label", "-": "removed", "+": "added"}


def painted(diffs: Iterable[bytes]) -> str:
    """Unified diffs, each of one file, with their lines in the colours of what they do."""
    return paint((line for diff in diffs for line in _lines(diff)), color=True)


def _lines(diff: bytes) -> Iterator[Line]:
    """The lines of a diff. The names of its file stand above the first hunk: below it, `---` is a
    line that begins with `--` and is removed."""
    text = diff.decode("utf-8", "backslashreplace")
    in_hunks = False
    for row in text.split("\n")[:-1]:
        in_hunks = in_hunks or row.startswith("@@")
        style = _STYLES.get(row[:1], "") if in_hunks else "strong"
        yield [(row.expandtabs(TAB), style)]
