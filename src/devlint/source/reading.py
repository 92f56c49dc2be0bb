"""The way in to a document. What reads a kind of files is loaded for the first one: LibCST takes
longer to load than a small file to lint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from devlint.safety.files import MARKDOWN, NOTEBOOK, PYTHON, language_of
from devlint.source.encoding import decode
from devlint.source.errors import SourceError
from devlint.source.script import Script

if TYPE_CHECKING:
    from devlint.source.document import Document


def read_script(data: bytes, filename: str, language: str = "") -> Script:
    """The Python of a file, whatever it is in: what its name says unless a `language` does. Raises
    `SourceError`."""
    language = language or language_of(filename)
    if language == MARKDOWN:
        from devlint.source.markdown import read_markdown  # loads a parser of Markdown

        return read_markdown(data)
    if language == NOTEBOOK:
        from devlint.source.notebooks import read_notebook

        return read_notebook(data)
    return decode(data)


def read_document(data: bytes, filename: str, language: str = "") -> Document:
    """Read a file. Raises `SourceError`, also for what is nested too deeply."""
    from devlint.source.parsing import parsed

    script = read_script(data, filename, language)
    parsed(script.text)
    return document_of(script, filename)


def document_of(script: Script, filename: str, read: str | None = None) -> Document:
    """The document of a text that Python has parsed. LibCST reads what is `read` of it, if that is
    given. Raises `SourceError`."""
    from devlint.source.document import parse

    return parse(script, filename, read)


def syntax_error(data: bytes, filename: str = "", language: str = "") -> SourceError | None:
    """Why a file can't be read, or None, without making a document of it, which takes ten times as
    long."""
    from devlint.source.parsing import parsed

    try:
        parsed(read_script(data, filename, language).text)
    except SourceError as error:
        return error
    return None


def text_of(data: bytes, filename: str, language: str = "") -> str | None:
    """The text that offsets of findings refer to, as users see it; None where there is none.

    Where a file can't be read as what it is, the findings are about the whole of it.
    """
    for each in (language, PYTHON):
        try:
            return read_script(data, filename, each).shown
        except SourceError:
            continue
    return None


def mentions(data: bytes, words: Iterable[bytes]) -> bool:
    """Whether a file contains one of the words, anywhere."""
    return any(word in data for word in words)
