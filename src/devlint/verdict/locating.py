"""Reports about nodes become findings about spans."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from devlint.model.findings import Change, Edit, Finding, Fix, Hop, Report, Span, Step
from devlint.rulebook import Page
from devlint.source.spots import File, path_of, span_of
from devlint.verdict.score import score

if TYPE_CHECKING:
    from devlint.source.document import Document


Files = Callable[[str], File | None]
"""The files that were followed, by their paths."""


def no_files(path: str) -> None:
    """Where no file is followed."""


def locate(
    report: Report,
    page: Page,
    document: Document | None,
    filename: str,
    files: Files = no_files,
) -> Finding:
    if document is None:
        origin = report.at.origin
        assert isinstance(origin, Span)
        span, statement = origin, (origin.row, origin.row)
    else:
        span = document.locate(report.at)
        statement = document.statement_rows(span.row)
    return Finding(
        filename=filename,
        code=page.code,
        name=page.name,
        message=report.message,
        level=report.level or page.level,
        span=span,
        trace=_trace(report, document, files),
        fix=None if report.fix is None or document is None else _fix(report.fix, document),
        help=report.help,
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


def _fix(change: Change, document: Document) -> Fix | None:
    edits = _edits(change, document)
    if edits:
        return Fix(change.message, change.safety, edits)
    return None if change.otherwise is None else _fix(change.otherwise, document)


def _edits(change: Change, document: Document) -> tuple[Edit, ...]:
    """The edits of a fix; none where it can't be made there."""
    if not change.rewrites or not document.in_one_function(change.together):
        return ()
    starts = [document.locate(node).start for node in change.together]
    if change.in_order and starts != sorted(starts):
        return ()
    first = change.rewrites[0].start.node
    if not all(document.is_bound(name, first) for name in change.names):
        return ()
    edits = [document.edit(rewrite) for rewrite in change.rewrites]
    if None in edits:
        return ()
    return tuple(sorted(filter(None, edits), key=lambda edit: edit.span.start))
