"""All that an editor has open, and how it changes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path, urlparse

from devlint.safety import files
from devlint.safety.files import NOTEBOOK, suffix
from devlint.server.documents import Document, Units
from devlint.server.targets import FileTarget, NotebookTarget, Target
from devlint.source.reading import text_of

_UNSAVED = "untitled"
"""The scheme of what has no file yet."""
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class _Notebook:
    uri: str
    version: int
    cells: tuple[lsp.NotebookCell, ...]


class Opened:
    """The open texts. `folder` is where those are taken to be that have no file yet."""

    def __init__(self) -> None:
        self.units = Units()
        self.folder = os.getcwd()
        self._documents: dict[str, Document] = {}
        self._notebooks: dict[str, _Notebook] = {}

    # --- what the editor tells

    def open(self, item: lsp.TextDocumentItem) -> None:
        """A text was opened."""
        self._documents[item.uri] = Document(item.uri, item.language_id, item.version, item.text)

    def change(
        self,
        text: lsp.VersionedTextDocumentIdentifier,
        changes: list[lsp.TextDocumentContentChangeEvent],
    ) -> None:
        """A text was changed; one that isn't open is none of ours."""
        known = self._documents.get(text.uri)
        if known is not None:
            self._documents[text.uri] = known.changed(changes, text.version, self.units)

    def close(self, uri: str) -> None:
        """A text was closed."""
        self._documents.pop(uri, None)

    def open_notebook(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        """A notebook was opened."""
        given = params.notebook_document
        self._notebooks[given.uri] = _Notebook(given.uri, given.version, tuple(given.cells))
        for item in params.cell_text_documents:
            self.open(item)

    def change_notebook(self, params: lsp.DidChangeNotebookDocumentParams) -> list[str]:
        """A notebook was changed; gives the cells that are gone."""
        identifier = params.notebook_document
        known = self._notebooks.get(identifier.uri)
        if known is None:
            return []
        cells, gone = known.cells, list[str]()
        change = params.change.cells
        if change is not None and change.structure is not None:
            array = change.structure.array
            after = cells[array.start + array.delete_count :]
            cells = (*cells[: array.start], *(array.cells or ()), *after)
            for item in change.structure.did_open or ():
                self.open(item)
            gone = [closed.uri for closed in change.structure.did_close or ()]
            for uri in gone:
                self.close(uri)
        if change is not None:
            anew = {cell.document: cell for cell in change.data or ()}
            cells = tuple(anew.get(cell.document, cell) for cell in cells)
            for content in change.text_content or ():
                self.change(content.document, list(content.changes))
        self._notebooks[known.uri] = replace(known, version=identifier.version, cells=cells)
        return gone

    def close_notebook(self, uri: str) -> list[str]:
        """A notebook was closed; gives its cells."""
        known = self._notebooks.pop(uri, None)
        cells = [] if known is None else [cell.document for cell in known.cells]
        for each in cells:
            self.close(each)
        return cells

    # --- what is linted

    def targets(self) -> Iterator[Target]:
        """All that may be linted."""
        cells = {cell.document for each in self._notebooks.values() for cell in each.cells}
        for uri in (*self._notebooks, *(uri for uri in self._documents if uri not in cells)):
            found = self.target(uri)
            if found is not None:
                yield found

    def target(self, uri: str) -> Target | None:
        """What is linted under a name: a file or a notebook, or None where neither is open, or
        where it is nothing of this machine."""
        path = path_of(uri, self.folder)
        if path is None:
            return None
        notebook = self._notebooks.get(uri)
        if notebook is None:
            document = self._documents.get(uri)
            return None if document is None else FileTarget(path, document)
        if suffix(path) != NOTEBOOK:
            path = f"{path}.{NOTEBOOK}"
        known = [
            (self._documents[cell.document], cell.execution_summary)
            for cell in notebook.cells
            if cell.document in self._documents
        ]
        counts = tuple(None if summary is None else summary.execution_order for _, summary in known)
        documents = tuple(document for document, _ in known)
        return NotebookTarget(uri, path, notebook.version, documents, counts)

    def around(self, uri: str) -> tuple[Target, Document] | None:
        """A text that is open, and what is linted with it."""
        document = self._documents.get(uri)
        for each in self._notebooks.values():
            if any(cell.document == uri for cell in each.cells):
                uri = each.uri
                break
        target = self.target(uri)
        return None if target is None or document is None else (target, document)

    def unsaved(self) -> dict[str, bytes]:
        """What open files hold, by their paths."""
        found: dict[str, bytes] = {}
        for uri, document in self._documents.items():
            path = to_fs_path(uri)
            if path is not None:
                found[path] = document.data
        return found

    def named(self, path: str) -> Document | None:
        """The text of a path, as it is in the editor, or else on disk."""
        for uri, document in self._documents.items():
            if to_fs_path(uri) == path:
                return document
        try:
            text = text_of(files.read(path, files.LARGEST_SOURCE), path)
        except OSError:
            return None
        return None if text is None else Document(uri_of(path), "python", None, text)

    def file(self, path: str) -> FileTarget | None:
        """The file of a path, be it open or not."""
        document = self.named(path)
        return None if document is None else FileTarget(path, document)


def path_of(uri: str, folder: str) -> str | None:
    """The absolute path of what is linted; None for what is elsewhere, as in an older revision."""
    path = to_fs_path(uri)
    if path is None:
        scheme, _, name, *_ = urlparse(uri)
        if scheme != _UNSAVED:
            return None
        path = os.path.join(folder, os.path.basename(name) or _UNSAVED)
    if not os.path.isabs(path) or "\0" in path or len(path) > _LONGEST_PATH:
        return None
    return os.path.normpath(path)


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return Path(path).as_uri()
