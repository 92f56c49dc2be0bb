"""The fixes of one file, or of one finding, as far as they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from devlint.fix.places import key_of
from devlint.fix.sessions import Dropped, Read, Session, Texts
from devlint.model.findings import Finding
from devlint.project.neighbours import unsaved

S = TypeVar("S")
Known = dict[tuple[str, bytes], Sequence[Finding]]
"""What is found in single files that nothing stands in the place of: each text is linted once."""

_CHECKS_OF_OFFERS = 8
"""How often a file is linted again to find out which of its fixes hold."""
_OFFERS_ACROSS = 8
"""Fixes in other files that are tried for one file."""


@dataclass(frozen=True, slots=True)
class FixResult:
    """What came of fixing one file: its bytes, the fixes that hold, and what is left."""

    data: bytes
    applied: tuple[Finding, ...]
    dropped: tuple[Dropped, ...]
    remaining: tuple[Finding, ...]


def _any(finding: Finding) -> bool:
    return True


def fix_source(
    data: bytes,
    filename: str,
    settings: S,
    unsafe: bool,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool] = _any,
    language: str = "",
) -> FixResult:
    """Apply the safe fixes of a file, with `unsafe` also the others, until nothing changes.

    `check` lints bytes. A fix that overlaps an earlier one waits for the next pass. A fix is
    taken back where its finding stays, where a new finding appears that isn't fixed as well, and
    where the file no longer parses. What isn't `shown` isn't fixed, but may not come of a fix
    either. Encoding, byte order mark and newlines stay as they are. `language` is what the file is
    read as, where its name doesn't say so.
    """
    lint = _linter(settings, check)
    session = Session({filename: data}, lint, shown, unsafe, {filename: language})
    session.run()
    return FixResult(
        session.texts[filename],
        tuple(session.applied),
        tuple(session.dropped.values()),
        tuple(filter(shown, session.findings)),
    )


@dataclass(frozen=True, slots=True)
class Across:
    """What came of a fix that changes other files, too: the bytes of all that had to do with it,
    what was fixed with it, and what is left in them; or why it doesn't hold."""

    texts: Texts = field(default_factory=dict)
    applied: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    reason: str = ""


def fix_across(
    finding: Finding,
    texts: Texts,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    read: Read,
    language: str = "",
    known: Known | None = None,
) -> Across:
    """Apply the fix of a finding by itself, with those of what it uncovers. `texts` is its file,
    which is read as what `language` says; `read` gives others that have to change. `known` is told
    what is found, and asked first."""
    languages = {finding.filename: language}
    session = Session(texts, _linter(settings, check, known), _any, True, languages, read)
    same = next((each for each in session.findings if key_of(each) == key_of(finding)), None)
    if same is None:  # another fix has cleared it as well
        return Across(texts, (finding,), tuple(session.findings))
    reason = "" if same.fix is None else session.apply_alone(same, same.fix)
    return Across(session.texts, tuple(session.applied), tuple(session.findings), reason)


def objection_to(
    finding: Finding,
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    read: Read,
    language: str = "",
    known: Known | None = None,
) -> str:
    """Why the fix of one of a file's findings doesn't hold, where that is applied by itself; ""
    where it does. `known` as for `fix_across`."""
    return fix_across(finding, {filename: data}, settings, check, read, language, known).reason


def offered(
    findings: Sequence[Finding],
    data: bytes,
    filename: str,
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    shown: Callable[[Finding], bool],
    read: Read,
    language: str = "",
    are_all: bool = False,
) -> list[Finding]:
    """The findings of a file, without the fixes that don't hold, as far as so many runs of the
    linter tell as a file may cost. `are_all`: they are what `check` gives of it."""
    if not any(finding.fix for finding in findings):
        return list(findings)
    known: Known = {(filename, data): findings} if are_all else {}
    lint = _linter(settings, check, known)
    session = Session({filename: data}, lint, shown, True, {filename: language})
    session.checks = _CHECKS_OF_OFFERS
    session.run()
    dropped = session.dropped_of(findings)
    across = [each for each in findings if each.fix is not None and each.fix.filename]
    across += [each for each in findings if each in dropped and session.needs_others(each)]
    for finding in across[:_OFFERS_ACROSS]:
        dropped.discard(finding)
        if objection_to(finding, data, filename, settings, check, read, language, known):
            dropped.add(finding)
    return [replace(each, fix=None) if each in dropped else each for each in findings]


def _linter(
    settings: S,
    check: Callable[[bytes, str, S], Sequence[Finding]],
    known: Known | None = None,
) -> Callable[[Texts], list[Finding]]:
    def lint(texts: Texts) -> list[Finding]:
        if len(texts) > 1:
            with unsaved(texts):
                return [f for path, data in texts.items() for f in check(data, path, settings)]
        ((path, data),) = texts.items()
        if known is None:
            return [*check(data, path, settings)]
        if (path, data) not in known:
            known[path, data] = check(data, path, settings)
        return [*known[path, data]]

    return lint
