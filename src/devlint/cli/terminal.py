"""What a terminal can show, as its environment says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_PROGRAMS = frozenset({"ghostty", "Hyper", "iTerm.app", "rio", "Tabby", "vscode", "WezTerm"})
_KINDS = frozenset(
    {"alacritty", "contour", "foot", "foot-extra", "wezterm", "xterm-ghostty", "xterm-kitty"}
)
_FIRST_VTE = 5001
"""Release 0.50.0 crashes on links."""
_FIRST_KONSOLE = 201200
_THEIR_OWN = ("WT_SESSION", "DOMTERM")
"""What Windows Terminal and DomTerm set."""


def knows_links(stream: TextIO) -> bool:
    """Whether a stream is a terminal that makes links of OSC 8. `FORCE_HYPERLINK` decides where it
    is set, and never for what is no terminal."""
    return stream.isatty() and _says_so(os.environ)


def _says_so(environment: Mapping[str, str]) -> bool:
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    kind = environment.get("TERM", "")
    if kind.startswith(("screen", "tmux", "dumb")):
        return False  # what stands between may not pass them on
    return (
        kind in _KINDS
        or environment.get("TERM_PROGRAM") in _PROGRAMS
        or _number(environment.get("VTE_VERSION")) >= _FIRST_VTE
        or _number(environment.get("KONSOLE_VERSION")) >= _FIRST_KONSOLE
        or any(environment.get(name) for name in _THEIR_OWN)
    )


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
