"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types as lsp

from devlint.config.rulebook import page_url
from devlint.model.findings import Finding, Level, Span, Step
from devlint.safety.escaping import shown
from devlint.server.documents import Document
from devlint.server.opened import Opened
from devlint.server.targets import Target

SOURCE = "devlint"
_SEVERITIES = {
    Level.ERROR: lsp.DiagnosticSeverity.Error,
    Level.WARNING: lsp.DiagnosticSeverity.Warning,
    Level.OFF: lsp.DiagnosticSeverity.Information,
}
_MOST_STEPS = 20
"""Steps of one trace that are sent."""


class Diagnostics:
    """Makes the diagnostics of one target. `related`: the editor shows the places of steps."""

    def __init__(self, target: Target, opened: Opened, related: bool) -> None:
        self._target = target
        self._opened = opened
        self._related = related
        self._others: dict[str, Document | None] = {}

    def by_document(self, findings: Sequence[Finding]) -> dict[str, list[lsp.Diagnostic]]:
        """The diagnostics of each text of the target, by its URI."""
        found: dict[str, list[lsp.Diagnostic]] = {each.uri: [] for each in self._target.documents}
        for finding in findings:
            location = self._location(finding.span)
            if location is not None:
                found[location.uri].append(self._diagnostic(finding, location.range))
        return found

    def of(self, finding: Finding, document: Document) -> lsp.Diagnostic | None:
        """The diagnostic of a finding in one of the texts; None where it stands in another."""
        location = self._location(finding.span)
        if location is None or location.uri != document.uri:
            return None
        return self._diagnostic(finding, location.range)

    def _diagnostic(self, finding: Finding, place: lsp.Range) -> lsp.Diagnostic:
        remedy = f"\n{shown(finding.help)}" if finding.help else ""
        return lsp.Diagnostic(
            place,
            shown(finding.message) + remedy,
            _SEVERITIES[finding.level],
            finding.code,
            lsp.CodeDescription(page_url(finding.name)),
            SOURCE,
            related_information=[*self._steps(finding.trace)] if self._related else None,
        )

    def _steps(self, trace: Sequence[Step]) -> Iterator[lsp.DiagnosticRelatedInformation]:
        for step in trace[:_MOST_STEPS]:
            at = self._elsewhere(step) if step.filename else self._location(step.span)
            if at is not None:
                yield lsp.DiagnosticRelatedInformation(at, shown(step.message))

    def _location(self, span: Span) -> lsp.Location | None:
        spot = self._target.spot(span)
        if spot is None:
            return None
        document, start, end = spot
        return lsp.Location(document.uri, document.range(start, end, self._opened.units))

    def _elsewhere(self, step: Step) -> lsp.Location | None:
        """A place in another file."""
        path, span = step.filename, step.span
        if path not in self._others:
            self._others[path] = self._opened.named(path)
        document = self._others[path]
        if document is None:
            return None
        start, end = (span.row, span.column), (span.end_row, span.end_column)
        return lsp.Location(document.uri, document.range(start, end, self._opened.units))


def overlaps(one: lsp.Range, other: lsp.Range) -> bool:
    """Whether two ranges touch."""
    return _place(one.start) <= _place(other.end) and _place(other.start) <= _place(one.end)


def _place(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character
