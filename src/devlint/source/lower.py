"""Text -> intermediate form, by way of Python's own parser.

LibCST keeps blanks, comments and parentheses, which fixes need, and takes over ten times as long.
So it reads only files that have something to report, for `exact` to find there what is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devlint.model import ir
from devlint.model.spans import LineIndex
from devlint.source.errors import SourceError
from devlint.source.lower_statements import statements
from devlint.source.parsing import nested_too_deeply, parsed
from devlint.source.room import with_room
from devlint.source.spots import File


def lower(
    text: str, path: str, rows: Sequence[int] | None = None, explain: bool = True
) -> ir.Module:
    """The intermediate form of a file. Raises `SourceError` for what the running Python can't
    parse, with words for users if it is to `explain` that, and for what is nested too deeply.

    `spots.path_of` and `spots.span_of` tell where its nodes are; `origin` of the module is a
    `File`. `rows` are those of a larger text, in which the rows of this one stand.
    """
    tree = parsed(text, explain)
    if rows is not None:
        _move(tree, rows)
    try:
        body = with_room(lambda: statements(tree.body, path))
        # In a notebook a magic may bind names (`%run`, `%pylab`), and so may who sits before it.
        whole = rows is None and not path.endswith(".ipynb")
        return ir.Module(body, File(path, text), whole)
    except RecursionError:
        raise nested_too_deeply(text) from None
    except KeyError as error:
        reason = f"syntax that this devlint doesn't know ({error.args[0].__name__}); update it"
        raise SourceError(reason, LineIndex(text).span(0, 0), "unreadable") from None


def _move(tree: ast.Module, rows: Sequence[int]) -> None:
    """Put nodes into the rows of another text."""
    node: Any
    for node in ast.walk(tree):
        if "lineno" in node._attributes:
            node.lineno = rows[node.lineno - 1]
            node.end_lineno = rows[node.end_lineno - 1]
