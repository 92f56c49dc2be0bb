"""An editor, as the tests drive one: pygls' own client over the server's standard streams."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from devlint.model.findings import Edit
from devlint.model.spans import LineIndex, apply_edits

PATIENCE = 60
"""Seconds, on a machine that does much else."""

COMMAND = Path(sys.executable).with_name("devlint" + (".exe" if os.name == "nt" else ""))
"""As an editor starts it: `python -m` would look for modules in the current folder first."""

WORDS = ("--config", 'ignore=["DEV103"]')
"""Tests name devices as nobody should."""

GPU = 'import torch\n\nx = torch.ones(3, device="cuda")\ny = x.numpy()\n'
"""DEV205 in row 4, with a safe fix."""
BOTH = f'{GPU}z = x + torch.ones(3)\nd = torch.device("gpu")\nw = 1  # devlint: ignore[DEV101]\n'
"""DEV205, DEV202 and DEV304 with unsafe ones, DEV002 with a safe one."""

UTF16 = lsp.PositionEncodingKind.Utf16


def driven(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that runs in a loop of its own, and ends."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 4 * PATIENCE))

    return run


def capabilities(
    encodings: Sequence[lsp.PositionEncodingKind] = (UTF16,), resolves: bool = True
) -> lsp.ClientCapabilities:
    """What an editor can do that can all that the server asks for."""
    resolved = lsp.ClientCodeActionResolveOptions(["edit"]) if resolves else None
    return lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=list(encodings)),
        text_document=lsp.TextDocumentClientCapabilities(
            publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(related_information=True),
            hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.Markdown]),
            code_action=lsp.CodeActionClientCapabilities(resolve_support=resolved),
        ),
        workspace=lsp.WorkspaceClientCapabilities(
            configuration=True,
            workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(
                dynamic_registration=True
            ),
            inlay_hint=lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        ),
        notebook_document=lsp.NotebookDocumentClientCapabilities(
            lsp.NotebookDocumentSyncClientCapabilities()
        ),
    )


class Editor:
    """What a test asks an editor to do, and what the server has told it."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.published: dict[str, list[lsp.PublishDiagnosticsParams]] = {}
        self.shown: list[str] = []
        self.logged: list[str] = []
        self.watched: list[str] = []
        self.refreshed = 0
        self.settings: object = None
        """What the editor's user has set for the server."""
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._news = asyncio.Event()
        self._listen()

    def _listen(self) -> None:
        def published(found: lsp.PublishDiagnosticsParams) -> None:
            self.published.setdefault(found.uri, []).append(found)
            self._news.set()

        def shown(message: lsp.ShowMessageParams) -> None:
            self.shown.append(message.message)
            self._news.set()

        def logged(message: lsp.LogMessageParams) -> None:
            self.logged.append(message.message)
            self._news.set()

        def registered(asked: lsp.RegistrationParams) -> None:
            for each in asked.registrations:
                self.watched += [
                    watcher["globPattern"] for watcher in each.register_options["watchers"]
                ]

        def configured(asked: lsp.ConfigurationParams) -> list[object]:
            return [self.settings for _ in asked.items]

        def refreshed(*_: object) -> None:
            self.refreshed += 1
            self._news.set()

        for name, handler in {
            lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: published,
            lsp.WINDOW_SHOW_MESSAGE: shown,
            lsp.WINDOW_LOG_MESSAGE: logged,
            lsp.CLIENT_REGISTER_CAPABILITY: registered,
            lsp.WORKSPACE_CONFIGURATION: configured,
            lsp.WORKSPACE_INLAY_HINT_REFRESH: refreshed,
        }.items():
            self.client.feature(name)(handler)

    # --- start and end

    async def start(
        self, folders: Sequence[Path], able: lsp.ClientCapabilities, options: object, *words: str
    ) -> lsp.InitializeResult:
        await self.client.start_io(str(COMMAND), "server", *words, cwd=folders[0])
        result = await self.client.initialize_async(
            lsp.InitializeParams(
                able,
                workspace_folders=[
                    lsp.WorkspaceFolder(each.as_uri(), each.name) for each in folders
                ],
                initialization_options=options,
            )
        )
        self.client.initialized(lsp.InitializedParams())
        return result

    async def leave(self) -> int:
        """Shut the server down; its exit code."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        return await self.exit_code()

    async def exit_code(self) -> int:
        assert self.client._server is not None
        code = await asyncio.wait_for(self.client._server.wait(), PATIENCE)
        await self.client.stop()
        return code

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self.client._server is not None
        return self.client._server

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds by what the server tells."""
        async with asyncio.timeout(PATIENCE) if hasattr(asyncio, "timeout") else _forever():
            while not holds():
                self._news.clear()
                await self._news.wait()

    # --- texts

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.texts[uri], self.versions[uri] = text, 1
        item = lsp.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def type(self, uri: str, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Replace what is between two places, rows and characters as the protocol counts them."""
        self._change(uri, [lsp.TextDocumentContentChangePartial(ranged(start, end), text)])

    def replace(self, uri: str, text: str) -> None:
        """Replace the whole text."""
        self.texts[uri] = text
        self._change(uri, [lsp.TextDocumentContentChangeWholeDocument(text)])

    def _change(self, uri: str, changes: list[Any]) -> None:
        self.versions[uri] += 1
        named = lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, changes))

    def close(self, uri: str) -> None:
        params = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        self.client.text_document_did_close(params)

    def changed_on_disk(self, *paths: Path) -> None:
        events = [lsp.FileEvent(path.as_uri(), lsp.FileChangeType.Changed) for path in paths]
        params = lsp.DidChangeWatchedFilesParams(events)
        self.client.workspace_did_change_watched_files(params)

    async def found(
        self, uri: str, since: int = 0, version: int | None = None
    ) -> list[lsp.Diagnostic]:
        """The diagnostics of the next publication after `since` ones, or those of a version."""

        def told() -> list[lsp.PublishDiagnosticsParams]:
            new = self.published.get(uri, [])[since:]
            return [each for each in new if version is None or each.version == version]

        await self.until(lambda: bool(told()))
        return list(told()[0].diagnostics)

    async def codes(self, uri: str, since: int = 0, version: int | None = None) -> list[str]:
        return [str(each.code) for each in await self.found(uri, since, version)]

    def count(self, uri: str) -> int:
        """How often diagnostics of a text were told."""
        return len(self.published.get(uri, []))

    # --- questions

    async def hover(self, uri: str, row: int, character: int) -> str:
        params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(row, character))
        found = await self.client.text_document_hover_async(params)
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    async def hints(self, uri: str, first: int = 0, last: int = 1000) -> list[tuple[int, int, str]]:
        params = lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), ranged((first, 0), (last, 0)))
        found = await self.client.text_document_inlay_hint_async(params)
        return [
            (each.position.line, each.position.character, str(each.label)) for each in found or ()
        ]

    async def actions(
        self, uri: str, start: tuple[int, int], end: tuple[int, int], *only: str
    ) -> dict[str, lsp.CodeAction]:
        """The actions at a range, by their titles."""
        context = lsp.CodeActionContext([], list(only) or None)
        identifier = lsp.TextDocumentIdentifier(uri)
        params = lsp.CodeActionParams(identifier, ranged(start, end), context)
        found = await self.client.text_document_code_action_async(params) or []
        return {each.title: each for each in found if isinstance(each, lsp.CodeAction)}

    async def resolved(self, action: lsp.CodeAction) -> lsp.CodeAction:
        return await self.client.code_action_resolve_async(action)

    def applied(self, action: lsp.CodeAction) -> dict[str, str]:
        """What texts become by an action, by their URIs."""
        assert action.edit is not None
        assert action.edit.document_changes is not None
        found: dict[str, str] = {}
        for change in action.edit.document_changes:
            assert isinstance(change, lsp.TextDocumentEdit)
            uri = change.text_document.uri
            assert change.text_document.version == self.versions[uri]
            index = LineIndex(self.texts[uri])
            found[uri] = apply_edits(index.text, [_edit(index, each) for each in change.edits])
        return found


def ranged(start: tuple[int, int], end: tuple[int, int]) -> lsp.Range:
    return lsp.Range(lsp.Position(*start), lsp.Position(*end))


def _edit(index: LineIndex, edit: Any) -> Edit:
    places = (edit.range.start, edit.range.end)
    start, end = (
        index.offset(p.line + 1, index.from_utf16_column(p.line + 1, p.character + 1))
        for p in places
    )
    return Edit(index.span(start, end), edit.new_text)


def placed(diagnostic: lsp.Diagnostic) -> tuple[int, int, int, int]:
    """Row and character of the start and the end."""
    start, end = diagnostic.range.start, diagnostic.range.end
    return start.line, start.character, end.line, end.character


@asynccontextmanager
async def _forever() -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def editing(
    *folders: Path,
    able: lsp.ClientCapabilities | None = None,
    options: object = None,
    words: Sequence[str] = WORDS,
) -> AsyncIterator[Editor]:
    """An editor with some folders open, whose server ends well."""
    editor = Editor()
    await editor.start(folders, able or capabilities(), options, *words)
    try:
        yield editor
    except BaseException:
        editor.process.kill()
        raise
    assert await editor.leave() == 0
