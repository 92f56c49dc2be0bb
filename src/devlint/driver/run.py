"""Lints many files: from the cache where nothing changed, the others in parallel processes."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from devlint.config.selection import FAILURES
from devlint.config.settings import Settings
from devlint.config.sources import Failure, Source
from devlint.driver.cache import Cache, Entry, content, digest
from devlint.driver.recall import distinct, keys_of, recall
from devlint.model.codec import (
    decode,
    decode_counts,
    decode_coverage,
    encode,
    encode_counts,
    encode_coverage,
)
from devlint.model.findings import LESS_CERTAIN, NOTHING_MEETS, Coverage, Finding
from devlint.safety import files
from devlint.safety.files import PYTHON, UNSEEN, Look, look

if TYPE_CHECKING:
    from devlint.driver.executing import Died
    from devlint.lint import Checked

SMALL = 60
"""Up to this many files a run stays in one process: others take as long to start."""

_TICK = 10_000_000
"""Nanoseconds by which the time of a change may be earlier than the change."""

DIED = "internal error: the process died, out of memory or by a crash"

Progress = Callable[[int, int], None]
Lint = Callable[[Sequence[Source]], Iterator["tuple[Source, Outcome | Died]"]]
"""Lints files wherever that is, and gives what comes of each as it comes."""


@dataclass(slots=True)
class Result:
    """What a run found, in the order of the paths. `details` are tracebacks of `failures`."""

    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    files: int = 0
    cached: int = 0
    unchecked: int = 0
    """Files that DEV001 or DEV003 tells of: they count as failures as well."""
    coverage: Coverage = NOTHING_MEETS
    """Of the places where tensors meet, how many are decided, in all files."""
    withheld_by: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of the files in which findings are withheld, by path: how many, and by what."""
    consulted: dict[str, str] = field(default_factory=dict)
    """What the findings of a file hang on besides, as `Outcome` has it: of the files with findings,
    by path, where nothing has changed meanwhile."""

    hang_on: set[str] = field(default_factory=set)
    """The same of all files, each once, without the paths."""
    seconds: dict[str, float] = field(default_factory=dict)
    """What each file took that wasn't in the cache, by path."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file. `error` and `details` tell of an internal error, else are ""."""

    findings: str = ""
    failed: bool = False
    look: Look = UNSEEN
    digest: str = ""
    consulted: str = ""
    coverage: str = ""
    withheld_by: str = ""
    refused: tuple[tuple[str, str], ...] = ()
    """Files that imports lead to and that weren't opened: their paths, and why."""
    raced: bool = False
    """Something that was consulted has changed meanwhile."""
    seconds: float = 0.0
    """What the file took."""
    error: str = ""
    details: str = ""

    @property
    def lasting(self) -> bool:
        """Whether it is a result of the file's content, so that it may be kept."""
        return bool(self.digest) and not (self.error or self.refused or self.raced)


def run(
    sources: Sequence[Source],
    jobs: int,
    cache: Cache | None = None,
    progress: Progress = lambda done, total: None,
    elsewhere: Lint | None = None,
) -> Result:
    """Lint the files. `progress` is told how many, of how many uncached ones, are done.

    `elsewhere` does the work, instead of processes of this machine. Raises `SettingsError` where a
    selector or a row of the settings stands for nothing, and `ExecutorError`.
    """
    keys = keys_of(sources)
    recalled: dict[str, Entry] = {} if cache is None else recall(sources, keys, cache)
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    todo = [source for source in sources if source.path not in recalled]
    if todo:
        _validate(source.settings for source in todo)
        try:
            for source, outcome in _lint(todo, jobs, progress, elsewhere):
                outcomes[source.path] = outcome
                seconds[source.path] = outcome.seconds
                if cache is not None and outcome.lasting:
                    entry = Entry(
                        outcome.look, outcome.digest, outcome.findings, outcome.consulted,
                        outcome.coverage, outcome.withheld_by,
                    )  # fmt: skip
                    cache.add(keys[source.settings], source.path, entry)
        finally:  # what an interrupted run has found is not lost
            if cache is not None:
                cache.flush()
    result = Result(files=len(sources), cached=len(sources) - len(todo), seconds=seconds)
    covered: list[str] = []
    for source in sources:
        known = recalled.get(source.path)
        if known is None:
            _collect(result, source, outcomes[source.path])
            covered.append(outcomes[source.path].coverage)
            _note_withheld(result, source, outcomes[source.path].withheld_by)
            continue
        covered.append(known.coverage)
        result.hang_on.add(known.consulted or "{}")
        _note_withheld(result, source, known.withheld_by)
        found = decode(known.findings, source.shown)
        result.findings += found
        result.unchecked += any(finding.code in FAILURES for finding in found)
        if found:
            result.consulted[source.path] = known.consulted
    result.coverage = _summed(covered)
    result.findings = fixable_within(result.findings, sources)
    return result


def fixable_within(findings: Iterable[Finding], sources: Iterable[Source]) -> list[Finding]:
    """Findings, without the fixes that change a file which isn't one of those that are linted."""
    known = {source.path for source in sources}
    return [
        replace(each, fix=None)
        if each.fix is not None
        and each.fix.filename
        and os.path.abspath(each.fix.filename) not in known
        else each
        for each in findings
    ]


