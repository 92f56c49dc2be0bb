"""What fixing gives, and the findings that it goes by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from devlint.config.sources import Failure, Source
from devlint.model.findings import Finding
from devlint.model.older import Told, fresh
from devlint.safety import files
from devlint.source.reading import text_of


@dataclass(slots=True)
class Fixed:
    """What came of fixing: the findings that are gone, diffs, and findings that are left."""

    applied: list[Finding] = field(default_factory=list)
    diffs: list[bytes] = field(default_factory=list)
    remaining: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Change:
    """A file, how it was, and how it is once its own fixes are applied."""

    source: Source
    old: bytes
    new: bytes


def unchanged(source: Source) -> Change:
    """A file as it is. Raises `OSError`."""
    data = read(source)
    return Change(source, data, data)


def linted(data: bytes, source: Source, older: Told | None) -> list[Finding]:
    """All findings of a file's content, but for what is shown and older."""
    from devlint.lint import check_source

    found = check_source(data, source.path, replace(source.settings, pedantic=True))
    if not older:
        return found
    text = text_of(data, source.path, source.language) or ""
    new = fresh([each for each in found if is_shown(source, each)], text, older)
    return [*new, *(each for each in found if not is_shown(source, each))]


def is_shown(source: Source, finding: Finding) -> bool:
    """Whether users see a finding of a file."""
    from devlint.verdict.score import is_certain

    return is_certain(finding.score, source.settings.least_confidence)


def left_out(finding: Finding, reason: str) -> str:
    """What users are told of a fix that isn't applied."""
    return f"{_row(finding)}: the fix of {finding.code} was left out: {reason}"


def renamed(findings: Iterable[Finding], shown: str) -> list[Finding]:
    """The findings under the name that messages use."""
    return [replace(finding, filename=shown) for finding in findings]


def read(source: Source) -> bytes:
    """The content of a file. Raises `OSError`."""
    return files.read(source.path, files.most_bytes(source.language, source.settings.max_file_size))


def _row(finding: Finding) -> str:
    """`7`, or `cell 3:7`."""
    return finding.span.place.rpartition(":")[0]
