"""The lines of an ignore file, matched in a time that grows with the pattern and the path alone.

pathspec reads the notation and gives regular expressions, in which each `*` and `**` may be tried
at every place for every place of the one before it: `*a*a*a*b` takes hours. Where the first place
that fits is taken for all of them but the last, nothing is missed: what follows has the most room.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Literal

_PLAIN = re.compile(r"(?:!|(?!!))(?P<root>/?)(?P<body>[^\\*?\[/]+(?:/[^\\*?\[/]+)*)(?P<folder>/?)")
"""A line without wildcards and escapes."""

_FOLDER = "ps_d"
"""The group in which pathspec's expressions keep the slash behind a folder that matches."""

_PART = re.compile(
    rf"""
    (?P<star> \[\^/\]\*)
    | (?P<any> \(\?:\.\+/\)\? | \(\?:/\.\+\)\?/)
    | (?P<end> (?:\(\?:)? \(\?P<{_FOLDER}>.*)
    | (?P<slash> /)
    | (?P<range> \[ \^? \]? [^\]]* \])
    | (?P<one> \\. | .)
    """,
    re.VERBOSE | re.DOTALL,
)
"""The parts of pathspec's expressions: `*`, `**`, what stands at the end, and single characters."""


class Lines:
    """The lines of an ignore file. The last one that matches a path decides on it; one that matches
    the path itself comes before those that match a folder around it."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self._includes: list[bool] = []
        self._plain: dict[tuple[str, bool], int] = {}
        """The last plain line for a name, or for a path that starts with a slash; and whether it
        is for folders only."""
        wild: list[tuple[int, _Wild]] = []
        for number, line in enumerate(line.rstrip(" ") for line in lines):
            self._includes.append(not line.startswith("!"))
            if line.startswith("#"):
                continue
            plain = _PLAIN.fullmatch(line)
            if plain is None:
                wild.append((number, _Wild(line)))
                continue
            body = plain["body"]
            key = f"/{body}" if plain["root"] or "/" in body else body
            self._plain[key, bool(plain["folder"])] = number
        self._wild = wild[::-1]
        self.tried = len(wild)
        """How many lines each path is compared with, one by one."""

    def decide(self, path: str) -> bool | None:
        """Whether a path, with forward slashes and none at its start, is matched or taken back by
        a `!`; None where no line says anything of it. A folder ends with a slash."""
        _, number = max((*self._of_plain(path), *self._of_wild(path)), default=(False, None))
        return None if number is None else self._includes[number]

    def _of_plain(self, path: str) -> Iterator[tuple[bool, int]]:
        """The plain lines that match, and whether they match more than a folder of the path."""
        if not self._plain:
            return
        end = -1
        while end < len(path):
            start, end = end + 1, path.find("/", end + 1)
            is_last = end < 0
            end = len(path) if is_last else end
            for key in (path[start:end], f"/{path[:end]}"):
                for folder in (False, True):
                    number = self._plain.get((key, folder))
                    if number is not None and not (is_last and folder):
                        yield is_last, number

    def _of_wild(self, path: str) -> Iterator[tuple[bool, int]]:
        """The same of the others, as far as they may decide."""
        for number, wild in self._wild:
            found = wild.match(path)
            if found is not None:
                is_whole = not found.groupdict().get(_FOLDER)
                yield is_whole, number
                if is_whole:
                    return


class _Wild:
    """A line with wildcards or escapes. It is made an expression when a path may match it."""

    __slots__ = ("_compiled", "_least", "_line", "_piece")

    def __init__(self, line: str) -> None:
        self._line = line
        fixed = _FIXED.findall(line.removeprefix("!"))
        self._least = sum(len(text) if text else 1 for text, _, _ in fixed)
        self._piece = max((text for text, _, _ in fixed), key=len, default="")
        is_open = any(unclosed for _, _, unclosed in fixed)
        self._compiled: re.Pattern[str] | Literal[False] | None = None if is_open else False

    def match(self, path: str) -> re.Match[str] | None:
        """How the line matches a path."""
        if len(path) < self._least or self._piece not in path:
            return None
        if self._compiled is False:
            self._compiled = _compiled(self._line)
        return None if self._compiled is None else self._compiled.search(path)


_FIXED = re.compile(r"([^\\*?\[/]+)|(\\.|\[[!^]?\]?[^\]]*\]|\?)|(\[[!^]?\]?[^\]]*\Z)", re.DOTALL)
"""What a path has to hold wherever a line matches: text as it is, or any one character. The last is
a range that isn't closed: such a line matches nothing, as with git."""


def _compiled(line: str) -> re.Pattern[str] | None:
    """A line as an expression; None where it matches nothing."""
    try:
        regex, _ = _translator()(_ESCAPED.sub(_unescaped_slash, line))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ranges that may mean something else one day
            return None if regex is None else re.compile(without_retries(regex))
    except (ValueError, re.error):  # no pattern to pathspec, or a range that ends before it starts
        return None


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def _unescaped_slash(escaped: re.Match[str]) -> str:
    """An escaped slash is a slash to git, and no pattern to pathspec."""
    return "/" if escaped[1] == "/" else escaped[0]


@cache
def _translator() -> Callable[[str], tuple[str | None, bool | None]]:
    from pathspec import GitIgnoreSpec  # takes long to import; many runs need no such patterns

    [pattern] = GitIgnoreSpec.from_lines(("*",)).patterns
    translate: Callable[[str], tuple[str | None, bool | None]] = type(pattern).pattern_to_regex
    return translate


def without_retries(regex: str) -> str:
    """One of pathspec's expressions, as one that takes for each `*` and each `**` but the last the
    first place that fits, and stays with it. No range matches a slash, as with git."""
    groups = count()

    def first(text: str) -> str:
        # What a lookahead has matched isn't matched in another way afterwards. Python 3.11 has
        # `(?>...)` for that.
        group = f"g{next(groups)}"
        return f"(?=(?P<{group}>{text}))(?P={group})"

    blocks: list[tuple[str, str]] = []
    opening, block, pieces, end = "", "", [""], ""

    def name() -> str:
        """What stands between two slashes, whose pieces have a `*` between them."""
        head, *rest = pieces
        middle = [first(f"[^/]*?{piece}") for piece in rest[:-1] if piece]
        return "".join([head, *middle, *(f"[^/]*{piece}" for piece in rest[-1:])])

    for part in _PART.finditer(regex):
        kind, text = part.lastgroup, part.group()
        if kind == "star":
            pieces.append("")
        elif kind == "range":
            pieces[-1] += text if text == "[^/]" else f"(?!/){text}"
        elif kind == "one":
            pieces[-1] += text
        else:
            block, pieces = block + name(), [""]
            if kind == "slash":
                block += text
            elif kind == "any":
                blocks.append((opening, block))
                opening, block = text, ""
            else:
                end = text
    block += name() + end
    done = [first(f"{_LAZY[before]}{text}(?=/)") if before else text for before, text in blocks]
    return "".join([*done, opening, block])


_LAZY = {"(?:.+/)?": "(?:.+?/)??", "(?:/.+)?/": "(?:/.+?)??/"}
"""`**` at the start and in the middle of a line, and the shortest way to match it."""