def _note_withheld(result: Result, source: Source, counts: str) -> None:
    if counts:
        result.withheld_by[source.path] = decode_counts(counts)


def _summed(covered: Iterable[str]) -> Coverage:
    """How much of several files is decided. Most of them have nothing to decide."""
    decided, causes = 0, Counter[str]()
    for coverage in map(decode_coverage, filter(None, covered)):
        decided += coverage.decided
        causes.update(dict(coverage.unknown))
    return Coverage.of(decided, causes)


def _validate(settings: Iterable[Settings]) -> None:
    from devlint.project.plan import prepare

    for item in distinct(settings):
        prepare(item)


def _lint(
    todo: list[Source], jobs: int, progress: Progress, elsewhere: Lint | None
) -> Iterable[tuple[Source, Outcome]]:
    from devlint.driver.executing import Died
    from devlint.driver.pool import each

    linted = each(check_file, todo, 1 if len(todo) <= SMALL else jobs)
    if elsewhere is not None:
        linted = elsewhere(todo)
    for done, (source, outcome) in enumerate(linted, start=1):
        if isinstance(outcome, Died):
            why = (
                f"internal error: nothing came back ({outcome.reason})" if outcome.reason else DIED
            )
            outcome = Outcome(failed=True, error=why)
        yield source, outcome
        progress(done, len(todo))


def check_file(source: Source) -> Outcome:
    """Read and lint one file, whatever happens: this is the guard around every file."""
    began = time.perf_counter()
    return replace(_check_file(source), seconds=time.perf_counter() - began)


def _check_file(source: Source) -> Outcome:
    most = files.most_bytes(source.language, source.settings.max_file_size)
    try:
        with files.opened(source.path) as descriptor:
            seen = look(os.fstat(descriptor))
            data = files.read_from(descriptor, source.path, most)
    except files.TooLargeError:
        from devlint.lint import too_large

        return _unreadable(source, too_large(source.settings, source.path))
    except OSError as error:
        return _unreadable(source, files.reason(error))
    return replace(check_bytes(data, source), look=seen, digest=digest(data))


def _unreadable(source: Source, reason: str) -> Outcome:
    from devlint.lint import unreadable

    findings = unreadable(source.path, reason, source.settings)
    return Outcome(encode(findings), bool(findings))


def check_bytes(data: bytes, source: Source) -> Outcome:
    """Lint the content of a file, whatever happens."""
    from devlint.lint import check

    began = time.time_ns()
    try:
        checked = check(data, source.path, source.settings)
        if any(finding.fix for finding in checked.findings):
            checked = replace(checked, findings=_with_fixes_that_hold(checked, data, source))
    except Exception as error:  # a bug of devlint's must not end the run over other files
        import traceback

        text = " ".join(str(error).split())
        return Outcome(
            failed=True,
            error=f"internal error: {type(error).__name__}: {text}".rstrip(": "),
            details=traceback.format_exc(),
        )
    contents = {path: content(path) for path in sorted(checked.consulted)}
    return Outcome(
        encode(checked.findings),
        any(finding.code in FAILURES for finding in checked.findings),
        consulted=json.dumps(contents, separators=(",", ":")) if contents else "",
        coverage=encode_coverage(checked.coverage),
        withheld_by=encode_counts(checked.withheld_by),
        refused=checked.refused,
        raced=any(_changed(path) >= began - _TICK for path in contents),
    )


def _with_fixes_that_hold(checked: Checked, data: bytes, source: Source) -> list[Finding]:
    """Findings, with those of their fixes that are applied where that is asked for."""
    from devlint.fix.applying import offered
    from devlint.lint import check_source
    from devlint.verdict.score import is_certain

    least = source.settings.least_confidence
    everything = replace(source.settings, pedantic=True)

    def shown(finding: Finding) -> bool:
        return is_certain(finding.score, least)

    def read(path: str) -> bytes:
        return files.read(path, files.most_bytes(PYTHON, source.settings.max_file_size))

    return offered(
        checked.findings, data, source.path, everything, check_source, shown, read,
        source.language, are_all=not checked.withheld_by.get(LESS_CERTAIN),
    )  # fmt: skip


def _changed(path: str) -> int:
    """When a file was changed, in nanoseconds; 0 where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return max(status.st_ctime_ns, status.st_mtime_ns)


def _collect(result: Result, source: Source, outcome: Outcome) -> None:
    if outcome.error:
        result.failures.append(Failure(source.shown, outcome.error))
        if outcome.details:
            result.details[source.shown] = outcome.details
        return
    current = os.path.join(os.getcwd(), "")
    for path, why in outcome.refused:
        failure = Failure(path.removeprefix(current), why)
        if failure not in result.failures:
            result.failures.append(failure)
    result.unchecked += outcome.failed
    result.hang_on.add(outcome.consulted or "{}")
    if outcome.findings:
        result.findings.extend(decode(outcome.findings, source.shown))
        if outcome.lasting:
            result.consulted[source.path] = outcome.consulted
