"""Lints one file: from its bytes and the settings to findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from devlint import torchapi
from devlint.findings import Change, Finding, Fix, Level, Report, Span, Step
from devlint.flow.facts import IdleSuppression, Unparsable, Unreadable
from devlint.flow.interpreter import interpret
from devlint.purpose import role_of_file, speaks_of_devices
from devlint.rulebook import Page, pages
from devlint.rules import Rule, all_rules
from devlint.selection import FAILURES, catalogue, codes_for, validate
from devlint.settings import Settings, SettingsError
from devlint.source.document import (
    Document,
    SourceError,
    mentions,
    read_document,
    syntax_error,
)
from devlint.source.pragmas import read_pragmas
from devlint.source.room import with_room

SIGNS = (
    r"^[ \t]*(?:from|import)\b[^\n#]*(?:torch|lightning|accelerate|timm)",
    r"cuda", r"\.to\(", r"\.cpu\(", r"\.numpy\(", r"\.device\b", r"get_device", r"register_buffer",
    r"load_url", r"load_state_dict_from_url",
)  # fmt: skip
"""A file in which none of these patterns occurs holds nothing that a rule reads: LibCST, which
takes most of the time, needn't see it."""

PRAGMA_WORDS = (b"devlint", b"DEV")
"""Without these, none of our suppression comments either."""

UNUSED_SUPPRESSION = "unused-suppression"

_START = Span(0, 0, 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from settings: the torch table with the user's rows."""

    table: torchapi.Table
    signs: re.Pattern[bytes]
    device_types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """A span, for what stands in no tree."""

    origin: Span


@lru_cache(maxsize=64)
def prepare(settings: Settings) -> Plan:
    """Check all that is only known with the rules and tables at hand.

    Raises `SettingsError` for a selector that stands for no rule, and for a malformed row.
    """
    validate(settings, catalogue())
    table, signs = torchapi.load(), list(SIGNS)
    if settings.torchapi:
        rows: Mapping[str, Mapping[str, object]] = json.loads(settings.torchapi)
        try:
            table = table.with_rows(rows)
        except ValueError as error:
            raise SettingsError(f"{settings.torchapi_source}: `torchapi`: {error}") from error
        signs.extend(re.escape(name.partition(".")[0]) for name in rows)
    pattern = re.compile("|".join(signs).encode(), re.IGNORECASE | re.MULTILINE)
    return Plan(table, pattern, frozenset(settings.device_types))


def check_source(data: bytes, filename: str, settings: Settings) -> list[Finding]:
    """The findings of one file, in the order of its text, without those it suppresses.

    `filename` stands in the findings; made absolute, it decides on `per-file-ignores`. A file
    that can't be parsed or decoded, or is too large, is a finding of its own. Raises
    `SettingsError` as `prepare` does.
    """
    plan = prepare(settings)
    if len(data) > settings.max_file_size:
        return unreadable(
            filename,
            f"larger than the {settings.max_file_size:,} bytes of `max-file-size`",
            settings,
        )
    codes = codes_for(settings, filename, catalogue())
    relevant = plan.signs.search(data) is not None
    if not relevant and not mentions(data, PRAGMA_WORDS):
        error = syntax_error(data, filename)
        return [] if error is None else _of_failure(error, filename, codes)
    try:
        document = read_document(data, filename)
    except SourceError as error:
        return _of_failure(error, filename, codes)
    try:
        return with_room(lambda: _check(document, codes, plan if relevant else None))
    except RecursionError:
        return _of_failure(SourceError("nested too deeply", _START, "syntax"), filename, codes)


def _check(document: Document, codes: frozenset[str], plan: Plan | None) -> list[Finding]:
    """The findings of a document; those about comments alone without a plan."""
    found: list[Finding] = []
    if plan is not None:
        role, speaks = role_of_file(document.filename), speaks_of_devices(document.text)
        for fact in interpret(document.module, plan.table, plan.device_types, role, speaks):
            found.extend(_findings(fact, codes, document, document.filename))
    return _in_order(_after_pragmas(found, document, codes, document.filename))


def unreadable(filename: str, reason: str, settings: Settings) -> list[Finding]:
    """The finding for a file that can't be read; none where the settings ignore it."""
    codes = codes_for(settings, filename, catalogue())
    return list(_findings(Unreadable(Place(_START), reason), codes, None, filename))


def is_failure(finding: Finding) -> bool:
    """Whether a finding means that its file couldn't be checked."""
    return finding.code in FAILURES


def _of_failure(error: SourceError, filename: str, codes: frozenset[str]) -> list[Finding]:
    kind = Unparsable if error.kind == "syntax" else Unreadable
    return list(_findings(kind(Place(error.span), error.reason), codes, None, filename))


@lru_cache(maxsize=64)
def _rules(codes: frozenset[str]) -> Mapping[type, tuple[tuple[Page, Rule], ...]]:
    """The rules that are on, with their pages, by the type of fact they read."""
    known = pages()
    by_fact: dict[type, tuple[tuple[Page, Rule], ...]] = {}
    for rule in all_rules():
        page = known[rule.name]
        if page.code in codes:
            by_fact[rule.on] = (*by_fact.get(rule.on, ()), (page, rule))
    return by_fact


def _findings(
    fact: object, codes: frozenset[str], document: Document | None, filename: str
) -> Iterator[Finding]:
    """What the rules say of one fact. Without a document, facts point at spans."""
    for page, rule in _rules(codes).get(type(fact), ()):
        for report in rule.check(fact):
            yield _locate(report, page, document, filename)


def _locate(report: Report, page: Page, document: Document | None, filename: str) -> Finding:
    if document is None:
        origin = report.at.origin
        assert isinstance(origin, Span)
        span, statement = origin, (origin.row, origin.row)
    else:
        span = document.locate(report.at.origin)
        statement = document.statement_rows(span.row)
    return Finding(
        filename=filename,
        code=page.code,
        name=page.name,
        message=report.message,
        level=report.level or page.level,
        span=span,
        trace=_trace(report, document),
        fix=None if report.fix is None or document is None else _fix(report.fix, document),
        help=report.help,
        statement=statement,
    )


def _trace(report: Report, document: Document | None) -> tuple[Step, ...]:
    if document is None:
        return ()
    return tuple(Step(document.locate(hop.node.origin), hop.message) for hop in report.because)


def _fix(change: Change, document: Document) -> Fix | None:
    if not document.in_one_function(change.together):
        return None
    edits = sorted(map(document.edit, change.rewrites), key=lambda edit: edit.span.start)
    return Fix(change.message, change.safety, tuple(edits))


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
        kept.extend(_locate(report, page, document, filename) for report in reports)
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
