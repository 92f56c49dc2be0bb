"""The way in to a document. LibCST, which takes longer to load than a small file to lint, is loaded
for the first file that needs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from devlint.source.encoding import Decoded, decode
from devlint.source.errors import SourceError
from devlint.source.syntax import python_error, refuse_nul

if TYPE_CHECKING:
    from devlint.source.document import Document


def read_document(data: bytes, filename: str) -> Document:
    """Read a file. Raises `SourceError`, also for what is nested too deeply."""
    decoded = decode(data)
    refuse_nul(decoded.text)
    return _document(decoded, filename)


def syntax_error(data: bytes, filename: str) -> SourceError | None:
    """Why a file can't be read, or None, without making a document of it.

    A tenth of the price of `read_document`: what Python's own parser accepts is fine. What it
    rejects may only be newer than the running Python, so then LibCST decides.
    """
    try:
        decoded = decode(data)
        refuse_nul(decoded.text)
        if python_error(decoded.text) is not None:
            _document(decoded, filename)
    except SourceError as error:
        return error
    return None


def mentions(data: bytes, words: Iterable[bytes]) -> bool:
    """Whether a file contains one of the words, anywhere."""
    return any(word in data for word in words)


def _document(decoded: Decoded, filename: str) -> Document:
    from devlint.source.document import parse

    return parse(decoded, filename)
