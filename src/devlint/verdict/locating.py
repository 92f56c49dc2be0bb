"""Reports about nodes become findings about spans."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from devlint.config.rulebook import Page
from devlint.model.findings import Edit, Finding, Fix, Span, Step
from devlint.model.reports import Change, Hop, Report, Rewrite, options
from devlint.source.spots import File, path_of, span_of
from devlint.verdict.score import score

if TYPE_CHECKING:
    from devlint.source.document import Document


Files = Callable[[str], File | None]
"""The files that were followed, by their paths."""
Documents = Callable[[str], "Document | None"]
"""The same as documents; None for what can't be read any more."""


def no_files(path: str) -> None:
    """Where no file is followed."""


def locate(
    report: Report,
    page: Page,
    document: Document | None,
    filename: str,
    files: Files = no_files,
    documents: Documents = no_files,
) -> Finding:
    if document is None:
        origin = report.at.origin
        assert isinstance(origin, Span)
        span, statement = origin, (origin.row, origin.row)
    else:
        span = document.locate(report.at)
        statement = document.statement_rows(span.row)
    fix, remedy = None, ""
    if report.fix is not None and document is not None:
        fix, remedy = _fix(report.fix, document, documents)
    return Finding(
        filename=filename,
        code=page.code,
        name=page.name,
        message=report.message,
        level=report.level or page.level,
        span=span,
        trace=_trace(report, document, files),
        fix=fix,
        help=remedy or report.help,
        statement=statement,
        confidence=report.confidence,
        sorts=report.sorts,
        score=score(page.code, report.sorts),
    )


def _trace(report: Report, document: Document | None, files: Files) -> tuple[Step, ...]:
    if document is None:
        return ()
    steps = (_step(hop, document, files) for hop in report.because)
    return tuple(step for step in steps if step is not None)


def _step(hop: Hop, document: Document, files: Files) -> Step | None:
    """A hop in this file, or in one that was followed; None where that can't be read any more."""
    path = path_of(hop.node.origin)
    if path is None or path == os.path.abspath(document.filename):
        return Step(document.locate(hop.node), hop.message, "", hop.value, hop.device)
    file = files(path)
    span = None if file is None else span_of(hop.node.origin, file)
    return None if span is None else Step(span, hop.message, path, hop.value, hop.device)


def _fix(change: Change, document: Document, documents: Documents) -> tuple[Fix | None, str]:
    """The fix that can be made of those that a change offers, and its words."""
    for path in dict.fromkeys(_path(option) for option in options(change)):
        there = "" if path in (None, os.path.abspath(document.filename)) else path or ""
        changed = documents(there) if there else document
        made = None if changed is None else _made(change, changed, [])
        edits = None if changed is None or not made else _edits(made, changed)
        if made and edits:
            more = len(made) - 1
            message = f"{made[0].message}, and {more} more like it" if more else made[0].message
            return Fix(message, made[0].safety, tuple(edits), there), made[0].help
    return None, ""


def _path(change: Change) -> str | None:
    """The file that a fix changes."""
    return path_of(change.rewrites[0].start.node.origin) if change.rewrites else None


def _made(change: Change, document: Document, before: list[Change]) -> list[Change] | None:
    """The first option that can be made, and those that go with it. What is done at one place
    `before` isn't done there once more."""
    taken = {_place(rewrite) for each in before for rewrite in each.rewrites}
    for option in options(change):
        made: list[Change] | None = before
        if not taken.issuperset(map(_place, option.rewrites)):
            if not _can_be_made(option, document):
                continue
            made = [*before, option]
            if before and _edits(made, document) == _edits(before, document):
                made = before
        for other in option.also:
            made = None if made is None else _made(other, document, made)
        if made is not None:
            return made
    return None


def _edits(made: list[Change], document: Document) -> list[Edit] | None:
    return document.edits(rewrite for each in made for rewrite in each.rewrites)


def _place(rewrite: Rewrite) -> tuple[object, ...]:
    return rewrite.start, rewrite.end, rewrite.part


def _can_be_made(change: Change, document: Document) -> bool:
    if not change.rewrites or not all(_is_in(each, document) for each in change.rewrites):
        return False
    if not _mean_the_same(change, document):
        return False
    if not document.in_one_class(change.peers) or _is_too_early(change, document):
        return False
    if document.edits(change.rewrites) is None:
        return False
    return all(document.is_bound(name, change.rewrites[0]) for name in change.names)


def _is_in(rewrite: Rewrite, document: Document) -> bool:
    return path_of(rewrite.start.node.origin) in (None, os.path.abspath(document.filename))


def _is_too_early(change: Change, document: Document) -> bool:
    """Whether a fix would stand above what has to be done before, in the same function."""
    after, first = change.after, change.rewrites[0]
    if after is None or path_of(after.origin) not in (None, os.path.abspath(document.filename)):
        return False
    if not document.in_one_function((first.start.node, after)):
        return False
    return document.row_of(first) < document.locate(after).row


def _mean_the_same(change: Change, document: Document) -> bool:
    """Whether the names of a fix stand for one thing at all of the nodes that have to be together;
    one without names may use any name of theirs."""
    if not change.names:
        return document.in_one_function(change.together)
    scopes = [document.scopes_of(change.names, node) for node in change.together]
    return all(each == scopes[0] for each in scopes)
