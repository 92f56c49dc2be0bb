"""Text of others as HTML, and source with its marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from devlint.safety.escaping import pieces, shown

_TOKEN = re.compile(
    r"(?P<comment>#.*)"
    r"|(?P<string>[rbuftRBUFT]{0,2}(?:\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?))"
    r"|(?P<keyword>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif"
    r"|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise"
    r"|return|try|while|with|yield)\b)"
    r"|\w+"
)
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_MOST = 400
"""Characters of a line that are shown; longer ones are cut."""

Mark = tuple[int, int, str]
"""From which column on, counted from 1, before which one, and the class of it."""


def text(words: str) -> str:
    """Words as one line of HTML, in an element or between the quotes of an attribute."""
    return escape(shown(words))


def prose(words: str) -> str:
    """A sentence, with what stands in backquotes as code."""
    found = _CODE.split(words)
    return "".join(
        f"<code>{text(part)}</code>" if index % 2 else text(part)
        for index, part in enumerate(found)
    )


def code(line: str, marks: Sequence[Mark] = (), around: int = 1) -> str:
    """A line of source with its comments, strings and keywords told apart, and with marks. Where
    it is too long it is cut around its first mark, or a column."""
    first = max(0, (marks[0][0] if marks else around) - 1 - _MOST // 2)
    first = 0 if len(line) <= _MOST else min(first, len(line) - _MOST)
    kept = line[first : first + _MOST]
    cut = [(max(a - 1 - first, 0), b - 1 - first, name) for a, b, name in marks]
    body = "".join(_marked(kept, cut))
    return f"{'…' if first else ''}{body}{'…' if first + _MOST < len(line) else ''}"


def _marked(line: str, marks: Iterable[Mark]) -> Iterator[str]:
    marks = [(a, max(b, a + 1), name) for a, b, name in marks if a <= len(line)]
    tokens = _tokens(line)
    ends = {0, len(line), *(end for a, b, _ in (*marks, *tokens) for end in (a, b))}
    places = sorted(end for end in ends if 0 <= end <= len(line))
    said = [c if c == "\t" else piece for c, piece in zip(line, pieces(line), strict=True)]
    for start, end in zip(places, [*places[1:], len(line)], strict=True):
        within = [name for a, b, name in marks if a <= start < b]
        kind = next((name for a, b, name in tokens if a <= start < b), "")
        body = escape("".join(said[start:end])) or (" " if within else "")
        if kind and body:
            body = f'<span class="{kind}">{body}</span>'
        if within:
            body = f'<mark class="{within[0]}">{body}</mark>'
        yield body


def _tokens(line: str) -> list[Mark]:
    found = _TOKEN.finditer(line)
    return [(*match.span(), str(match.lastgroup)[0]) for match in found if match.lastgroup]
