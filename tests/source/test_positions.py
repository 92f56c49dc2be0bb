"""Positions agree with LibCST's own metadata and with `ast`, over the standard library."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from devlint import ir
from devlint.source.document import Document
from devlint.source.reading import read_document

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = [
    *sorted(LIBRARY.glob("*.py"))[::9],
    *sorted((LIBRARY / "asyncio").glob("*.py"))[::3],
    LIBRARY / "dataclasses.py",
]

# LibCST's positions of these are not what we underline: whole bodies, and no own parentheses.
OWN = (
    ir.Module, ir.Function, ir.If, ir.For, ir.While, ir.With, ir.Try, ir.Handler, ir.Match, ir.Case,
    ir.Parameter, ir.Clause, ir.Slice,
)  # fmt: skip

AST_KINDS = {
    ast.Attribute: ir.Attribute,
    ast.Call: ir.Call,
    ast.Subscript: ir.Subscript,
    ast.Lambda: ir.Lambda,
    ast.IfExp: ir.Conditional,
    ast.Await: ir.Await,
    ast.Dict: ir.Mapping,
    ast.UnaryOp: ir.Unary,
    ast.BinOp: ir.Binary,
}


def nodes(root: object) -> Iterator[ir.Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple):
            pending.extend(node)
        elif isinstance(node, ir.Node):
            yield node
            pending.extend(getattr(node, field) for field in node.__slots__ if field != "origin")


def place(document: Document, node: ir.Node) -> tuple[int, int, int, int]:
    """Rows, 1-based, and columns in UTF-8 bytes, 0-based, as `ast` has them."""
    span, column = document.locate(node.origin), document.index.utf8_column
    return (
        span.row,
        column(span.row, span.column) - 1,
        span.end_row,
        column(span.end_row, span.end_column) - 1,
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_positions_agree(path: Path) -> None:
    document = read_document(path.read_bytes(), path.name)
    theirs = MetadataWrapper(document.tree, unsafe_skip_copy=True).resolve(PositionProvider)
    ours: dict[type, set[tuple[int, int, int, int]]] = {kind: set() for kind in AST_KINDS.values()}
    for node in nodes(document.module):
        span, origin = document.locate(node.origin), node.origin
        if isinstance(node, ir.Name):
            assert document.text[span.start : span.end] == node.id
        if type(node) in ours:
            ours[type(node)].add(place(document, node))
        own = isinstance(node, OWN) or isinstance(origin, (cst.Tuple, cst.GeneratorExp))
        if isinstance(origin, cst.CSTNode) and not own:
            expected = theirs[origin]
            assert (span.row, span.column - 1) == (expected.start.line, expected.start.column)
            assert (span.end_row, span.end_column - 1) == (expected.end.line, expected.end.column)
    tree = ast.parse(document.text)
    inside_text = {
        part
        for text in ast.walk(tree)
        if isinstance(text, ast.JoinedStr)
        for part in ast.walk(text)
    }
    for node in ast.walk(tree):
        if type(node) in AST_KINDS and node not in inside_text:  # wrong there before Python 3.12
            assert isinstance(node, ast.expr)
            wanted = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            assert wanted in ours[AST_KINDS[type(node)]]
