"""What makes a finding the same finding after the lines around it have moved."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from devlint.findings import Finding
from devlint.spans import LineIndex


def relative_path(filename: str, root: Path) -> str:
    """`filename` below `root`, with forward slashes; absolute where it isn't below it.

    Symbolic links are resolved, so a file has one path however it was reached.
    """
    path, base = os.path.realpath(filename), os.path.realpath(root)
    try:
        below = os.path.commonpath([path, base]) == base
    except ValueError:  # two drives of Windows
        below = False
    return (os.path.relpath(path, base) if below else path).replace(os.sep, "/")


def fingerprints(
    findings: Sequence[Finding], sources: Callable[[str], str | None], root: Path
) -> list[str]:
    """One fingerprint a finding, in the order given: 32 hexadecimal digits, all different.

    It is made of the code, the path, the text of the statement without its blanks, and which
    of the findings alike in these three it is, counted from the top of the file. So it outlives
    moved lines, another indentation and rewrapped calls, and a reworded message.
    """
    names = dict.fromkeys(finding.filename for finding in findings)
    indexes = {filename: LineIndex(sources(filename) or "") for filename in names}
    paths = {filename: relative_path(filename, root) for filename in names}
    marks: list[str] = [""] * len(findings)
    seen: Counter[tuple[str, str, str]] = Counter()
    for index in sorted(range(len(findings)), key=lambda i: _place(findings[i])):
        finding = findings[index]
        filename = finding.filename
        alike = (finding.code, paths[filename], _statement(finding, indexes[filename]))
        text = "\0".join((*alike, str(seen[alike])))
        marks[index] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[alike] += 1
    return marks


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.filename, finding.span.start, finding.span.end, finding.message


def _statement(finding: Finding, index: LineIndex) -> str:
    first, last = finding.statement
    if first == 0:
        first, last = finding.span.row, finding.span.end_row
    return "".join(index.text[index.row_bounds(first)[0] : index.row_bounds(last)[1]].split())
