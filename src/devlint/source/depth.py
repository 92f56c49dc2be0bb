"""How deeply a text is nested, before LibCST sees it.

LibCST's parser is native code: on nesting deeper than the stack allows it ends the process.
Python's own limit is 200 brackets, which LibCST doesn't have. So a text is scanned first:
`is_deep` never misses a deep text and costs next to nothing; `too_deep` is exact and slow, and
runs only on the few texts that the first one can't clear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BRACKETS = 200
"""Python's limit: its tokenizer refuses more brackets inside each other."""
LINKS = 3_000
"""Operators, attributes and the like in one expression. LibCST's time grows with the square: three
thousand take up to ten seconds."""
_LINKS_OF_A_CALL = 3
"""What a call or a subscript counts for: with those LibCST's time grows with the cube."""
BRANCHES = 20_000
"""`elif` in one file."""

_SAFE_BRACKETS = 60
_SAFE_LINKS = 800
_SAFE_BRANCHES = 800

_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_NOT_LINKS = bytes(set(range(256)) - set(b"+-*/%|&^@~<>=.([{:"))
_WORDS = (b"not", b"lambda", b"else", b"await", b"and", b"or", b"in", b"is")

# Words that start a statement and stand nowhere else at the start of a line.
_STATEMENT = re.compile(rb"[\r\n][ \t]*(?:def|class|return|import|raise|while|with|try|assert)\b")


def is_deep(data: bytes) -> bool:
    """Whether a text, encoded in UTF-8, may be nested too deeply for the stack."""
    if data.count(b"elif") > _SAFE_BRANCHES:
        return True
    brackets = data.translate(None, _NOT_BRACKETS)
    for _ in range(_SAFE_BRACKETS):
        # Every round takes the innermost pairs away: one level of nesting.
        fewer = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(fewer) == len(brackets):
            break
        brackets = fewer
    if len(brackets) > _SAFE_BRACKETS:
        return True
    start = 0
    for match in _STATEMENT.finditer(data):
        if match.start() - start > _SAFE_LINKS and _links(data[start : match.start()]):
            return True
        start = match.start()
    return len(data) - start > _SAFE_LINKS and _links(data[start:])


def _links(piece: bytes) -> bool:
    count = len(piece.translate(None, _NOT_LINKS))
    # The words count inside of names as well, which only makes the estimate larger.
    return count > _SAFE_LINKS or count + sum(map(piece.count, _WORDS)) > _SAFE_LINKS


@dataclass(frozen=True, slots=True)
class Excess:
    """Where a text passes a limit, as an offset, and which limit, in words."""

    offset: int
    reason: str


_TOKEN = re.compile(
    r"""
    (?P<skip>
        \#[^\r\n]*
      | (?:\"{3}(?:\\.|[^\\])*?\"{3}) | (?:'{3}(?:\\.|[^\\])*?'{3})
      | "(?:\\.|[^"\\\r\n])*" | '(?:\\.|[^'\\\r\n])*'
      | \\\r?\n
    )
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<comma>,)
    | (?P<end>[\r\n;])
    | (?P<elif>\belif\b)
    | (?P<link>[-+*/%|&^@~<>=.]+ | \b(?:not|lambda|if|await|and|or|in|is)\b)
    """,
    re.VERBOSE | re.DOTALL,
)


def too_deep(text: str) -> Excess | None:
    """Where a text passes one of the limits, or None."""
    counts = [0]  # links of the expression at each open bracket
    branches = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            before = text[max(match.start() - 1, 0)]
            called = before.isalnum() or before in "_)]}\"'"
            counts[-1] += _LINKS_OF_A_CALL if called else 1
            if counts[-1] > LINKS:
                return _excess_of_links(match.start())
            counts.append(0)
            if len(counts) - 1 > BRACKETS:
                return Excess(match.start(), f"more than {BRACKETS} brackets inside each other")
        elif kind == "close":
            if len(counts) > 1:
                counts.pop()
        elif kind == "comma" or (kind == "end" and len(counts) == 1):
            counts[-1] = 0
        elif kind == "link":
            # Signs may stand without a blank between them: `- - -a` and `---a` nest alike.
            counts[-1] += len(match.group()) if match.group()[0] in "-+~" else 1
            if counts[-1] > LINKS:
                return _excess_of_links(match.start())
        elif kind == "elif":
            branches += 1
            if branches > BRANCHES:
                return Excess(match.start(), f"more than {BRANCHES} `elif` branches")
    return None


def _excess_of_links(offset: int) -> Excess:
    return Excess(offset, f"more than {LINKS} operators, calls and attributes in one expression")
