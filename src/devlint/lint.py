"""Lints one file: from its bytes and the settings to findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from devlint import ir
from devlint.findings import Finding, Level, Report, Span
from devlint.flow.facts import IdleSuppression, Unparsable, Unreadable
from devlint.flow.frames.world import MOST_STEPS, TooManyStepsError
from devlint.flow.surroundings import Text
from devlint.locating import locate, no_files
from devlint.plan import Plan, prepare
from devlint.purpose import role_of_file, speaks_of_devices
from devlint.rulebook import pages
from devlint.saying import Said, rules_for, say
from devlint.selection import catalogue, codes_for
from devlint.settings import Settings
from devlint.source.adopt import adopted_origins
from devlint.source.encoding import decode, searchable
from devlint.source.errors import SourceError
from devlint.source.pragmas import has_own_pragmas, read_pragmas
from devlint.source.reading import mentions, read_document, syntax_error
from devlint.source.room import with_room
from devlint.source.scout import scout_text

if TYPE_CHECKING:
    from devlint.source.document import Document

PRAGMA_WORDS = (b"devlint", b"DEV")
"""Without these, none of our suppression comments either."""

_TOO_MUCH = (
    f"too much to work out: the file, with what it imports, takes more than {MOST_STEPS:,} steps; "
    "split it, set `follow-imports = false`, or leave it out with `exclude`"
)

UNUSED_SUPPRESSION = "unused-suppression"

_START = Span(0, 0, 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A span, for what stands in no tree."""

    origin: Span


def check_source(data: bytes, filename: str, settings: Settings) -> list[Finding]:
    """The findings of one file, in the order of its text, without those it suppresses.

    `filename` stands in the findings; made absolute, it decides on `per-file-ignores`, and its
    imports are followed from there. A file that can't be parsed or decoded, or is too large, is a
    finding of its own. Raises `SettingsError` as `prepare` does.
    """
    return check(data, filename, settings).findings


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of one file, and what they hang on besides.

    `consulted` are the paths of what was looked at in other files: where nothing has changed there,
    the findings are the same. `refused` are those that weren't opened, each with the reason.
    """

    findings: list[Finding]
    consulted: frozenset[str] = frozenset()
    refused: tuple[tuple[str, str], ...] = ()


def check(data: bytes, filename: str, settings: Settings) -> Checked:
    """The findings of one file as `check_source` gives them."""
    plan = prepare(settings)
    if len(data) > settings.max_file_size:
        return Checked(unreadable(filename, too_large(settings), settings))
    codes = codes_for(settings, filename, catalogue())
    relevant = plan.concerns(searchable(data))
    if not relevant and not mentions(data, PRAGMA_WORDS):
        error = syntax_error(data, filename)
        return Checked([] if error is None else _of_failure(error, filename, codes))
    consulted: set[str] = set()
    if plan.neighbours is not None:
        plan.neighbours.refused.clear()
    try:
        if not relevant or plan.project is None:
            return Checked(_read(data, filename, codes, plan if relevant else None))
        with plan.project.visit() as consulted:
            findings = _read(data, filename, codes, plan)
    except TooManyStepsError:
        findings = unreadable(filename, _TOO_MUCH, settings)
    refused = {} if plan.neighbours is None else plan.neighbours.refused
    return Checked(findings, frozenset(consulted), tuple(refused.items()))


def _read(data: bytes, filename: str, codes: frozenset[str], plan: Plan | None) -> list[Finding]:
    """The findings of a file; those about comments alone without a plan.

    What the parser takes, the interpreter has room for: a `RecursionError` of its own is a bug.
    """
    try:
        scouted = None
        if plan is not None:
            scouted = _scout(decode(data).text, filename, codes, plan)
        if scouted is not None and scouted.is_silent:
            return []
        document = read_document(data, filename)
        return with_room(lambda: _check(document, codes, plan, scouted))
    except SourceError as error:
        return _of_failure(error, filename, codes)


@dataclass(frozen=True, slots=True)
class Scouted:
    """What the rules say of a file as the scout reads it."""

    module: ir.Module
    said: Said
    has_pragmas: bool

    @property
    def is_silent(self) -> bool:
        """Nothing is found, and no comment of ours is to be judged: LibCST has nothing to add."""
        return not self.said and not self.has_pragmas


def _scout(text: str, filename: str, codes: frozenset[str], plan: Plan) -> Scouted | None:
    """None for what the scout can't read, or what needs more room on the stack."""
    content = _content(text, filename, plan)
    if content is None:
        return None
    try:
        said = say(content, filename, codes, plan)
    except RecursionError:
        return None
    return Scouted(content.module, said, has_own_pragmas(text))


