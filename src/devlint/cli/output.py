"""Prints what a run found, and decides how it ends."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from devlint.cli.many import shard_record
from devlint.cli.session import Session
from devlint.cli.terminal import knows_links
from devlint.config.selection import FAILURES
from devlint.config.settings import SettingsError
from devlint.model.findings import Finding
from devlint.report import WITH_CLOSING, Summary, fixes, left_out, painted_diffs, render, statistics


def report(session: Session, findings: list[Finding]) -> int:
    """Leave out what the baseline lists, print the rest and decide on the exit code."""
    options, settings = session.options, session.settings
    _say_left_out(session)
    _say_fixes(session)
    if options.diff or settings.fix_only:
        session.tell([finding for finding in findings if finding.code in FAILURES])
    if options.diff:
        count = session.fixed
        session.say(f"Would fix {count} finding{'' if count == 1 else 's'}.")
        return session.finish([], changed=bool(count))
    if options.baseline is not None:
        findings = _after_baseline(session, findings)
    if settings.fix_only:
        session.say(f"Fixed {session.fixed} finding{'' if session.fixed == 1 else 's'}.")
        findings = []
    else:
        session.write(_rendered(session, findings))
    changed = bool(session.fixed) and options.exit_non_zero_on_fix
    return session.finish(findings, changed)


def _rendered(session: Session, findings: list[Finding]) -> str:
    options, settings = session.options, session.settings
    output_format = settings.output_format
    color = _wants_color(options)
    if options.statistics:
        return statistics(output_format, findings, color)
    links = color and options.output_file is None and knows_links(session.stream or sys.stdout)
    return render(
        output_format, findings, _summary(session, findings), color, session.sources, links
    )


def _summary(session: Session, findings: list[Finding] | None = None) -> Summary:
    older = session.older
    return Summary(
        session.files,
        session.fixed,
        tuple(session.failures),
        Path(session.settings.root or os.getcwd()),
        closing=not session.options.quiet,
        coverage=session.coverage,
        withheld_by=session.withheld_by,
        since="" if older is None else older.name,
        older={} if older is None else older.counts,
        fixes=tuple(session.applied) if session.settings.show_fixes else (),
        shard=None if findings is None else shard_record(session, findings),
    )


def _say_left_out(session: Session) -> None:
    """Say how many older findings aren't shown, where the output itself doesn't."""
    if not _closes(session) and (text := left_out(_summary(session))):
        session.say(f"devlint:{text}")


def _say_fixes(session: Session) -> None:
    """List what was fixed, or would be, where the output itself doesn't."""
    if not _closes(session):
        for text in fixes(_summary(session), session.options.diff).splitlines():
            session.say(text)


def _closes(session: Session) -> bool:
    """Whether the output ends with lines on the run as a whole."""
    options, settings = session.options, session.settings
    is_whole = not (options.diff or settings.fix_only or options.statistics)
    return is_whole and settings.output_format in WITH_CLOSING


def shown_diffs(session: Session, diffs: Sequence[bytes]) -> str | bytes:
    """Diffs in colour for whoever reads them, else as they are: a patch, whatever the environment
    says of colour."""
    options, stream = session.options, session.stream or sys.stdout
    is_read = options.color == "always" or stream.isatty()
    if options.output_file is None and is_read and _wants_color(options):
        return painted_diffs(diffs)
    return b"".join(diffs)


def _after_baseline(session: Session, findings: list[Finding]) -> list[Finding]:
    from devlint.driver import baseline

    path = Path(session.options.baseline)
    failures = [finding for finding in findings if finding.code in FAILURES]
    others = [finding for finding in findings if finding.code not in FAILURES]
    try:
        if not os.path.lexists(path):
            if session.older is not None:
                raise SettingsError(f"{path}: there is no such baseline: write it without --since")
            listed = _with_withheld(session, others)
            baseline.write(path, listed, session.sources)
            count = len(listed)
            session.say(f"Wrote a baseline of {count} finding{'s' * (count != 1)} to {path}.")
            return failures
        unchecked = {each.filename for each in failures}
        unchecked |= {each.filename for each in session.failures}
        run = baseline.Run(session.linted, unchecked)
        if session.options.update_baseline:
            listed = _with_withheld(session, others)
            new, gone = baseline.update(path, listed, session.sources, run)
            session.say(_updated(path, new, gone))
            return failures
        if session.older is None and baseline.obsolete(path, others, session.sources, run):
            listed = _with_withheld(session, others)
            if gone := baseline.obsolete(path, listed, session.sources, run):
                some = "1 entry matches" if gone == 1 else f"{gone} entries match"
                them = "it" if gone == 1 else "them"
                session.say(f"{path}: {some} nothing any more: --update-baseline removes {them}.")
        before = {} if session.older is None else session.older.counts
        return failures + baseline.new_findings(path, others, session.sources, before)
    except baseline.BaselineError as error:
        raise SettingsError(str(error)) from error


def _with_withheld(session: Session, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, and those that are withheld: a row that is turned off later, a finding that
    scores more by then, and `pedantic` must not make findings new that were there before."""
    listed = {(each.filename, each.code, each.span): each for each in findings}
    for each in session.unsifted():
        if each.code not in FAILURES:
            listed.setdefault((each.filename, each.code, each.span), each)
    return list(listed.values())


def _updated(path: Path, new: int, gone: int) -> str:
    if not new and not gone:
        return f"{path} lists what is found: nothing to update."
    return f"Updated {path}: {new} added, {gone} removed."


def _wants_color(options: argparse.Namespace) -> bool:
    if options.color != "auto":
        return bool(options.color == "always")
    if options.output_file is not None or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
