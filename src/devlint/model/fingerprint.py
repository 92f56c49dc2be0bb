"""What makes a finding the same finding after the lines around it have moved."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from devlint.model.findings import Finding
from devlint.model.spans import LineIndex
from devlint.safety import files

Kind = tuple[str, str, str]
"""What findings are alike in: the code, the file as messages call it, and a hash of the statement
without its blanks."""
_NONE: Mapping[Kind, int] = MappingProxyType({})


def relative_path(filename: str, root: Path) -> str:
    """`filename` below `root`, with forward slashes; absolute where it isn't below it.

    Symbolic links are resolved, so a file has one path however it was reached.
    """
    path, base = files.resolve(filename), files.resolve(str(root))
    try:
        below = os.path.commonpath([path, base]) == base
    except ValueError:  # two drives of Windows
        below = False
    return (os.path.relpath(path, base) if below else path).replace(os.sep, "/")


def fingerprints(
    findings: Sequence[Finding],
    sources: Callable[[str], str | None],
    root: Path,
    before: Mapping[Kind, int] = _NONE,
) -> list[str]:
    """One fingerprint a finding, in the order given: 32 hexadecimal digits, all different.

    It is made of the code, the path, the text of the statement without its blanks, and which
    of the findings alike in these three it is, counted from the top of the file. So it outlives
    moved lines, another indentation and rewrapped calls, and a reworded message. `before` says how
    many of a kind are there besides: they count first.
    """
    names = dict.fromkeys(finding.filename for finding in findings)
    indexes = {filename: LineIndex(sources(filename) or "") for filename in names}
    paths = {filename: relative_path(filename, root) for filename in names}
    marks: list[str] = [""] * len(findings)
    # A statement may be long, and have many findings: its text is taken and hashed once.
    statements: dict[tuple[str, tuple[int, int]], str] = {}
    begun: dict[tuple[str, str, str], hashlib._Hash] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    more = [before.get(kind, 0) for kind in kinds(findings, sources)] if before else []
    for index in sorted(range(len(findings)), key=lambda i: _place(findings[i])):
        finding = findings[index]
        filename = finding.filename
        rows = _rows(finding)
        if (filename, rows) not in statements:
            statements[filename, rows] = _statement(rows, indexes[filename])
        alike = (finding.code, paths[filename], statements[filename, rows])
        if alike not in begun:
            text = "\0".join((*alike, ""))
            begun[alike] = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
        mark = begun[alike].copy()
        mark.update(str(seen[alike] + (more[index] if more else 0)).encode())
        marks[index] = mark.hexdigest()[:32]
        seen[alike] += 1
    return marks


def kinds(findings: Sequence[Finding], sources: Callable[[str], str | None]) -> list[Kind]:
    """What each finding has in common with those alike, in the order given."""
    indexes: dict[str, LineIndex] = {}
    marks: dict[tuple[str, tuple[int, int]], str] = {}
    found: list[Kind] = []
    for finding in findings:
        filename, rows = finding.filename, _rows(finding)
        if filename not in indexes:
            indexes[filename] = LineIndex(sources(filename) or "")
        if (filename, rows) not in marks:
            marks[filename, rows] = _hash(_statement(rows, indexes[filename]))
        found.append((finding.code, filename, marks[filename, rows]))
    return found


def neighbours(findings: Sequence[Finding], text: str) -> list[str]:
    """What stands around the statement of each finding of one file, as a hash: the nearest rows
    above and below that aren't blank."""
    index = LineIndex(text)
    marks: dict[tuple[int, int], str] = {}
    for finding in findings:
        rows = _rows(finding)
        if rows not in marks:
            marks[rows] = _hash(f"{_near(index, rows[0], -1)}\n{_near(index, rows[1], 1)}")
    return [marks[_rows(finding)] for finding in findings]


_NEAR = 20
"""Rows beyond a statement that may be blank."""


def _near(index: LineIndex, row: int, step: int) -> str:
    """The nearest row that isn't blank, without its blanks."""
    for at in range(row + step, row + step * (_NEAR + 1), step):
        if not 1 <= at <= index.rows:
            break
        if text := "".join(index.row_text(at).split()):
            return text
    return ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.filename, finding.span.start, finding.span.end, finding.message


def _rows(finding: Finding) -> tuple[int, int]:
    """The first and the last row of the statement of a finding."""
    return finding.statement if finding.statement[0] else (finding.span.row, finding.span.end_row)


def _statement(rows: tuple[int, int], index: LineIndex) -> str:
    """The text of rows without its blanks."""
    first, last = rows
    return "".join(index.text[index.row_bounds(first)[0] : index.row_bounds(last)[1]].split())
