"""`devlint -`, or a name for it alone: lints what comes on standard input."""

from __future__ import annotations

import os
import sys

from devlint.cli.arguments import UsageError
from devlint.cli.output import report, shown_diffs
from devlint.cli.session import Session
from devlint.config.sources import Failure, Source
from devlint.driver.ignoring import is_excluded
from devlint.driver.run import check_bytes, fixable_within
from devlint.model.codec import decode, decode_counts
from devlint.safety.files import LARGEST_SOURCE, LONGEST_PATH, UNSEEN
from devlint.source.reading import text_of


def check_stdin(session: Session) -> int:
    """Lint standard input. With --fix, the fixed text goes to stdout and the report to stderr."""
    options = session.options
    if options.paths not in ([], ["-"]):
        what = "`-` stands" if "-" in options.paths else "--stdin-filename stands"
        raise UsageError(f"{what} for standard input and can't be mixed with paths")
    for name in ("add_ignore", "baseline", "since"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} needs files, not standard input")
    shown = options.stdin_filename or "-"
    path = os.path.abspath(options.stdin_filename or "stdin.py")
    if len(path) > LONGEST_PATH:
        raise UsageError(f"--stdin-filename is longer than {LONGEST_PATH:,} characters")
    data = sys.stdin.buffer.read(LARGEST_SOURCE + 1)
    if len(data) > LARGEST_SOURCE:
        raise UsageError(f"standard input is larger than {LARGEST_SOURCE:,} bytes")
    settings = session.configuration.for_folder(os.path.dirname(path))
    source = Source(path, shown, settings, UNSEEN)
    session.settings, session.files = settings, 1
    text = text_of(data, path, source.language)
    session.sources = lambda filename: text if filename == shown else None
    fixing = settings.fix or settings.fix_only
    if settings.force_exclude and is_excluded(path, settings):
        if fixing and not options.diff:
            _write_bytes(data)
        return session.finish([])
    outcome = check_bytes(data, source)
    if outcome.error:
        session.failures.append(Failure(shown, outcome.error))
        session.detail(outcome.details)
    session.withheld_by = decode_counts(outcome.withheld_by)
    session.unchecked = int(outcome.failed and not outcome.error)
    findings = fixable_within(decode(outcome.findings, shown), (source,))
    if not (fixing or options.diff) or outcome.error:
        if fixing and not options.diff:
            _write_bytes(data)
            session.stream = sys.stderr
        return report(session, findings)
    return _fix(session, source, data)


def _fix(session: Session, source: Source, data: bytes) -> int:
    from devlint.fix.file import fix_bytes
    from devlint.fix.patches import unified_diff
    from devlint.fix.results import renamed

    fixed = fix_bytes(data, source, session.settings.unsafe_fixes)
    session.applied = renamed(fixed.applied, source.shown)
    for note in fixed.notes:
        session.say(f"devlint: {source.shown}:{note}")
    if session.options.diff:
        diff = unified_diff(fixed.old, fixed.new, source.shown, source.language)
        session.write(shown_diffs(session, [diff]))
    else:
        _write_bytes(fixed.new)
        text = text_of(fixed.new, source.path, source.language)
        session.sources = lambda filename: text if filename == source.shown else None
        session.stream = sys.stderr
    left = fixable_within(renamed(fixed.remaining, source.shown), (source,))
    return report(session, left)


def _write_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