def _content(text: str, filename: str, plan: Plan) -> Text | None:
    role = role_of_file(filename)
    if plan.neighbours is not None:
        shared = plan.neighbours.content(os.path.abspath(filename), text)
        return None if shared is None else replace(shared, role=role)
    module = scout_text(text, filename)
    return None if module is None else Text(module, role, speaks_of_devices(text))


def _check(
    document: Document, codes: frozenset[str], plan: Plan | None, scouted: Scouted | None
) -> list[Finding]:
    """The findings of a document; those about comments alone without a plan."""
    filename = document.filename
    found = [] if plan is None else _located(document, codes, plan, scouted)
    return _in_order(_after_pragmas(found, document, codes, filename))


def _located(
    document: Document, codes: frozenset[str], plan: Plan, scouted: Scouted | None
) -> list[Finding]:
    """What the rules report of a document. The scout's nodes are placed by LibCST's."""
    filename = document.filename
    files = no_files if plan.neighbours is None else plan.neighbours.file

    def located(said: Said) -> list[Finding]:
        return [locate(report, page, document, filename, files) for page, report in said]

    if scouted is not None:
        with adopted_origins(scouted.module, document.module) as same:
            if same:
                return located(scouted.said)
    content = Text(document.module, role_of_file(filename), speaks_of_devices(document.text))
    return located(say(content, filename, codes, plan))


def too_large(settings: Settings) -> str:
    """Why a file isn't read that has more bytes than the settings allow."""
    return f"larger than the {settings.max_file_size:,} bytes of `max-file-size`"


def unreadable(filename: str, reason: str, settings: Settings) -> list[Finding]:
    """The finding for a file that can't be read; none where the settings ignore it."""
    codes = codes_for(settings, filename, catalogue())
    return list(_findings(Unreadable(Place(_START), reason), codes, None, filename))


def _of_failure(error: SourceError, filename: str, codes: frozenset[str]) -> list[Finding]:
    kind = Unparsable if error.kind == "syntax" else Unreadable
    return list(_findings(kind(Place(error.span), error.reason), codes, None, filename))


def _findings(
    fact: object, codes: frozenset[str], document: Document | None, filename: str
) -> Iterator[Finding]:
    """What the rules say of one fact. Without a document, facts point at spans."""
    for page, rule in rules_for(codes).get(type(fact), ()):
        for report in rule.check(fact):
            yield locate(report, page, document, filename)


def _after_pragmas(
    found: list[Finding], document: Document, codes: frozenset[str], filename: str
) -> list[Finding]:
    """The findings that no comment suppresses, and those about the comments themselves."""
    pragmas = read_pragmas(document, _known())
    kept, idle = pragmas.apply(_in_order(found), codes)
    for comment in idle:
        fact = IdleSuppression(Place(comment.origin), comment.codes, comment.remaining)
        kept.extend(_findings(fact, codes, document, filename))
    page = pages()[UNUSED_SUPPRESSION]
    if page.code in codes:
        reports = (Report(Place(item.origin), item.message) for item in pragmas.problems)
        kept.extend(locate(report, page, document, filename) for report in reports)
    return kept


@lru_cache(maxsize=1)
def _known() -> Mapping[str, str]:
    """Every code and every name, with its code."""
    return {word: page.code for page in pages().values() for word in (page.code, page.name)}


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    """By place; of those of one rule at one place the gravest, with a fix before the others."""
    turned = reversed(list(found))
    best_last = sorted(turned, key=lambda f: (f.level is Level.ERROR, f.fix is not None))
    unique = {(finding.code, finding.span): finding for finding in best_last}
    return sorted(
        unique.values(),
        key=lambda finding: (finding.span.row, finding.span.column, finding.code),
    )
