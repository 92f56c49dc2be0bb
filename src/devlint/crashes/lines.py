"""The lines of a log, without colours, and without what a logger has put before each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LONGEST = 10_000
"""Characters of a line that are read."""
_LONGEST_PREFIX = 200

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
"""What a terminal obeys: colours, links, movements of the cursor."""
_TIME_TEXT = r"\d{1,20}(?:[-:.,/T]\d{1,20}){1,20}"
_TIME = re.compile(rf"{_TIME_TEXT}|\s+")
"""What is another in each line of one message: a date, a time; blanks may fill up to a width."""


def lines_of(text: str) -> list[str]:
    """The lines of a text as they were printed. What a carriage return has replaced is gone."""
    lines = _ESCAPE.sub("", text.replace("\r\n", "\n")).split("\n")
    return [line.rpartition("\r")[2][:LONGEST] for line in lines]


def without_prefix(lines: Sequence[str], prefix: str) -> Iterator[str]:
    """The lines that follow a line with a prefix, and belong to it.

    Some loggers put it before the first line only. Otherwise lines without it are of other
    processes.
    """
    first = next((line for line in lines if 'File "' in line), "")
    if not prefix.strip() or len(prefix) > _LONGEST_PREFIX or first.lstrip().startswith("File"):
        yield from lines
        return
    pattern = _pattern(prefix)
    for line in lines:
        match = pattern.match(line)
        if match is not None:
            yield line[match.end() :]


def _pattern(prefix: str) -> re.Pattern[str]:
    """Matches a prefix at another time. Of several processes, each keeps its own."""
    parts, end = [], 0
    for match in _TIME.finditer(prefix):
        parts.append(re.escape(prefix[end : match.start()]))
        is_blank = match[0].isspace()
        parts.append(_blanks(prefix, match) if is_blank else _TIME_TEXT)
        end = match.end()
    return re.compile("".join(parts) + re.escape(prefix[end:]))


def _blanks(prefix: str, match: re.Match[str]) -> str:
    """Those at the end stay as they are: what follows is indented by more."""
    return re.escape(match[0]) if match.end() == len(prefix) else r"\s{1,60}"
