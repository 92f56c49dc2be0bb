"""The way in to a document. LibCST, which takes longer to load than a small file to lint, is loaded
for the first file that needs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from devlint.source.encoding import Decoded, decode
from devlint.source.errors import SourceError
from devlint.source.lower import parsed

if TYPE_CHECKING:
    from devlint.source.document import Document


def read_document(data: bytes, filename: str) -> Document:
    """Read a file. Raises `SourceError`, also for what is nested too deeply."""
    decoded = decode(data)
    parsed(decoded.text)
    return document_of(decoded, filename)


def document_of(decoded: Decoded, filename: str) -> Document:
    """The document of a text that Python has parsed. Raises `SourceError`."""
    from devlint.source.document import parse

    return parse(decoded, filename)


def syntax_error(data: bytes) -> SourceError | None:
    """Why a file can't be read, or None, without making a document of it, which takes ten times as
    long."""
    try:
        parsed(decode(data).text)
    except SourceError as error:
        return error
    return None


def mentions(data: bytes, words: Iterable[bytes]) -> bool:
    """Whether a file contains one of the words, anywhere."""
    return any(word in data for word in words)
