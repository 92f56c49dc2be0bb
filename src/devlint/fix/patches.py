"""Changes of files as diffs, which `patch` and `git apply` read."""

from __future__ import annotations

import difflib
import io
import os

from devlint.safety.escaping import patch_name
from devlint.safety.files import NOTEBOOK, language_of
from devlint.source.cells import Cell
from devlint.source.notebooks import read_notebook


def unified_diff(old: bytes, new: bytes, filename: str, language: str = "") -> bytes:
    """The change from `old` to `new` as `patch` and `git apply` read it; empty without one.

    Its lines are the bytes of the file, whatever its encoding and the ends of its lines. The change
    of a notebook is for people: one of each cell.
    """
    if (language or language_of(filename)) == NOTEBOOK:
        pairs = zip(read_notebook(old).cells, read_notebook(new).cells, strict=True)
        return b"".join(
            _diff(_bytes(before), _bytes(after), f"{filename}:cell {before.number}")
            for before, after in pairs
        )
    return _diff(old, new, filename)


def _bytes(cell: Cell) -> bytes:
    """The text of a cell, whose last line is one as well."""
    text = cell.text if not cell.text or cell.text.endswith("\n") else f"{cell.text}\n"
    return text.encode("utf-8", "surrogatepass")


def _diff(old: bytes, new: bytes, filename: str) -> bytes:
    name = patch_name(filename.replace(os.sep, "/"))
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), name, name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in lines
    )


def _lines(data: bytes) -> list[bytes]:
    """The lines of a file; to a patch, only a line feed ends one."""
    return io.BytesIO(data).readlines()
