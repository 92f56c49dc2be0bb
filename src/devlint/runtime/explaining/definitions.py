"""Functions and files as they are written: their text, parsed."""

from __future__ import annotations

import ast
import linecache
import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType

LONGEST = 500
"""Lines. Parsing takes some microseconds a line, and an error shouldn't wait for it."""


def line_of(file: str, line: int) -> str:
    """A line of a file without its indentation; empty where there is no source."""
    return linecache.getline(file, line).strip()


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a file. They are the same as long as they are the same object."""

    file: str
    lines: list[str]

    @classmethod
    def of(cls, file: str) -> Lines:
        return cls(file, linecache.getlines(file))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lines) and self.lines is other.lines and self.file == other.file

    def __hash__(self) -> int:
        return hash(self.file)


def definition_of(code: CodeType, longest: int = LONGEST) -> ast.Module | None:
    """The text of a function, or of a module, with the lines of its file and its columns.

    Nothing where there is no source, or more lines than `longest`.
    """
    return _definition(code, Lines.of(code.co_filename), longest)


@lru_cache(maxsize=256)
def _definition(code: CodeType, held: Lines, longest: int) -> ast.Module | None:
    first, lines = _lines_of(code, held.lines, longest)
    text, shift = "".join(lines), first - 1
    if lines and _indentation(lines[0]):
        text, shift = f"if 1:\n{text}", shift - 1
    tree = parsed(text) if lines else None
    if tree is not None:
        ast.increment_lineno(tree, shift)
    return tree


def _lines_of(code: CodeType, lines: list[str], longest: int) -> tuple[int, list[str]]:
    """The number of the first line, and the lines, of those of its file."""
    if code.co_name == "<module>":
        return (1, lines) if len(lines) <= longest else (1, [])
    first, last = code.co_firstlineno, _last_line(code)
    if not 0 < first <= len(lines):
        return first, []
    indentation = _indentation(lines[first - 1])
    while last < len(lines) and _goes_on(lines[last], indentation):
        last += 1  # brackets are closed below the last line that does anything
    return (first, lines[first - 1 : last]) if last - first < longest else (first, [])


def _last_line(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    inner = [_last_line(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max([code.co_firstlineno, *lines, *inner])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _goes_on(line: str, indentation: int) -> bool:
    return not line.strip() or _indentation(line) > indentation


def code_of(node: ast.AST) -> str:
    """A piece of a program as text, with double quotes."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def parsed(text: str) -> ast.Module | None:
    """The tree of a text; what Python warns of in a program's text it has warned of before."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# --- lines as they are shown


def place_of(file: str, line: int) -> str:
    """As in `train.py:12`: relative to the working directory where the file is in it."""
    try:
        shown = os.path.relpath(file) if Path(file).is_absolute() else file
    except (OSError, ValueError):  # no working directory any more, another drive
        shown = file
    return f"{file if shown.startswith('..') else shown}:{line}"


def shown_line(file: str, line: int) -> str:
    """A place and the text of the line."""
    text = line_of(file, line)
    return f"{place_of(file, line)}  {shortened(text)}" if text else place_of(file, line)


def shortened(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."
