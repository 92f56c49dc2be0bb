"""What an editor asks for, and gets: hovers, hints, code actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from lsprotocol import types as lsp

from devlint.server import actions, telling
from devlint.server.checking import Checker
from devlint.server.client import Client
from devlint.server.diagnostics import Diagnostics, overlaps
from devlint.server.documents import Document
from devlint.server.opened import Opened
from devlint.server.options import Options
from devlint.server.targets import Target
from devlint.server.values import at

T = TypeVar("T")


class Do(Protocol):
    """Does something in the linter's thread."""

    def __call__(self, function: Callable[..., T], *given: object) -> Awaitable[T]: ...


class Answers:
    """Answers of what is open, for what the editor can do and has set."""

    def __init__(self, opened: Opened, checker: Checker, do: Do) -> None:
        self.opened = opened
        self.checker = checker
        self.client = Client()
        self.options = Options()
        self._do = do

    async def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """What is known of the value at a place, and the pages of rules that are broken there, or
        named."""
        found = self.opened.around(params.text_document.uri)
        if found is None:
            return None
        target, document = found
        place = lsp.Range(params.position, params.position)
        row, column = document.place(params.position, self.opened.units)
        texts, own_row = self.opened.unsaved(), target.row(document, row)
        values = await self._do(self.checker.values, target, texts)
        value = None if own_row is None else at(values, own_row, column)
        told = [] if value is None else [telling.value_text(value, target)]
        page = telling.page_at(document.index.row_text(row), column)
        names = [] if page is None else [page.name]
        outcome = await self._do(self.checker.current, target, texts)
        made = Diagnostics(target, self.opened, False)
        for finding in self.checker.shown(outcome):
            diagnostic = made.of(finding, document)
            if diagnostic is not None and overlaps(diagnostic.range, place):
                names.append(finding.name)
        told += map(telling.page_of, dict.fromkeys(names))
        text = "\n\n---\n\n".join(filter(None, told))
        kind = lsp.MarkupKind.Markdown if self.client.markdown else lsp.MarkupKind.PlainText
        return lsp.Hover(lsp.MarkupContent(kind, text)) if text else None

    async def inlay_hints(self, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        """Where names get what has a place, in some rows."""
        found = self.opened.around(params.text_document.uri)
        if found is None or not self.options.inlay_hints:
            return []
        target, document = found
        first = target.row(document, params.range.start.line + 1)
        last = min(params.range.end.line + 1, document.index.rows)
        if first is None:
            return []
        values = await self._do(self.checker.values, target, self.opened.unsaved())
        hints: list[lsp.InlayHint] = []
        rows = range(first, first + last - params.range.start.line)
        for value, place in telling.hints(values, rows):
            spot = target.spot(value.span)
            if spot is not None and spot[0] == document:
                at_end = document.range(spot[1], spot[2], self.opened.units).end
                hints.append(lsp.InlayHint(at_end, f": {place}", lsp.InlayHintKind.Type))
        return hints

    async def code_actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """What may be done at a range."""
        found = self.opened.around(params.text_document.uri)
        if found is None:
            return []
        target, document = found
        offers = await self._offers(target, document, params.range)
        made: list[lsp.CodeAction] = []
        for offer in offers:
            if actions.wanted(offer, params.context.only):
                action = offer.action(document.uri)
                if not self.client.resolves:
                    await self._complete(action, offer, target)
                    if action.edit is None:
                        continue
                made.append(action)
        return made

    async def resolve(self, action: lsp.CodeAction) -> str:
        """Give an action its edit, or say why it has none; an action of another text gets none."""
        data = action.data if isinstance(action.data, dict) else {}
        found = self.opened.around(str(data.get("uri")))
        if found is not None:
            target, document = found
            for offer in await self._offers(target, document, None):
                if offer.is_of(data):
                    return await self._complete(action, offer, target)
        return ""

    async def _offers(
        self, target: Target, document: Document, near: lsp.Range | None
    ) -> list[actions.Offer]:
        outcome = await self._do(self.checker.current, target, self.opened.unsaved())
        made = Diagnostics(target, self.opened, self.client.related)
        return [*actions.offers(outcome, self.checker.shown(outcome), document, near, made)]

    async def _complete(self, action: lsp.CodeAction, offer: actions.Offer, target: Target) -> str:
        """Give an action its edit, or say why it has none."""
        texts = self.opened.unsaved()
        found, reason = await self._do(actions.changed, offer, target, self.checker, texts)
        become = [
            (each, data)
            for path, data in found.items()
            if (each := target if path == target.path else self.opened.file(path)) is not None
        ]
        if become:
            units, versions = self.opened.units, self.client.versions
            action.edit = actions.workspace_edit(become, units, versions)
        return reason
