"""Applies the fixes of a run, file by file, and says what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from devlint import files
from devlint.config.settings import Settings
from devlint.driver.discover import Failure, Source
from devlint.driver.run import DIED
from devlint.history.older import Told, fresh
from devlint.model.findings import Finding, Safety
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
class _Task:
    source: Source
    unsafe: bool
    older: Told = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Outcome:
    old: bytes = b""
    new: bytes = b""
    applied: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


def fix_all(
    sources: Sequence[Source],
    findings: Iterable[Finding],
    unsafe: bool,
    write: bool,
    jobs: int,
    older: Mapping[str, Told] | None = None,
) -> Fixed:
    """Fix the files that have findings with a fix. Without `write`, only make diffs.

    Those that are `older` stay as they are, by the names of files in messages.
    """
    from devlint.driver.executing import Died
    from devlint.driver.pool import each
    from devlint.fix.patches import unified_diff
    from devlint.writing import rewrite

    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(finding.filename, []).append(finding)
    tasks = [
        _Task(source, unsafe, (older or {}).get(source.shown, {}))
        for source in sources
        if any(_applies(finding, unsafe) for finding in by_file.get(source.shown, ()))
    ]
    names: dict[str, list[str]] = {}
    first: list[_Task] = []
    for task in tasks:
        known = names.setdefault(files.resolve(task.source.path), [])
        if not known:
            first.append(task)  # a file that has several names is fixed by the first
        known.append(task.source.shown)
    result = Fixed()
    if len(first) <= 8:
        jobs = 1
    for task, outcome in each(_fix_file, first, jobs):
        shown = task.source.shown
        if isinstance(outcome, Died):
            outcome = _Outcome(error=DIED)
        error = outcome.error
        if not error and write and outcome.new != outcome.old:
            try:
                rewrite(task.source.path, outcome.old, outcome.new)
            except OSError as failure:
                error = f"can't be fixed: {files.reason(failure)}"
        if error:
            result.failures.append(Failure(shown, error))
            continue
        result.applied += renamed(outcome.applied, shown)
        result.notes.extend(f"{shown}: {note}" for note in outcome.notes)
        if not write:
            result.diffs.append(unified_diff(outcome.old, outcome.new, shown, task.source.language))
        for name in names[files.resolve(task.source.path)]:
            by_file[name] = renamed(outcome.remaining, name)
    result.remaining = [finding for found in by_file.values() for finding in found]
    return result


def _applies(finding: Finding, unsafe: bool) -> bool:
    return finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE)


def _fix_file(task: _Task) -> _Outcome:
    """Fix one file's bytes. As with linting, one bad file must not end the run."""
    try:
        data = _read(task.source)
        return fix_bytes(data, task.source, task.unsafe, task.older)
    except OSError as error:
        return _Outcome(error=files.reason(error))
    except Exception as error:
        return _Outcome(error=f"internal error: {type(error).__name__}: {error}")


def fix_bytes(data: bytes, source: Source, unsafe: bool, older: Told | None = None) -> _Outcome:
    """Fix the content of a file, but for what is older, and what isn't shown."""
    from devlint.applying import fix_source
    from devlint.lint import check_source
    from devlint.verdict.score import is_certain

    least = source.settings.least_confidence

    def shown(finding: Finding) -> bool:
        return is_certain(finding.score, least)

    def check(data: bytes, filename: str, settings: Settings) -> list[Finding]:
        found = check_source(data, filename, settings)
        if not older:
            return found
        new = fresh([*filter(shown, found)], text_of(data, filename, source.language) or "", older)
        return [*new, *(finding for finding in found if not shown(finding))]

    everything = replace(source.settings, pedantic=True)
    result = fix_source(data, source.path, everything, unsafe, check, shown, source.language)
    notes = tuple(
        f"{_row(item.finding)}: the fix of {item.finding.code} was left out: {item.reason}"
        for item in result.dropped
    )
    return _Outcome(data, result.data, result.applied, result.remaining, notes)


def renamed(findings: Iterable[Finding], shown: str) -> list[Finding]:
    """The findings under the name that messages use."""
    return [replace(finding, filename=shown) for finding in findings]


def _read(source: Source) -> bytes:
    return files.read(source.path, files.most_bytes(source.language, source.settings.max_file_size))


def _row(finding: Finding) -> str:
    """`7`, or `cell 3:7`."""
    return finding.span.place.rpartition(":")[0]
