"""The server: what an editor asks for and is told."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from devlint import __version__
from devlint.config.configuration import FILENAMES, Configuration
from devlint.safety.escaping import line
from devlint.server import actions
from devlint.server.answers import Answers
from devlint.server.checking import Checker, Outcome
from devlint.server.client import abilities
from devlint.server.diagnostics import Diagnostics
from devlint.server.documents import Units
from devlint.server.opened import Opened, path_of
from devlint.server.options import SECTION, read_options
from devlint.server.protocol import TextProtocol
from devlint.server.targets import Target
from devlint.server.thread import Thread
from devlint.server.worker import DEBOUNCE, Schedule, Stop

T = TypeVar("T")

_WATCHED = (*(f"**/{name}" for name in (*FILENAMES, ".gitignore")), "**/*.py")
_PYTHON_CELLS = lsp.NotebookDocumentFilterWithCells(
    notebook=lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"),
    cells=[lsp.NotebookCellLanguage("python")],
)


class Server(LanguageServer):
    """One editor's server. `configure` reads the configuration."""

    def __init__(self, configure: Callable[[], Configuration]) -> None:
        super().__init__(
            "devlint",
            __version__,
            notebook_document_sync=lsp.NotebookDocumentSyncOptions([_PYTHON_CELLS], save=True),
            protocol_cls=TextProtocol,
            max_workers=1,
        )
        self.was_shut_down = False
        self._opened = Opened()
        self._checker = Checker(configure)
        self._answers = Answers(self._opened, self._checker, self._do)
        self._thread = Thread()
        self._schedule = Schedule(self._lint)
        for name, handler, options in self._handlers():
            self.feature(name, options)(functools.partial(handler))

    def _handlers(self) -> list[tuple[str, Callable[..., Any], Any]]:
        kinds = lsp.CodeActionOptions(code_action_kinds=[*actions.KINDS], resolve_provider=True)
        return [
            (lsp.INITIALIZE, self._initialize, None),
            (lsp.INITIALIZED, self._initialized, None),
            (lsp.SHUTDOWN, self._shut_down, None),
            (lsp.TEXT_DOCUMENT_DID_SAVE, self._did_save, None),
            (lsp.NOTEBOOK_DOCUMENT_DID_SAVE, self._did_save_notebook, None),
            (lsp.TEXT_DOCUMENT_HOVER, self._answers.hover, None),
            (lsp.TEXT_DOCUMENT_INLAY_HINT, self._answers.inlay_hints, None),
            (lsp.TEXT_DOCUMENT_CODE_ACTION, self._answers.code_actions, kinds),
            (lsp.CODE_ACTION_RESOLVE, self._resolve, None),
            (lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._did_change_files, None),
            (lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, self._did_change_configuration, None),
            (lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._did_change_folders, None),
        ]

    # --- start and end

    def _initialize(self, params: lsp.InitializeParams) -> None:
        self._answers.client = abilities(params.capabilities)
        self._opened.units = Units(_encoding(self.workspace.position_encoding))
        self._opened.folder = self._first_folder() or os.getcwd()
        self._set_options(params.initialization_options)

    async def _initialized(self, _: lsp.InitializedParams) -> None:
        if self._answers.client.watches:
            watchers = [lsp.FileSystemWatcher(glob) for glob in _WATCHED]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = lsp.Registration("devlint-files", method, options)
            await self.client_register_capability_async(lsp.RegistrationParams([registration]))
        await self._ask_for_options()

    def _shut_down(self, _: object) -> None:
        self.was_shut_down = True
        self.end()

    def end(self) -> None:
        """Work on nothing any more."""
        self._schedule.end()
        self._thread.end()

    def _first_folder(self) -> str | None:
        uris = [*self.workspace.folders, self.workspace.root_uri or ""]
        paths = (path_of(uri, "") for uri in uris)
        return next((path for path in paths if path is not None), None)

    # --- texts

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._opened.open(params.text_document)
        self._ask(params.text_document.uri, 0)

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._opened.change(params.text_document, list(params.content_changes))
        self._ask(params.text_document.uri, DEBOUNCE)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._opened.close(uri)
        self._leave(uri, [uri])

    def did_open_notebook(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        self._opened.open_notebook(params)
        self._ask(params.notebook_document.uri, 0)

    def did_change_notebook(self, params: lsp.DidChangeNotebookDocumentParams) -> None:
        for gone in self._opened.change_notebook(params):
            self._publish(gone, [], None)
        self._ask(params.notebook_document.uri, DEBOUNCE)

    def did_close_notebook(self, params: lsp.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        self._leave(uri, self._opened.close_notebook(uri))

    def _ask(self, uri: str, delay: float) -> None:
        """Lint something, and then what was linted with it in mind."""
        if self.was_shut_down:
            return
        target = self._opened.target(uri)
        if target is not None:
            self._schedule.ask(uri, delay)
            for other in self._checker.affected(target.path):
                if other != uri:
                    self._schedule.ask(other, delay)

    def _leave(self, uri: str, texts: list[str]) -> None:
        self._schedule.drop(uri)
        self._checker.forget(uri)
        for each in texts:
            self._publish(each, [], None)
        path = path_of(uri, self._opened.folder)
        for other in [] if path is None else self._checker.affected(path):
            self._schedule.ask(other, DEBOUNCE)

    def _did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self._ask(params.text_document.uri, 0)

    def _did_save_notebook(self, params: lsp.DidSaveNotebookDocumentParams) -> None:
        self._ask(params.notebook_document.uri, 0)

    # --- diagnostics

    async def _lint(self, uri: str, stop: Stop) -> None:
        target = self._opened.target(uri)
        if target is None:
            return
        outcome = await self._do(self._checker.lint, target, self._opened.unsaved(), stop)
        now = self._opened.target(uri)
        if now is None:
            self._checker.forget(uri)
        if outcome is None or now != target:
            return  # what has changed meanwhile waits already
        self._publish_all(target, outcome)
        await self._thread.collect()

    def _publish_all(self, target: Target, outcome: Outcome) -> None:
        if outcome.problem:
            self._log(outcome.problem)
        made = Diagnostics(target, self._opened, self._answers.client.related)
        found = made.by_document(self._checker.shown(outcome))
        for document in target.documents:
            self._publish(document.uri, found[document.uri], document.version)

    def _publish(self, uri: str, found: list[lsp.Diagnostic], version: int | None) -> None:
        params = lsp.PublishDiagnosticsParams(uri, found, version)
        self.text_document_publish_diagnostics(params)

    async def _do(self, function: Callable[..., T], *given: object) -> T:
        """Do something in the linter's thread, and tell what is wrong with the configuration."""
        result = await self._thread.run(function, *given)
        for problem in self._checker.problems():
            self._show(problem, lsp.MessageType.Error)
        return result

    async def _resolve(self, action: lsp.CodeAction) -> lsp.CodeAction:
        reason = await self._answers.resolve(action)
        if reason:
            self._show(reason, lsp.MessageType.Info)
        return action

    # --- settings

    async def _did_change_files(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        paths = (path_of(change.uri, "") or "" for change in params.changes)
        names = {os.path.basename(path) for path in paths}
        if names & {*FILENAMES, ".gitignore", "__init__.py"}:
            await self._do(self._checker.reload)
        self._ask_all()

    async def _did_change_folders(self, _: lsp.DidChangeWorkspaceFoldersParams) -> None:
        self._opened.folder = self._first_folder() or os.getcwd()
        self._ask_all()

    async def _did_change_configuration(self, params: lsp.DidChangeConfigurationParams) -> None:
        before, given = self._answers.options, params.settings
        if isinstance(given, dict) and SECTION in given:
            self._set_options(given)
        await self._ask_for_options()
        if before != self._answers.options and self._answers.client.refreshes_hints:
            self.workspace_inlay_hint_refresh(None)

    async def _ask_for_options(self) -> None:
        if self._answers.client.configures:
            item = lsp.ConfigurationItem(section=SECTION)
            given = await self.workspace_configuration_async(lsp.ConfigurationParams([item]))
            if given and given[0]:
                self._set_options(given[0])

    def _set_options(self, given: object) -> None:
        self._answers.options, problems = read_options(given)
        for problem in problems:
            self._show(problem, lsp.MessageType.Warning)

    def _ask_all(self) -> None:
        for target in [*self._opened.targets()]:
            self._schedule.ask(target.uri, 0)

    # --- what goes wrong

    def report_server_error(self, error: Exception, source: object) -> None:
        """What an editor has said that nobody understands, or a bug: the server goes on."""
        self._log(f"{type(error).__name__}: {error}")

    def _log(self, text: str) -> None:
        message = line(" ".join(text.split()))
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))

    def _show(self, text: str, kind: lsp.MessageType) -> None:
        message = lsp.ShowMessageParams(kind, f"devlint: {line(text)}")
        self.window_show_message(message)


def _encoding(given: object) -> str:
    return given.value if isinstance(given, lsp.PositionEncodingKind) else str(given)


def serve(configure: Callable[[], Configuration]) -> int:
    """Serve an editor on the standard streams until it ends that. Gives the exit code: 0 where it
    has asked to shut down before, else 1."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # what matters, the editor is told
    server = Server(configure)
    gc.disable()  # `Thread.collect` does its work
    gc.freeze()
    # Whatever else is printed is no message of the protocol; and pygls closes its stream.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    try:
        with contextlib.redirect_stdout(sys.stderr):
            server.start_io(sys.stdin.buffer, output)
    finally:
        server.end()
    return 0 if server.was_shut_down else 1
