"""Writes suppression comments for the findings of a file, where the file allows a comment."""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from devlint.config.selection import FAILURES
from devlint.config.sources import Source
from devlint.lint import UNUSED_SUPPRESSION, check_source
from devlint.model.findings import Edit, Finding
from devlint.source.document import Document
from devlint.source.reading import read_document

_OURS = re.compile(r"#\s*devlint\s*:\s*ignore\s*\[(?P<codes>[^\]#]*)\]")
_SEPARATOR = re.compile(r"[,\s]+")

Rows = tuple[int, int]
Placement = Callable[[Document, Rows, "list[str]", str], "Edit | None"]


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A file with its comments: how many findings they suppress, and which stay."""

    data: bytes
    count: int
    remaining: tuple[Finding, ...]


def suppress(data: bytes, source: Source, reason: str) -> Suppressed:
    """Add comments that suppress all findings, except those about the file or its comments.

    Every result is linted again: a comment that doesn't suppress, or that breaks the file, is
    put elsewhere, or left out.
    """
    before = check_source(data, source.path, source.settings)
    for placement in (_on_last_row, _on_first_row, _above):
        data = _attempt(data, source, reason, placement)
    after = check_source(data, source.path, source.settings)
    return Suppressed(data, len(before) - len(after), tuple(after))


def suppress_one(data: bytes, source: Source, finding: Finding) -> bytes | None:
    """The file with a comment that suppresses a finding, and others of its rule in the same
    statement; None where there is no place for one."""
    if is_about_file(finding):
        return None
    before = check_source(data, source.path, source.settings)
    group = finding.statement, [finding.code]
    for placement in (_on_last_row, _on_first_row, _above):
        changed = _with_comments(data, source, "", placement, [group])
        if changed is not None and _is_better(before, changed, source):
            return changed
    return None


def _attempt(data: bytes, source: Source, reason: str, placement: Placement) -> bytes:
    """Put comments in one kind of place: all at once, or one by one where that goes wrong."""
    findings = check_source(data, source.path, source.settings)
    groups = _by_statement(findings)
    if not groups:
        return data
    together = _with_comments(data, source, reason, placement, groups)
    if together is None or _is_better(findings, together, source):
        return together or data
    # From the end of the file, so that the rows of those still to come stay what they are.
    for group in reversed(groups):
        changed = _with_comments(data, source, reason, placement, [group])
        if changed is not None and _is_better(findings, changed, source):
            data, findings = changed, check_source(changed, source.path, source.settings)
    return data


def _by_statement(findings: Sequence[Finding]) -> list[tuple[Rows, list[str]]]:
    """The codes found in each statement, in the order of the file."""
    wanted = [item for item in findings if not is_about_file(item)]
    wanted.sort(key=lambda finding: finding.statement)
    return [
        (rows, sorted({finding.code for finding in group}))
        for rows, group in groupby(wanted, key=lambda finding: finding.statement)
    ]


def is_about_file(finding: Finding) -> bool:
    """Whether a finding is about the file itself or its comments, and no comment suppresses it."""
    return finding.code in FAILURES or finding.name == UNUSED_SUPPRESSION


def _is_better(old: Sequence[Finding], data: bytes, source: Source) -> bool:
    """Whether findings went and none came."""
    new = check_source(data, source.path, source.settings)
    return len(new) < len(old) and not (
        Counter(finding.code for finding in new) - Counter(finding.code for finding in old)
    )


def _with_comments(
    data: bytes,
    source: Source,
    reason: str,
    placement: Placement,
    groups: Sequence[tuple[Rows, list[str]]],
) -> bytes | None:
    """The file with a comment for each statement that has a place for one; None without any."""
    document = read_document(data, source.path, source.language)
    edits: dict[int, Edit] = {}
    for rows, codes in groups:
        edit = placement(document, rows, codes, reason)
        # Two statements may end on one row: the second waits for the next kind of place.
        if edit is not None:
            edits.setdefault(edit.span.start, edit)
    if not edits:
        return None
    try:
        placed = map(document.script.placed_edit, edits.values())
        return document.script.edited(list(placed))
    except ValueError:  # the encoding lacks characters of the reason, or a row isn't only Python
        return None


def _on_last_row(document: Document, rows: Rows, codes: list[str], reason: str) -> Edit | None:
    return _at_end_of(rows[1], document, codes, reason)


def _on_first_row(document: Document, rows: Rows, codes: list[str], reason: str) -> Edit | None:
    return _at_end_of(rows[0], document, codes, reason)


def _at_end_of(row: int, document: Document, codes: list[str], reason: str) -> Edit | None:
    """A comment behind a row, or more codes in the one that is there."""
    comment = document.comment_on(row)
    if comment is not None and (ours := _OURS.search(comment.text)):
        written = [code for code in _SEPARATOR.split(ours["codes"]) if code]
        start, end = (comment.start + offset for offset in ours.span("codes"))
        more = [code for code in codes if code not in written]
        return Edit(document.index.span(start, end), ", ".join([*written, *more]))
    if comment is None and row in _closed_rows(document.text):
        return None
    start, end = document.index.row_bounds(row)
    end = start + len(document.text[start:end].rstrip("\r\n"))
    start += len(document.text[start:end].rstrip())
    return Edit(document.index.span(start, end), f"  {_comment(codes, reason)}")


def _above(document: Document, rows: Rows, codes: list[str], reason: str) -> Edit | None:
    """A comment on a row of its own, above the statement."""
    first = rows[0]
    if first - 1 in _closed_rows(document.text):
        return None
    start, _ = document.index.row_bounds(first)
    text = document.index.row_text(first)
    indent = text[: len(text) - len(text.lstrip())]
    ending = "\r\n" if "\r\n" in document.text else "\n"
    return Edit(document.index.span(start, start), f"{indent}{_comment(codes, reason)}{ending}")


def _comment(codes: list[str], reason: str) -> str:
    return f"# devlint: ignore[{', '.join(codes)}]{f' -- {reason}' if reason else ''}"


@lru_cache(maxsize=1)
def _closed_rows(text: str) -> frozenset[int]:
    """Rows whose end lies in a string or is joined to the next row: no comment may stand there."""
    closed = {
        row
        for row, line in enumerate(io.StringIO(text, newline=None), start=1)
        if line.rstrip("\n").endswith("\\")
    }
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            kind = tokenize.tok_name[token.type]
            if kind in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif kind in ("FSTRING_END", "TSTRING_END"):
                closed.update(range(opened.pop(), token.end[0]))
            elif kind == "STRING":
                closed.update(range(token.start[0], token.end[0]))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # syntax newer than this Python: the comments are tried, and linted
    return frozenset(closed)
