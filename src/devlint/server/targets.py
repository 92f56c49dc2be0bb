"""What is linted as one: an open file, or a notebook with its cells. Both are as they were at one
moment, so that the linter's thread can work on them while the editor goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devlint.model.findings import Span
from devlint.server.documents import MARK, Document
from devlint.source.cells import Cells
from devlint.source.encoding import decode
from devlint.source.errors import SourceError
from devlint.source.notebooks import read_notebook

Spot = tuple[Document, tuple[int, int], tuple[int, int]]
"""A place in an open text: the rows and columns of its start and its end."""


@dataclass(frozen=True)
class FileTarget:
    """An open file."""

    path: str
    document: Document

    @property
    def uri(self) -> str:
        """By what it is known."""
        return self.document.uri

    @property
    def documents(self) -> tuple[Document, ...]:
        """All texts of it."""
        return (self.document,)

    @property
    def data(self) -> bytes:
        """What is linted."""
        return self.document.data

    def spot(self, span: Span) -> Spot | None:
        """Where a span of the linted text is."""
        return self.document, (span.row, span.column), (span.end_row, span.end_column)

    def row(self, _: Document, row: int) -> int | None:
        """The row of the linted text for one of a document's."""
        return row

    def shown_row(self, row: int) -> tuple[int | None, int]:
        """How users call a row: by its cell, if there are any, and its own number."""
        return None, row

    def texts(self, data: bytes) -> Iterator[tuple[Document, str]]:
        """What the texts become where the file becomes `data`. Raises `SourceError`."""
        mark = MARK if self.document.text.startswith(MARK) else ""
        yield self.document, mark + decode(data).text


@dataclass(frozen=True)
class NotebookTarget:
    """An open notebook. `counts` says of each cell as the how many-th it was run."""

    uri: str
    path: str
    version: int
    documents: tuple[Document, ...]
    counts: tuple[int | None, ...]

    @cached_property
    def data(self) -> bytes:
        """The notebook as a file of the cells that the editor shows to the server."""
        cells = [
            {
                "cell_type": "code",
                "execution_count": count,
                "metadata": {"vscode": {"languageId": document.language}},
                "source": document.text,
            }
            for document, count in zip(self.documents, self.counts, strict=True)
        ]
        return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}).encode()

    @cached_property
    def _cells(self) -> Cells | None:
        try:
            return read_notebook(self.data)
        except SourceError:
            return None

    def spot(self, span: Span) -> Spot | None:
        """Where a span of the linted text is: it knows its cell, or stands in one."""
        if span.cell is not None:
            number, row, end_row = span.cell.number, span.cell.row, span.cell.end_row
        elif self._cells is not None and self._cells.cells:
            number, row = self._cells.cell_of(span.row)
            end_row = row + span.end_row - span.row
        else:
            return None
        if number > len(self.documents):
            return None
        return self.documents[number - 1], (row, span.column), (end_row, span.end_column)

    def row(self, document: Document, row: int) -> int | None:
        """The row of the linted text for one of a cell's."""
        if self._cells is None or document not in self.documents:
            return None
        return self._cells.row_of(self.documents.index(document) + 1, row)

    def shown_row(self, row: int) -> tuple[int | None, int]:
        """How users call a row: by its cell, among those that the server sees, and its own number
        in that."""
        return (None, row) if self._cells is None else self._cells.cell_of(row)

    def texts(self, data: bytes) -> Iterator[tuple[Document, str]]:
        """What the cells become where the notebook becomes `data`. Raises `SourceError`."""
        for cell in read_notebook(data).cells:
            yield self.documents[cell.number - 1], cell.text


Target = FileTarget | NotebookTarget
