"""What Python's own parser says of a text: what it takes needs no LibCST to be called readable."""

from __future__ import annotations

import ast
import warnings

from devlint.source.errors import SourceError
from devlint.spans import LineIndex


def refuse_nul(text: str) -> None:
    """Raise `SourceError` for characters that Python refuses and LibCST takes."""
    offset = text.find("\0")
    if offset >= 0:
        span = LineIndex(text).span(offset, offset + 1)
        raise SourceError("source code can't contain NUL characters", span, "syntax")
    if text.startswith("\ufeff"):
        # Python refuses a second byte order mark; LibCST would drop it and shift all offsets.
        span = LineIndex(text).span(0, 1)
        raise SourceError("invalid non-printable character U+FEFF", span, "syntax")


def python_error(text: str) -> SyntaxError | None:
    """What the running Python says about a text. It may be older than the syntax."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the linted file's escapes and comparisons
        try:
            ast.parse(text)
        except SyntaxError as error:
            return error
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return SyntaxError(str(error) or "nested too deeply")
    return None
