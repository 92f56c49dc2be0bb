"""Applies the fixes of a run, file by file, and says what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from devlint.config.sources import Failure, Source
from devlint.driver.run import DIED
from devlint.fix.file import Outcome, fix_bytes
from devlint.fix.results import Change, Fixed, read, renamed
from devlint.model.findings import Finding, Safety
from devlint.model.older import Told
from devlint.safety import files


@dataclass(frozen=True, slots=True)
class _Task:
    source: Source
    unsafe: bool
    older: Told = field(default_factory=dict)


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
    from devlint.fix.across import Pass
    from devlint.fix.patches import unified_diff
    from devlint.safety.writing import rewrite

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
    changed: dict[str, Change] = {}
    waiting: dict[str, tuple[Finding, ...]] = {}
    for task, outcome in each(_fix_file, first, jobs):
        shown = task.source.shown
        if isinstance(outcome, Died):
            outcome = Outcome(error=DIED)
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
        waiting[shown] = outcome.waiting
        changed[task.source.path] = Change(task.source, outcome.old, outcome.new)
        for name in names[files.resolve(task.source.path)]:
            by_file[name] = renamed(outcome.remaining, name)
    if unsafe:
        Pass(sources, by_file, waiting, changed, result, write, older or {}).run()
    if not write:
        result.diffs = [
            unified_diff(each.old, each.new, each.source.shown, each.source.language)
            for each in changed.values()
        ]
    result.remaining = [finding for found in by_file.values() for finding in found]
    return result


def _applies(finding: Finding, unsafe: bool) -> bool:
    """Whether a fix of the file's own is applied."""
    if finding.fix is None or finding.fix.filename:
        return False
    return unsafe or finding.fix.safety is Safety.SAFE


def _fix_file(task: _Task) -> Outcome:
    """Fix one file's bytes. As with linting, one bad file must not end the run."""
    try:
        data = read(task.source)
        return fix_bytes(data, task.source, task.unsafe, task.older)
    except OSError as error:
        return Outcome(error=files.reason(error))
    except Exception as error:
        return Outcome(error=f"internal error: {type(error).__name__}: {error}")
