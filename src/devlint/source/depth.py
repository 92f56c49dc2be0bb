"""How deeply a text is nested, before LibCST sees it.

LibCST's parser is native code: on nesting deeper than the stack allows it ends the process.
Python's own limit is 200 brackets, which LibCST doesn't have. So a text is scanned first:
`is_deep` never misses a deep text and costs next to nothing; `too_deep` is exact and slow, and
runs only on the few texts that the first one can't clear.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice

BRACKETS = 200
"""Python's limit: its tokenizer refuses more brackets inside each other."""
LINKS = 3_000
"""Operators, attributes and the like in one expression. LibCST's time grows with the square: three
thousand take up to ten seconds."""
PREFIXES = 1_000
"""Of these, those that hold all of what follows them: signs, `not`, `lambda`, `if` and `else`,
`**`. LibCST takes a hundred kilobytes of the stack for each; Python's limit is three thousand."""
_LINKS_OF_A_CALL = 3
"""What a call or a subscript counts for: with those LibCST's time grows with the cube."""
BRANCHES = 20_000
"""`elif` in one file."""
CHAINED = 3_000
"""`elif` that belong to one `if`: about as many as Python takes, up to 3.12."""
MOST_TOKENS = 1_000_000
"""Names, numbers, strings and operators of a file. Python's own parser takes a kilobyte for
each."""
EXACT_TOKENS = 150_000
"""The same of a file that LibCST has to read, which takes up to three kilobytes and thirty
microseconds for each."""

_PREFIXES = frozenset(("not", "lambda", "if", "await", "**"))
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


_TEXT = r"""
    (?:\"{3}(?:\\.|[^\\])*?\"{3}) | (?:'{3}(?:\\.|[^\\])*?'{3})
  | "(?:\\.|[^"\\\r\n])*" | '(?:\\.|[^'\\\r\n])*'
"""
_TOKEN = re.compile(
    rf"(?P<skip> \#[^\r\n]* | {_TEXT} | \\\r?\n )"
    r"""
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<comma>,)
    | (?P<end>[\r\n;])
    | (?P<branch>(?:^|(?<=[\r\n]))[ \t\f]*(?:el)?if\b)
    | (?P<link>[-+*/%|&^@~<>=.]+ | \b(?:not|lambda|if|await|and|or|in|is)\b)
    """,
    re.VERBOSE | re.DOTALL,
)


_LEXEME = re.compile(rf"\#[^\r\n]* | {_TEXT} | \w+ | \r\n? | \n | [^\w\s]", re.VERBOSE | re.DOTALL)


def too_long(text: str, most: int = EXACT_TOKENS) -> Excess | None:
    """Where a text has more than so many tokens, or None. What f-strings hold counts too, as two
    for each brace anywhere."""
    if len(text) <= most:
        return None
    left = max(most - 2 * text.count("{"), 0)
    beyond = next(islice(_LEXEME.finditer(text), left, None), None)
    return None if beyond is None else Excess(beyond.start(), f"more than {most:,} tokens")


class _Expression:
    """What has been counted of an expression, or of what stands in brackets in one."""

    __slots__ = ("links", "prefixes")

    def __init__(self) -> None:
        self.links = self.prefixes = 0

    def excess(self, offset: int) -> Excess | None:
        """Whether that is too much."""
        if self.links > LINKS:
            what = f"{LINKS} operators, calls and attributes"
        elif self.prefixes > PREFIXES:
            what = f"{PREFIXES} signs, `not`, `lambda`, `if` and powers"
        else:
            return None
        return Excess(offset, f"more than {what} in one expression")


def too_deep(text: str) -> Excess | None:
    """Where a text passes one of the limits, or None."""
    around = [_Expression()]  # that at each open bracket
    branches = 0
    chained: Counter[int] = Counter()  # by the column in which they stand
    operator_end = -1
    for match in _TOKEN.finditer(text):
        kind, start, inner = match.lastgroup, match.start(), around[-1]
        if kind == "open":
            before = text[max(start - 1, 0)]
            inner.links += _LINKS_OF_A_CALL if before.isalnum() or before in "_)]}\"'" else 1
            around.append(_Expression())
            if len(around) - 1 > BRACKETS:
                return Excess(start, f"more than {BRACKETS} brackets inside each other")
        elif kind == "close":
            if len(around) > 1:
                around.pop()
        elif kind == "comma" or (kind == "end" and len(around) == 1):
            around[-1] = _Expression()
        elif kind == "branch":
            word = match.group().lstrip()
            column = match.end() - start - len(word)
            chained[column] = chained[column] + 1 if word == "elif" else 0
            branches += word == "elif"
            for count, most in ((chained[column], CHAINED), (branches, BRANCHES)):
                if count > most:
                    return Excess(start, f"more than {most} `elif` branches")
            inner.links += 1
            inner.prefixes += 1
        elif kind == "link":
            word = match.group()
            # Signs may stand without a blank between them: `- - -a` and `---a` nest alike.
            inner.links += len(word) if word[0] in "-+~" else 1
            if word[0] in "-+~":
                follows = operator_end >= 0 and not text[operator_end:start].strip()
                inner.prefixes += len(word) - 1 + follows
            inner.prefixes += word in _PREFIXES
            operator_end = match.end()
        excess = inner.excess(start)
        if excess is not None:
            return excess
    return None
