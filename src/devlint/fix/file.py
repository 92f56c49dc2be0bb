"""The fixes of one file: of what is shown and not older."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from devlint.config.settings import Settings
from devlint.config.sources import Source
from devlint.fix.results import is_shown, left_out, linted
from devlint.model.findings import Finding
from devlint.model.older import Told


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of fixing one file: `error` says why nothing did."""

    old: bytes = b""
    new: bytes = b""
    applied: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: tuple[Finding, ...] = ()
    """Those whose fixes need a change of another file."""
    error: str = ""


def fix_bytes(data: bytes, source: Source, unsafe: bool, older: Told | None = None) -> Outcome:
    """Fix the content of a file, but for what is older, and what isn't shown."""
    from devlint.fix.applying import fix_source

    def check(data: bytes, filename: str, settings: Settings) -> list[Finding]:
        return linted(data, source, older)

    result = fix_source(
        data, source.path, source.settings, unsafe, check, partial(is_shown, source),
        source.language,
    )  # fmt: skip
    waiting = tuple(each.finding for each in result.dropped if each.needs_others and unsafe)
    notes = tuple(
        left_out(each.finding, each.reason)
        for each in result.dropped
        if each.finding not in waiting
    )
    return Outcome(data, result.data, result.applied, result.remaining, notes, waiting)
