"""Positions agree with LibCST's own metadata, over the standard library."""

import sysconfig
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from devlint.source.reading import read_document

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = [
    *sorted(LIBRARY.glob("*.py"))[::9],
    *sorted((LIBRARY / "asyncio").glob("*.py"))[::3],
    LIBRARY / "dataclasses.py",
]

# LibCST's positions of these are not what we underline: whole bodies, and no own parentheses.
OWN = (
    cst.ClassDef, cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.For,
    cst.FunctionDef, cst.If, cst.Match, cst.MatchCase, cst.Param, cst.Try, cst.TryStar, cst.While,
    cst.With, cst.Tuple, cst.GeneratorExp,
)  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_positions_agree(path: Path) -> None:
    document = read_document(path.read_bytes(), path.name)
    theirs = MetadataWrapper(document.tree, unsafe_skip_copy=True).resolve(PositionProvider)
    positions, agreed = document.exact.positions, 0
    for node in positions.nodes():
        if isinstance(node, (cst.BaseExpression, cst.BaseSmallStatement, cst.Arg)):
            if not isinstance(node, OWN):
                span, expected = document.index.span(*positions.range(node)), theirs[node]
                start, end = expected.start, expected.end
                assert (span.row, span.column - 1) == (start.line, start.column)
                assert (span.end_row, span.end_column - 1) == (end.line, end.column)
                agreed += 1
    assert agreed > 10
