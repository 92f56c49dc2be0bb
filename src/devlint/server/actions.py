"""Code actions: the fix of a finding, all safe fixes, a comment that suppresses it.

An action is made without its edit where the editor asks for that later, when it is chosen: each
edit is linted before it is given, as `--fix` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from devlint.fix.suppress import is_about_file
from devlint.model.findings import Finding, Safety
from devlint.safety.escaping import shown
from devlint.server.checking import Checker, Outcome, Texts
from devlint.server.diagnostics import SOURCE, Diagnostics, overlaps
from devlint.server.documents import Document, Units
from devlint.server.edits import text_edits
from devlint.server.targets import NotebookTarget, Target
from devlint.source.errors import SourceError

FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.{SOURCE}"
FIX_ALL_CELLS = f"notebook.{FIX_ALL}"
KINDS = (lsp.CodeActionKind.QuickFix.value, FIX_ALL, FIX_ALL_CELLS)
_FIX, _ALL, _IGNORE = "fix", "fixAll", "ignore"


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that may be taken: `what` of the three, and of which finding."""

    title: str
    kind: str
    what: str
    finding: Finding | None = None
    diagnostic: lsp.Diagnostic | None = None

    def action(self, uri: str) -> lsp.CodeAction:
        """As the editor is told of it; its edit follows."""
        finding = self.finding
        fix = None if finding is None or self.what != _FIX else finding.fix
        data = {"uri": uri, "what": self.what}
        if finding is not None:
            data |= {"code": finding.code, "start": str(finding.span.start)}
        return lsp.CodeAction(
            self.title,
            self.kind,
            [self.diagnostic] if self.diagnostic is not None else None,
            is_preferred=True if fix is not None and fix.safety is Safety.SAFE else None,
            data=data,
        )

    def is_of(self, data: dict[str, object]) -> bool:
        """Whether an action that the editor gives back was made of this."""
        mine = self.action("").data
        return isinstance(mine, dict) and all(
            data.get(key) == value for key, value in mine.items() if key != "uri"
        )


def offers(
    outcome: Outcome, shown_ones: list[Finding], document: Document, near: lsp.Range | None,
    diagnostics: Diagnostics,
) -> Iterator[Offer]:  # fmt: skip
    """All that is offered at a range of a text; anywhere without one."""
    for finding in shown_ones:
        diagnostic = diagnostics.of(finding, document)
        if diagnostic is None or (near is not None and not overlaps(diagnostic.range, near)):
            continue
        quick = lsp.CodeActionKind.QuickFix.value
        if finding.fix is not None and finding.fix.edits:
            there = os.path.basename(finding.fix.filename)
            where = f", in {shown(there)}" if there else ""
            unsafe = "" if finding.fix.safety is Safety.SAFE else " (unsafe)"
            title = f"Fix: {shown(finding.fix.message)}{where}{unsafe}"
            yield Offer(title, quick, _FIX, finding, diagnostic)
        if not is_about_file(finding):
            yield Offer(f"Ignore {finding.code} here", quick, _IGNORE, finding, diagnostic)
    if any(each.fix is not None and each.fix.safety is Safety.SAFE for each in shown_ones):
        is_notebook = isinstance(outcome.target, NotebookTarget)
        kind = FIX_ALL_CELLS if is_notebook else FIX_ALL
        yield Offer("devlint: fix all safe problems", kind, _ALL)


def wanted(offer: Offer, only: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    """Whether the editor asks for such actions: kinds are like paths, with dots."""
    if only is None:
        return True
    kinds = (kind.value if isinstance(kind, lsp.CodeActionKind) else kind for kind in only)
    return any(not kind or f"{offer.kind}.".startswith(f"{kind}.") for kind in kinds)


def changed(offer: Offer, target: Target, checker: Checker, texts: Texts) -> tuple[Texts, str]:
    """What becomes of files, by their paths, or nothing and why."""
    if offer.finding is None:
        found, reason = {target.path: checker.fix_all(target, texts)}, "no safe fix works"
    elif offer.what == _FIX:
        found, reason = checker.fix(target, offer.finding, texts)
        reason = f"the fix of {offer.finding.code} was left out: {reason}"
    else:
        data = checker.suppress(target, offer.finding, texts)
        found = {} if data is None else {target.path: data}
        reason = f"there is no place for a comment that ignores {offer.finding.code}"
    if found.get(target.path) == target.data:
        del found[target.path]
    return found, "" if found else reason


def workspace_edit(
    become: Iterable[tuple[Target, bytes]], units: Units, with_versions: bool
) -> lsp.WorkspaceEdit | None:
    """The edits that make files out of what is open; None where one can't be read any more."""
    try:
        texts = [each for target, data in become for each in target.texts(data)]
    except SourceError:
        return None
    edited = [
        (document, edits)
        for document, text in texts
        if (edits := text_edits(document, text, units))
    ]
    if not with_versions:
        return lsp.WorkspaceEdit(changes={document.uri: edits for document, edits in edited})
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.TextDocumentEdit(
                lsp.OptionalVersionedTextDocumentIdentifier(document.uri, document.version),
                list(edits),
            )
            for document, edits in edited
        ]
    )
