"""Styled text for terminals, and how many cells of one a character takes.

The styles' names are those of `PALETTE`. Without colour nothing of rich is imported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from types import MappingProxyType

from devlint.findings import Level
from devlint.report.context import severity

Segment = tuple[str, str]
"""A text and the name of its style; "" is plain."""

Line = list[Segment]

PALETTE = MappingProxyType(
    {
        "error": "bold red",
        "warning": "bold yellow",
        "note": "bold cyan",
        "label": "bold blue",
        "gutter": "bold blue",
        "code": "bold",
        "strong": "bold",
        "help": "bold cyan",
        "removed": "red",
        "added": "green",
        "dim": "dim",
    }
)

TAB = 4

# What a terminal would obey rather than show: writing direction and invisible marks.
_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def level_style(level: Level) -> str:
    """The name of the style of a level, which is also what the level is called."""
    return severity(level)


def visible(character: str) -> str:
    """A character as it is shown: controls as their pictures, tabs as blanks."""
    if character == "\t":
        return " " * TAB
    point = ord(character)
    if point < 0x20:
        return chr(0x2400 + point)
    if point == 0x7F:
        return "\u2421"
    if 0x80 <= point < 0xA0 or 0xD800 <= point < 0xE000 or character in _BIDI:
        return "\ufffd"
    return character


def cells(text: str) -> int:
    """How many cells a text takes, once made visible."""
    return sum(map(cell_width, text))


def cell_width(character: str) -> int:
    """The cells of one character: 0 for combining marks, 2 for wide ones, `TAB` for a tab."""
    if "\x20" <= character < "\x7f":
        return 1
    if character == "\t":
        return TAB
    if visible(character) != character:
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def one_line(text: str) -> str:
    """A text that stays on one line and gives a terminal no orders."""
    return shown(" ".join(text.splitlines()))


def shown(text: str) -> str:
    """A text with every character as it is shown."""
    return "".join(map(visible, text))


def paint(lines: Iterable[Line], color: bool) -> str:
    """Lines as one string, each ended by a newline; without blanks at their ends."""
    if not color:
        return "".join(_plain(line).rstrip() + "\n" for line in lines)
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(style) for name, style in PALETTE.items()}
    return "".join(
        "".join(
            styles[style].render(text, color_system=ColorSystem.STANDARD) if style else text
            for text, style in _trimmed(line)
        )
        + "\n"
        for line in lines
    )


def _plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def _trimmed(line: Line) -> Line:
    """The line with neighbours of one style joined, and without blanks at its end."""
    kept: Line = []
    for text, style in line:
        if kept and kept[-1][1] == style:
            kept[-1] = (kept[-1][0] + text, style)
        elif text:
            kept.append((text, style))
    while kept:
        text, style = kept.pop()
        if text.rstrip():
            kept.append((text.rstrip(), style))
            break
    return kept
