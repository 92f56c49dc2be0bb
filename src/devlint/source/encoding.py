"""Bytes of a source file <-> text: byte order marks and coding lines (PEP 263)."""

from __future__ import annotations

import codecs
import re
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from devlint.model.findings import Edit, Finding
from devlint.model.spans import LineIndex, apply_edits
from devlint.source.errors import SourceError
from devlint.source.script import Part

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_BREAK = re.compile(rb"\r\n?|\n")
_ASCII = rb"\x41 \u0041" + bytes(range(0x20, 0x7F))
"""What reads the same in every superset of ASCII."""
_LARGEST_ODD = 65_536
"""Bytes of a file in an encoding that is no superset of ASCII: some of them, such as Punycode, take
time that grows with the square of the text."""
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file as Python reads it, line breaks kept, and how to write it back."""

    text: str
    encoding: str
    mark: bool
    """The file starts with the byte order mark of UTF-8, which is not part of the text."""

    def encode(self, text: str) -> bytes:
        """Another text in the same encoding. Raises UnicodeEncodeError where it doesn't fit."""
        data = text.encode(self.encoding)
        return codecs.BOM_UTF8 + data if self.mark else data

    # --- what a `Script` is asked

    @property
    def parts(self) -> tuple[Part, ...]:
        """The text is one module."""
        return (Part(self.text),)

    @property
    def shown(self) -> str:
        """The text itself."""
        return self.text

    @property
    def errors(self) -> tuple[SourceError, ...]:
        """None: nothing is left out."""
        return ()

    def placed(self, finding: Finding) -> Finding:
        """The finding itself: the text is the file."""
        return finding

    def placed_edit(self, edit: Edit) -> Edit:
        """The edit itself."""
        return edit

    def column_of(self, row: int, column: int) -> int:
        """The column itself."""
        return column

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after some edits, as `Script` has it."""
        newline = newline_of(self.text)
        return self.encode(apply_edits(self.text, [with_newlines(each, newline) for each in edits]))


def newline_of(text: str) -> str:
    """The first line end of a text, which stands for all."""
    found = _LINE_END.search(text)
    return found[0] if found else "\n"


def with_newlines(edit: Edit, newline: str) -> Edit:
    """An edit whose lines end like those of its file."""
    return Edit(edit.span, _LINE_END.sub(newline, edit.content))


_LINE_END = re.compile(r"\r\n?|\n")


def decode(data: bytes) -> Decoded:
    """Decode a file. Raises `SourceError` of kind "unreadable"."""
    mark = data.startswith(codecs.BOM_UTF8)
    if not mark and data.startswith(_WIDE_MARKS):
        raise _unreadable(
            data, 0, "the file is UTF-16 or UTF-32, which Python doesn't read: save it as UTF-8"
        )
    body = data[len(codecs.BOM_UTF8) :] if mark else data
    declared = _declared(body)
    encoding = "utf-8"
    if declared is not None:
        name, offset = declared
        try:
            encoding = codecs.lookup(name).name
        except LookupError:
            raise _unreadable(body, offset, f"unknown encoding `{name}`") from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"
        if mark and encoding != "utf-8":
            raise _unreadable(
                body, offset, f"the file has a UTF-8 byte order mark but declares `{name}`"
            )
    if len(body) > _LARGEST_ODD and not _extends_ascii(encoding):
        limit = f"only files up to {_LARGEST_ODD:,} bytes are read"
        raise _unreadable(body, 0, f"`{encoding}` is no superset of ASCII: {limit}")
    try:
        return Decoded(body.decode(encoding), encoding, mark)
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and declared is None:
            reason = (
                f"not UTF-8: byte 0x{data[len(data) - len(body) + error.start]:02x} at byte "
                f"{len(data) - len(body) + error.start}; save the file as UTF-8 or declare its "
                "encoding in the first line (`# coding: latin-1`)"
            )
        else:
            reason = (
                f"not {encoding}, which the file declares: byte "
                f"0x{body[error.start]:02x} at byte {len(data) - len(body) + error.start}"
            )
        raise _unreadable(body, error.start, reason) from None
    except (LookupError, UnicodeError):  # a codec that doesn't decode bytes to text
        raise _unreadable(body, 0, f"`{encoding}` is no encoding for source files") from None


def utf8(data: bytes) -> Decoded:
    """Decode a file of a format that is UTF-8 by itself. Raises `SourceError` as `decode` does."""
    mark = data.startswith(codecs.BOM_UTF8)
    try:
        return Decoded(data[len(codecs.BOM_UTF8) * mark :].decode(), "utf-8", mark)
    except UnicodeDecodeError as error:
        at = error.start + len(codecs.BOM_UTF8) * mark
        raise _unreadable(
            data, at, f"not UTF-8: byte 0x{data[at]:02x} at byte {at}; save the file as UTF-8"
        ) from None


def encoded(text: str) -> bytes:
    """What a file holds that has a text, in the encoding that its first lines declare; UTF-8 where
    they declare none, or one that lacks its characters."""
    data = text.encode("utf-8", "surrogatepass")
    declared = _declared(data.removeprefix(codecs.BOM_UTF8))
    if declared is None:
        return data
    try:
        other = text.encode(declared[0])
        return other if decode(other).text == text else data
    except (LookupError, UnicodeError, SourceError):
        return data


def searchable(data: bytes) -> bytes:
    """A file in which words can be looked for: in UTF-8, with its letters as Python reads them in
    names, where a wide or a bold `o` is an `o`. What can't be decoded stays as it is."""
    declared = _declared(data.removeprefix(codecs.BOM_UTF8))
    if data.isascii() and (declared is None or _extends_ascii(declared[0])):
        return data
    try:
        text = decode(data).text
    except SourceError:
        return data
    return searchable_text(text)


def searchable_text(text: str) -> bytes:
    """A text, as `searchable` gives it."""
    return _NOT_ASCII.sub(_normalized, text).encode("utf-8", "surrogatepass")


_NOT_ASCII = re.compile(r"[^\x00-\x7f]{1,32}")
"""Short pieces: the time of one grows with its square."""


def _normalized(piece: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", piece[0])


@cache
def _extends_ascii(encoding: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes
            return _ASCII.decode(encoding) == _ASCII.decode("ascii")
    except (LookupError, UnicodeError):
        return False


def _declared(body: bytes) -> tuple[str, int] | None:
    """The encoding that the first or the second line declares, and the offset of its name."""
    start = 0
    for _ in range(2):
        match = _BREAK.search(body, start)
        line = body[start : match.start() if match else len(body)]
        cookie = _COOKIE.match(line)
        if cookie is not None:
            return cookie.group(1).decode("ascii", "replace"), start + cookie.start(1)
        if match is None or not _BLANK.match(line):
            return None
        start = match.end()
    return None


def _unreadable(body: bytes, offset: int, reason: str) -> SourceError:
    """An error at a byte; rows and columns are those of the text read as far as it can be."""
    text = body.decode("utf-8", "replace")
    place = len(body[:offset].decode("utf-8", "replace"))
    return SourceError(reason, LineIndex(text).span(place, min(place + 1, len(text))), "unreadable")
