"""A second way to the intermediate form: through Python's own parser, which is quick.

LibCST keeps blanks, comments and parentheses, which positions and fixes need, and takes over ten
times as long. Most files have nothing to report: for them the scout's word is enough. It gives
the same intermediate form, with other origins (`spots`), and loads no LibCST.
"""

from __future__ import annotations

import ast
import warnings

from devlint import ir
from devlint.source.depth import SCOUTED, is_deep, too_deep, too_long
from devlint.source.encoding import decode
from devlint.source.errors import SourceError
from devlint.source.scout_statements import statements
from devlint.source.spots import File


def scout_module(data: bytes, path: str) -> ir.Module | None:
    """The intermediate form of a file, for what only reads it; None where the running Python
    can't parse it: its syntax may be newer, or it is nested too deeply, or is no Python.

    `spots.path_of` and `spots.span_of` tell where its nodes are; `origin` of the module is a
    `File`.
    """
    try:
        return scout_text(decode(data).text, path)
    except SourceError:
        return None


def scout_text(text: str, path: str) -> ir.Module | None:
    """The same for a text."""
    if text.startswith("\ufeff"):
        return None
    if is_deep(text.encode("utf-8", "surrogatepass")) and too_deep(text) is not None:
        return None
    if too_long(text, SCOUTED) is not None:
        return None
    file = File(path, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the linted file's escapes and comparisons
            tree = ast.parse(text)
        return ir.Module(statements(tree.body, path), file)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    except KeyError:  # a kind of node that a newer Python has added
        return None
