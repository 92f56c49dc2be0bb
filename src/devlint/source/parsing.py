"""Text -> Python's own tree. A run in which nothing has changed needs no more, so nothing of the
intermediate form is loaded here."""

from __future__ import annotations

import ast
import warnings

from devlint.model.findings import Span
from devlint.model.spans import LineIndex
from devlint.source.depth import MOST_TOKENS, Excess, is_deep, too_deep, too_long
from devlint.source.errors import SourceError
from devlint.source.room import with_room


def parsed(text: str, explain: bool = True) -> ast.Module:
    """Python's tree of a text. Raises `SourceError`: `explain` says whether that has to tell which
    Python reads the text, for which LibCST has to read it."""
    try:
        return _tree(text)
    except SyntaxError as error:
        raise _explained(text, error, explain) from None


def parses(text: str) -> bool:
    """Whether Python can parse a text, without a word on why not."""
    try:
        _tree(text)
    except (SyntaxError, SourceError):
        return False
    return True


def _tree(text: str) -> ast.Module:
    """The tree, or Python's own error. Raises `SourceError` for what Python isn't given."""
    _refuse_odd(text)
    deep = is_deep(text.encode("utf-8", "surrogatepass"))
    excess = too_deep(text) if deep else None
    if excess is not None:
        raise SourceError(f"nested too deeply: {excess.reason}", _place(text, excess), "syntax")
    excess = too_long(text, MOST_TOKENS)
    if excess is not None:
        raise too_long_error(text, excess)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the linted file's escapes and comparisons
        try:
            return with_room(lambda: ast.parse(text))
        except SyntaxError:
            raise
        except (ValueError, RecursionError, MemoryError, OverflowError):
            raise nested_too_deeply(text) from None


def _refuse_odd(text: str) -> None:
    """Refuse characters that Python refuses without saying where."""
    for character, reason in _ODD.items():
        offset = text.find(character, 0, None if character == "\0" else 1)
        if offset >= 0:
            raise SourceError(reason, LineIndex(text).span(offset, offset + 1), "syntax")


_ODD = {
    "\0": "source code can't contain NUL characters",
    "\ufeff": "invalid non-printable character U+FEFF",  # a second byte order mark
}


def _explained(text: str, error: SyntaxError, explain: bool) -> SourceError:
    """Python's words and place for an error, or that a newer Python reads the file."""
    if explain:
        from devlint.source.newer import newer_syntax  # loads LibCST

        newer = newer_syntax(text)
        if newer is not None:
            return newer
    index = LineIndex(text)
    start = end = 0
    if error.lineno:
        start = end = index.offset(error.lineno, error.offset or 1)
        if error.end_lineno and error.end_offset and error.end_offset > 0:
            end = max(start, index.offset(error.end_lineno, error.end_offset))
    return SourceError(error.msg, index.span(start, end), "syntax")


def too_long_error(text: str, excess: Excess) -> SourceError:
    """The error of a text that has more tokens than can be read."""
    reason = f"too long: {excess.reason}; split the file, or leave it out with `exclude`"
    return SourceError(reason, _place(text, excess), "unreadable")


def _place(text: str, excess: Excess) -> Span:
    return LineIndex(text).span(excess.offset, excess.offset + 1)


def nested_too_deeply(text: str) -> SourceError:
    """The error of a text that Python's stack doesn't suffice for."""
    return SourceError("nested too deeply", LineIndex(text).span(0, 0), "syntax")
