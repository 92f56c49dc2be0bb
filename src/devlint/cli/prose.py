"""A rule's page as it reads well in a terminal: wrapped, with its code set in."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_FENCE = "```"
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_MEANING = {
    "error": "Reported:",
    "error pedantic": "Reported with --pedantic:",
    "fixed": "Fixed:",
    "ok": "Not reported:",
}
"""What the words behind a fence and its language say of the code."""


def plain(markdown: str, width: int) -> str:
    """The Markdown of a page without its marks, at most `width` columns wide but for code."""
    return "\n\n".join(_blocks(markdown.splitlines(), width)) + "\n"


def _blocks(lines: list[str], width: int) -> Iterator[str]:
    paragraph: list[str] = []
    code: list[str] | None = None
    for line in [*lines, ""]:
        if code is not None:
            if line.startswith(_FENCE):
                yield textwrap.indent("\n".join(code), "    ")
                code = None
            else:
                code.append(line)
        elif line.startswith(_FENCE):
            if paragraph:
                yield _wrapped(paragraph, width)
                paragraph = []
            code = []
            if meaning := _MEANING.get(" ".join(line.split()[1:])):
                yield meaning
        elif line.startswith("#"):
            title = line.lstrip("# ")
            yield f"{title}\n{'-' * len(title)}"
        elif line.strip():
            paragraph.append(line)
        elif paragraph:
            yield _wrapped(paragraph, width)
            paragraph = []


def _wrapped(paragraph: list[str], width: int) -> str:
    """A paragraph, or the items of a list, each behind its hyphen."""
    items: list[str] = []
    for line in paragraph:
        if line.startswith("- ") or not items:
            items.append(line)
        else:
            items[-1] += " " + line.strip()
    return "\n".join(
        textwrap.fill(
            _LINK.sub(_link, item),
            width,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )


def _link(match: re.Match[str]) -> str:
    text, target = match.groups()
    name = target.removesuffix(".md")
    return f"{text} ({name})" if name != text else text
