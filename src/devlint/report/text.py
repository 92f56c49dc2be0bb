"""Styled text for terminals, and how many cells of one a character takes.

The styles' names are those of `PALETTE`. Without colour nothing of rich is imported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from types import MappingProxyType

from devlint.model.findings import Level
from devlint.report.context import severity
from devlint.safety import escaping

Segment = tuple[str, str]
"""A text and the name of its style; "" is plain. `style URL` is a link to an address as well."""

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


def level_style(level: Level) -> str:
    """The name of the style of a level, which is also what the level is called."""
    return severity(level)


def cell_width(character: str) -> int:
    """The cells of a character that is shown: 0 for combining marks, 2 for wide ones."""
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def paint(lines: Iterable[Line], color: bool) -> str:
    """Lines as one string, each ended by a newline; without blanks at their ends.

    Whatever the lines hold is escaped here, so that no format has to think of it.
    """
    lines = map(_escaped, lines)
    if not color:
        return "".join(_plain(line).rstrip() + "\n" for line in lines)
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(style) for name, style in PALETTE.items()}

    def painted(text: str, style: str) -> str:
        name, _, url = style.partition(" ")
        shown = styles[name].render(text, color_system=ColorSystem.STANDARD) if name else text
        return f"{_LINK}{url}{_END}{shown}{_LINK}{_END}" if url else shown

    return "".join("".join(painted(*part) for part in _trimmed(line)) + "\n" for line in lines)


_LINK, _END = "\x1b]8;;", "\x1b\\"
"""What a terminal takes for the start of a link, and without an address for its end."""


def _escaped(line: Line) -> Line:
    return [
        (escaping.shown(text) if place else escaping.line(text), style)
        for place, (text, style) in enumerate(line)
    ]


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
