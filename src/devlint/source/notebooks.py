"""Reads notebooks: the JSON of Jupyter, of which only the source of the cells matters.

`json` reads it, value by value, so that it is known where in the file each string of a cell's
source stands. What else there is, such as outputs, is passed by.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devlint.model.spans import LineIndex
from devlint.source.cells import Cell, Cells, Piece
from devlint.source.encoding import utf8
from devlint.source.errors import SourceError
from devlint.source.magics import Masked, all_masked, masked
from devlint.source.parsing import parsed, parses

_BLANKS = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"\d{1,9}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_SEPARATOR = 200
"""Characters between two strings of a list; more are no habit that is followed."""

# What `json` itself reads strings and values with, which its stubs leave out.
_scan_string: Callable[[str, int, bool], tuple[str, int]] = vars(json.decoder)["scanstring"]


def _scanner(**options: Any) -> Callable[[str, int], tuple[Any, int]]:
    scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder(**options))["scan_once"]
    return scan


_MOST_CELLS = 10_000
"""Cells of code that are read: each takes time, however short it is."""

Handler = Callable[[int], int]
"""Reads the value at an offset, and gives the offset behind it."""


def read_notebook(data: bytes) -> Cells:
    """The cells of a notebook that are in Python; none where its kernel isn't.

    Raises `SourceError` for what is no notebook; its span is one of the whole file.
    """
    file = utf8(data)
    reader = _Reader(file.text)
    try:
        reader.read()
    except RecursionError:
        raise reader.error("nested too deeply for a notebook", 0) from None
    code = [each for each in reader.cells if each.is_code and _is_python(reader.metadata)]
    if len(code) > _MOST_CELLS:
        reason = f"more than {_MOST_CELLS:,} cells of code"
        raise SourceError(reason, LineIndex("").span(0, 0), "unreadable")
    return Cells(file, map(_cell, code))


def _is_python(metadata: Mapping[str, Any]) -> bool:
    """Whether a notebook is run by Python 3, by what it says; if it says nothing, it is."""
    kernel, about = _part(metadata, "kernelspec"), _part(metadata, "language_info")
    for language in (kernel.get("language"), about.get("name")):
        if isinstance(language, str) and not _names_python(language):
            return False
    version = about.get("version")
    return not (isinstance(version, str) and version.startswith("2."))


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def _names_python(language: str) -> bool:
    return language.lower() in ("python", "python3", "ipython")


@dataclass(slots=True)
class _Raw:
    """A cell as it is read."""

    number: int
    kind: object = None
    language: object = None
    metadata: object = None
    count: int | None = None
    at: int = 0
    pieces: tuple[Piece, ...] = ()
    gap: str = ""

    @property
    def is_code(self) -> bool:
        return self.kind == "code"

    @property
    def is_python(self) -> bool:
        """Unless an editor has noted another language for this cell alone."""
        about = self.metadata if isinstance(self.metadata, dict) else {}
        named = (self.language, _part(about, "vscode").get("languageId"))
        return all(_names_python(each) for each in named if isinstance(each, str))


def _cell(raw: _Raw) -> Cell:
    text = "".join(piece.text for piece in raw.pieces)
    python, error = _python(text) if raw.is_python else (all_masked(text), None)
    return Cell(raw.number, raw.pieces, raw.at, raw.gap, raw.count, python, error)


def _python(text: str) -> tuple[Masked, SourceError | None]:
    """What of a cell is Python; nothing where it can't be read, and why."""
    half = _SURROGATE.search(text)
    if half is not None:
        span = LineIndex(text).span(half.start(), half.end())
        return all_masked(text), SourceError("half of a surrogate pair", span, "syntax")
    python = masked(text, parses)
    try:
        parsed(python.text)
    except SourceError as error:
        indented = text[:1] in (" ", "\t") and parses(textwrap.dedent(python.text))
        return all_masked(text), None if indented else error  # IPython takes the indent away
    return python, None


