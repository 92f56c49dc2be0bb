"""Cells are one text, and each has its own places."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import driven, editing, placed, ranged


def notebook(tmp_path: Path, cells: list[str]) -> lsp.DidOpenNotebookDocumentParams:
    names = [f"vscode-notebook-cell:{tmp_path}/a.ipynb#{number}" for number in range(len(cells))]
    kinds = [lsp.NotebookCell(lsp.NotebookCellKind.Code, name) for name in names]
    document = lsp.NotebookDocument((tmp_path / "a.ipynb").as_uri(), "jupyter-notebook", 1, kinds)
    items = [
        lsp.TextDocumentItem(n, "python", 1, text) for n, text in zip(names, cells, strict=True)
    ]
    return lsp.DidOpenNotebookDocumentParams(document, items)


@driven
async def test_a_notebook_is_one_text_and_its_cells_have_their_own_places(tmp_path: Path) -> None:
    cells = [
        "import torch\n%matplotlib inline",
        "x = torch.ones(3, device='cuda')",
        "1\ny = x.numpy()",
    ]
    opened = notebook(tmp_path, cells)
    first, second, third = (cell.document for cell in opened.notebook_document.cells)
    uri = opened.notebook_document.uri
    async with editing(tmp_path) as editor:
        editor.client.notebook_document_did_open(opened)
        for cell, text in zip((first, second, third), cells, strict=True):
            editor.texts[cell], editor.versions[cell] = text, 1
        (found,) = await editor.found(third)
        assert await editor.found(first) == await editor.found(second) == []
        assert (found.code, placed(found)) == ("DEV205", (1, 4, 1, 13))
        (step,) = found.related_information or ()
        assert step.location == lsp.Location(second, ranged((0, 4), (0, 32)))
        assert "at cell 2, line 1" in await editor.hover(third, 1, 4)
        offered = await editor.actions(third, (1, 4), (1, 4))
        everything = await editor.resolved(offered["devlint: fix all safe problems"])
        assert everything.kind == "notebook.source.fixAll.devlint"
        assert editor.applied(everything) == {third: "1\ny = x.cpu().numpy()"}

        change = lsp.TextDocumentContentChangePartial(ranged((0, 25), (0, 29)), "cpu")
        content = lsp.NotebookDocumentCellContentChanges(
            lsp.VersionedTextDocumentIdentifier(2, second), [change]
        )
        cell_changes = lsp.NotebookDocumentCellChanges(text_content=[content])
        editor.client.notebook_document_did_change(_changed(uri, 2, cell_changes))
        assert await editor.found(third, since=1) == []
        editor.client.notebook_document_did_change(_changed(uri, 3, _without(1, second)))
        await editor.until(lambda: editor.count(third) == 3)
        assert editor.published[second][-1].version is None
        assert editor.published[second][-1].diagnostics == ()
        closed = lsp.NotebookDocumentIdentifier(uri), [lsp.TextDocumentIdentifier(first)]
        editor.client.notebook_document_did_close(lsp.DidCloseNotebookDocumentParams(*closed))
        await editor.until(lambda: editor.count(third) == 4)


def _changed(
    uri: str, version: int, cells: lsp.NotebookDocumentCellChanges
) -> lsp.DidChangeNotebookDocumentParams:
    named = lsp.VersionedNotebookDocumentIdentifier(version, uri)
    return lsp.DidChangeNotebookDocumentParams(named, lsp.NotebookDocumentChangeEvent(cells=cells))


def _without(at: int, cell: str) -> lsp.NotebookDocumentCellChanges:
    gone = [lsp.TextDocumentIdentifier(cell)]
    structure = lsp.NotebookDocumentCellChangeStructure(
        lsp.NotebookCellArrayChange(at, 1), did_close=gone
    )
    return lsp.NotebookDocumentCellChanges(structure=structure)
