"""A text's lines, and edits applied to it. Standard library only."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from devlint.findings import Edit

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def split_lines(text: str) -> list[str]:
    """Lines with their ends, cut where Python cuts them: a form feed ends no line."""
    return _LINE.findall(text)


def overlap(a: Edit, b: Edit) -> bool:
    """Whether two edits touch the same text, or insert at the same place."""
    if a.span.start == b.span.start:
        return True
    first, second = (a, b) if a.span.start < b.span.start else (b, a)
    return second.span.start < first.span.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that don't overlap, in any order.

    Raises `ValueError` where two overlap or one reaches outside the text.
    """
    pieces: list[str] = []
    end = 0
    previous: Edit | None = None
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        if previous is not None and overlap(previous, edit):
            raise ValueError(f"two edits overlap at offset {edit.span.start}")
        if not 0 <= edit.span.start <= edit.span.end <= len(text):
            raise ValueError(f"an edit reaches outside the text at offset {edit.span.start}")
        pieces += (text[end : edit.span.start], edit.content)
        end, previous = edit.span.end, edit
    return "".join((*pieces, text[end:]))


def unified_diff(old: str, new: str, filename: str) -> str:
    """The change from `old` to `new` as `patch` and `git apply` read it; "" where there is none.

    Lines keep the ends they have in the file, so a patch of a CRLF file applies to it.
    """
    path = filename.replace("\\", "/")
    lines = difflib.unified_diff(split_lines(old), split_lines(new), path, path, lineterm="\n")
    return "".join(_terminated(list(lines)))


def _terminated(lines: Sequence[str]) -> list[str]:
    # A lone "\r" ends a Python line, but a patch knows none, and needs an end all the same.
    return [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]
