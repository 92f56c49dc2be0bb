"""What IPython adds to Python, masked in place: magics, `!` lines and `?` lines.

A mask has as many characters and the same line breaks, so that rows and columns stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_PYTHON_CELLS = frozenset("capture debug memit prun snakeviz time timeit wandb".split())
"""Cell magics whose bodies run as Python, in the names of the notebook."""

_HEAD = re.compile(
    r"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r(?!\n)|\n))*[ \t]*(?P<sign>%%|!!)(?P<name>[^\s%]*)[^\r\n]*"
)
"""The line of a cell magic, and the blank lines and comments above it."""
_MAYBE = re.compile(r"^[ \t]*[%!?/,;]|\?[ \t]*\r?$|=[ \t]*[!%]", re.MULTILINE)
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?:[%!?/,;]\s*\S.*|%{0,2}(?!\d)[\w.*\[\]-]+\?\??[ \t]*$|[!?]\s*$)"
)
_TIMED = re.compile(r"(?P<indent>[ \t]*)(?P<magic>%time[ \t]+)(?P<rest>[^\s-].*)")
_ASSIGNED = re.compile(r"(?P<target>[^#=]*[^#=!<>+\-*/%&|^@:\s][ \t]*=[ \t]*)(?:!|%(?=[A-Za-z_]))")
_AUTOMATIC = re.compile(
    r"(?:cat|cd|conda|cp|env|less|load_ext|ls|mamba|man|matplotlib|mkdir|more|mv|pip|rm|rmdir|run|uv)"
    r"[ \t]+\S.*"
)
"""A cell of one line that IPython takes for a magic without a sign."""
_UNKNOWN = "__"
"""What a magic returns: a name that IPython binds, and of which nothing is known."""

_END = re.compile(r"[^\r\n]*")
_BREAK = re.compile(r"\r\n?|\n")
_TOKEN = re.compile(
    r"#[^\r\n]*|(?P<quote>\"\"\"|'''|\"|')|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|\\(?:\r\n?|\n)|(?P<end>\r\n?|\n)"
)
_CLOSING = {
    quote: re.compile(rf"(?:\\(?:\r\n|\r(?!\n)|[^\r])|[^\\{breaks}])*?{quote}", re.DOTALL)
    for quote, breaks in (('"""', ""), ("'''", ""), ('"', r"\r\n"), ("'", r"\r\n"))
}


@dataclass(frozen=True, slots=True)
class Masked:
    """The Python of a cell, and the ranges of it that no edit may touch."""

    text: str
    guarded: tuple[tuple[int, int], ...]


def blank(text: str) -> str:
    """A text of which only the line breaks are left."""
    return re.sub(r"[^\r\n]", " ", text)


def all_masked(text: str) -> Masked:
    """A cell of which nothing is read."""
    return Masked(blank(text), ((-1, len(text) + 1),))


def masked(text: str, parses: Callable[[str], bool]) -> Masked:
    """A cell with its magics masked; the whole of it where it isn't in Python.

    `parses` tells whether a text is Python. What is Python as it stands is left so.
    """
    if _AUTOMATIC.fullmatch(text.strip()) and not parses(text):
        return all_masked(text)
    if not _MAYBE.search(text) or parses(text):
        return Masked(text, ())
    guarded: list[tuple[int, int]] = []
    pieces: list[str] = []
    at = 0
    while (head := _HEAD.match(text, at)) is not None:  # `%%capture` above `%%time`
        if head["sign"] == "!!" or head["name"] not in _PYTHON_CELLS:
            return all_masked(text)
        guarded.append((at - 1, head.end()))
        pieces.append(blank(head[0]))
        at = head.end()
    while at < len(text):
        end = _line_end(text, at)
        instead = _instead(text[at:end], parses)
        if instead is None:
            end = _statement_end(text, at)
            pieces.append(text[at:end])
        else:
            lead, mask, tail = instead
            stop = end - len(tail)
            if not tail:
                end = stop = _continued(text, end)
            first = at + len(lead)
            guarded.append((first, stop))
            pieces.append(lead + mask + blank(text[first + len(mask) : stop]) + tail)
        at = end
        if (line_break := _BREAK.match(text, at)) is not None:
            pieces.append(line_break[0])
            at = line_break.end()
    return Masked("".join(pieces), tuple(guarded))


def _instead(line: str, parses: Callable[[str], bool]) -> tuple[str, str, str] | None:
    """What of a line stays that isn't Python, what stands for the rest, and what stays behind
    that; None for other lines."""
    timed = _TIMED.fullmatch(line)
    if timed is not None and parses(f"0;{timed['rest']}"):
        return timed["indent"], "0;", timed["rest"]
    found = _LINE.match(line)
    if found is not None:
        return found["indent"], "0", ""
    found = _ASSIGNED.match(line)
    if found is not None:
        target = found["target"]
        return target, _UNKNOWN[: len(line) - len(target)], ""
    return None


def _line_end(text: str, at: int) -> int:
    found = _END.match(text, at)
    return at if found is None else found.end()


def _continued(text: str, end: int) -> int:
    """The end of a line of which the end is known, with those that a backslash joins to it."""
    while text[end - 1 : end] == "\\" and (line_break := _BREAK.match(text, end)) is not None:
        end = _line_end(text, line_break.end())
    return end


def _statement_end(text: str, at: int) -> int:
    """The end of the logical line that starts at an offset, its line break left out."""
    depth = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["quote"]:
            closing = _CLOSING[token["quote"]].match(text, at)
            at = closing.end() if closing else _unclosed(text, at, token["quote"])
        elif token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        elif token["end"] and not depth:
            return token.start()
    return len(text)


def _unclosed(text: str, at: int, quote: str) -> int:
    """Where a string ends that nothing closes: with its line, or with the text."""
    return len(text) if len(quote) == 3 else _line_end(text, at)
