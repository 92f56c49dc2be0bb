"""The server as pygls sees it: which texts are open is our own business."""

from __future__ import annotations

from typing import Protocol, cast

from lsprotocol import types as lsp
from pygls.protocol import LanguageServerProtocol, lsp_method


class Listener(Protocol):
    """What is told of the texts that an editor has open."""

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None: ...

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None: ...

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None: ...

    def did_open_notebook(self, params: lsp.DidOpenNotebookDocumentParams) -> None: ...

    def did_change_notebook(self, params: lsp.DidChangeNotebookDocumentParams) -> None: ...

    def did_close_notebook(self, params: lsp.DidCloseNotebookDocumentParams) -> None: ...


class TextProtocol(LanguageServerProtocol):
    """pygls without its own texts, which end rows at form feeds."""

    @property
    def _listener(self) -> Listener:
        return cast("Listener", self._server)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._listener.did_open(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._listener.did_change(params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._listener.did_close(params)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        self._listener.did_open_notebook(params)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: lsp.DidChangeNotebookDocumentParams
    ) -> None:
        self._listener.did_change_notebook(params)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: lsp.DidCloseNotebookDocumentParams) -> None:
        self._listener.did_close_notebook(params)
