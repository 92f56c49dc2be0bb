"""What an editor's settings say to the server; all else stands in the configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devlint.config.settings import brief, nearest

SECTION = "devlint"
_INLAY_HINTS = "inlayHints"


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of an editor."""

    inlay_hints: bool = False


def read_options(given: object) -> tuple[Options, list[str]]:
    """What is set, and what is wrong with it: an editor gives the settings themselves, or all that
    it has, with ours in a section."""
    if isinstance(given, Mapping) and SECTION in given:
        given = given[SECTION]
    if given is None:
        return Options(), []
    if not isinstance(given, Mapping):
        return Options(), [f"the editor's settings are no object, but {brief(repr(given))}"]
    problems = [
        f"the editor's settings: there is no `{brief(str(key))}`{nearest(str(key), [_INLAY_HINTS])}"
        for key in given
        if key != _INLAY_HINTS
    ]
    hints = given.get(_INLAY_HINTS)
    if hints is not None and not isinstance(hints, bool):
        problems.append(f"the editor's settings: `{_INLAY_HINTS}` is true or false")
        hints = None
    return Options(bool(hints)), problems
