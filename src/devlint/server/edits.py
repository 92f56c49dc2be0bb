"""What changes between two texts, as edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate

from lsprotocol import types as lsp

from devlint.server.documents import Document, Units

_ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_edits(document: Document, new: str, units: Units) -> list[lsp.TextEdit]:
    """The edits that make another text of a document's, in its order."""
    return [
        lsp.TextEdit(document.range_of(start, end, units), content)
        for start, end, content in changes(document.text, new)
    ]


def changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """What is replaced: from one offset of the old text to another, and by what."""
    first, second = _ROW.findall(old), _ROW.findall(new)
    above = _alike(first, second)
    below = _alike(first[above:][::-1], second[above:][::-1])
    middle = first[above : len(first) - below], second[above : len(second) - below]
    starts = [0, *accumulate(map(len, first))]
    for tag, start, end, new_start, new_end in SequenceMatcher(None, *middle, False).get_opcodes():
        if tag != "equal":
            content = "".join(middle[1][new_start:new_end])
            yield _trimmed(old, starts[above + start], starts[above + end], content)


def _alike(one: list[str], other: list[str]) -> int:
    """How many rows are the same from the start on."""
    for count, (first, second) in enumerate(zip(one, other, strict=False)):
        if first != second:
            return count
    return min(len(one), len(other))


def _trimmed(text: str, start: int, end: int, content: str) -> tuple[int, int, str]:
    """An edit without what it leaves as it is, so that a cursor nearby stays where it is. No edit
    begins or ends within a line break of two characters."""
    size = min(end - start, len(content))
    above = next((n for n in range(size) if text[start + n] != content[n]), size)
    if content[:above].endswith("\r"):
        above -= 1
    start, content = start + above, content[above:]
    size = min(end - start, len(content))
    below = next((n for n in range(size) if text[end - n - 1] != content[-n - 1]), size)
    kept = content[len(content) - below :]
    if kept.startswith("\n") and "\r" in (text[end - below - 1], content[-below - 1 : -below]):
        below -= 1
    return start, end - below, content[: len(content) - below]