@dataclass(slots=True)
class _Reader:
    """Reads the JSON of a notebook. Of a key that is there twice, the last one counts."""

    text: str
    cells: list[_Raw] = field(default_factory=list)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _found: bool = False
    _scan: Callable[[str, int], tuple[Any, int]] = field(
        # Numbers stay text: nobody asks for them, and some are too long for Python.
        default=_scanner(parse_int=str, parse_float=str)
    )

    def read(self) -> None:
        at = self._space(0)
        if not self.text.startswith("{", at):
            raise self._odd("JSON, but not a notebook: it isn't an object", at)
        end = self._space(
            self._object(
                at,
                {
                    "cells": lambda at: self._list(at, "cells", self._read_cell, self.cells.clear),
                    "worksheets": lambda at: self._list(at, "worksheets", self._read_sheet),
                    "metadata": self._read_metadata,
                },
            )
        )
        if end < len(self.text):
            raise self.error("not valid JSON: more text follows the notebook", end)
        if not self._found:
            raise self.error("JSON, but not a notebook: it has no `cells`", at)

    def error(self, reason: str, at: int) -> SourceError:
        return SourceError(reason, LineIndex(self.text).span(at, at), "syntax")

    def _odd(self, reason: str, at: int) -> SourceError:
        """The error for a value that has no place in a notebook, if it is one of JSON."""
        self._value(at)
        return self.error(reason, at)

    # --- a notebook

    def _read_metadata(self, at: int) -> int:
        found, end = self._value(at)
        self.metadata = found if isinstance(found, dict) else {}
        return end

    def _read_sheet(self, at: int) -> int:
        """A part of a notebook in the third version of the format."""
        cells: dict[str, Handler] = {"cells": lambda at: self._list(at, "cells", self._read_cell)}
        return self._object(at, cells) if self.text.startswith("{", at) else self._value(at)[1]

    def _read_cell(self, at: int) -> int:
        cell = _Raw(len(self.cells) + 1)
        self.cells.append(cell)
        if not self.text.startswith("{", at):
            raise self._odd(f"not a notebook: cell {cell.number} isn't an object", at)

        def source(at: int) -> int:
            cell.at = at
            end, cell.pieces, cell.gap = self._read_source(at, cell.number)
            return end

        def count(at: int) -> int:
            end = self._value(at)[1]
            written = self.text[at : min(end, at + 10)]
            cell.count = int(written) if _NUMBER.fullmatch(written) else None
            return end

        def keep(name: str) -> Handler:
            def kept(at: int) -> int:
                found, end = self._value(at)
                setattr(cell, name, found)
                return end

            return kept

        handlers = {"source": source, "input": source, "cell_type": keep("kind")}
        handlers |= {"execution_count": count, "prompt_number": count}
        handlers |= {"language": keep("language"), "metadata": keep("metadata")}
        return self._object(at, handlers)

    def _read_source(self, at: int, number: int) -> tuple[int, tuple[Piece, ...], str]:
        """The strings of a cell, and what stands between two of them where they are a list."""
        if self.text.startswith('"', at):
            piece = self._string(at)
            return piece.end + 1, (piece,), ""
        if not self.text.startswith("[", at):
            raise self._odd(f"not a notebook: the source of cell {number} isn't text", at)
        pieces: list[Piece] = []

        def line(at: int) -> int:
            if not self.text.startswith('"', at):
                raise self._odd(f"not a notebook: a line of cell {number} isn't text", at)
            pieces.append(self._string(at))
            return pieces[-1].end + 1

        end = self._list(at, "source", line)
        gap = ""
        if len(pieces) > 1:
            gap = self.text[pieces[0].end + 1 : pieces[1].start - 1]
        elif pieces:
            gap = "," + self.text[at + 1 : pieces[0].start - 1]
        return end, tuple(pieces), gap if len(gap) <= _LONGEST_SEPARATOR else ","

    # --- JSON

    def _space(self, at: int) -> int:
        found = _BLANKS.match(self.text, at)
        return at if found is None else found.end()

    def _string(self, at: int) -> Piece:
        try:
            text, end = _scan_string(self.text, at + 1, True)
        except ValueError as error:
            raise self._invalid(error, at) from None
        return Piece(at + 1, end - 1, text)

    def _value(self, at: int) -> tuple[Any, int]:
        try:
            return self._scan(self.text, at)
        except StopIteration as error:
            raise self.error("not valid JSON: a value is missing", int(error.value)) from None
        except ValueError as error:
            raise self._invalid(error, at) from None

    def _invalid(self, error: ValueError, at: int) -> SourceError:
        if isinstance(error, json.JSONDecodeError):
            return self.error(f"not valid JSON: {error.msg}", error.pos)
        return self.error(f"not valid JSON: {error}", at)

    def _object(self, at: int, handlers: Mapping[str, Handler]) -> int:
        """Read an object, its values by the handlers of their keys; the offset behind it."""

        def member(at: int) -> int:
            if not self.text.startswith('"', at):
                raise self.error("not valid JSON: a name in double quotes is missing", at)
            name = self._string(at)
            at = self._space(name.end + 1)
            if not self.text.startswith(":", at):
                raise self.error("not valid JSON: a `:` is missing", at)
            at = self._space(at + 1)
            handler = handlers.get(name.text)
            return self._value(at)[1] if handler is None else handler(at)

        return self._members(at, "}", member)

    def _list(
        self, at: int, name: str, item: Handler, start: Callable[[], object] = lambda: None
    ) -> int:
        if not self.text.startswith("[", at):
            raise self._odd(f"not a notebook: `{name}` isn't a list", at)
        self._found = True
        start()
        return self._members(at, "]", item)

    def _members(self, at: int, closing: str, member: Handler) -> int:
        at = self._space(at + 1)
        if self.text.startswith(closing, at):
            return at + 1
        while True:
            at = self._space(member(at))
            if self.text.startswith(closing, at):
                return at + 1
            if not self.text.startswith(",", at):
                raise self.error(f"not valid JSON: a `,` or `{closing}` is missing", at)
            at = self._space(at + 1)
