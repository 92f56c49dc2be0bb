"""Lints one file: from its bytes and the settings to findings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from devlint import ir, torchapi
from devlint.elsewhere import brought_home, nodes_of, reported
from devlint.findings import Change, Finding, Fix, Hop, Level, Located, Report, Span, Step
from devlint.flow.facts import Elsewhere, Fact, IdleSuppression, Unparsable, Unreadable
from devlint.flow.interpreter import interpret, new_project
from devlint.flow.project import Project, Text
from devlint.neighbours import Neighbours
from devlint.purpose import role_of_file, speaks_of_devices
from devlint.rulebook import Page, pages
from devlint.rules import Rule, all_rules
from devlint.selection import FAILURES, catalogue, codes_for, validate
from devlint.settings import Settings, SettingsError
from devlint.source.adopt import adopted_origins
from devlint.source.document import (
    Document,
    SourceError,
    mentions,
    read_document,
    syntax_error,
)
from devlint.source.encoding import decode
from devlint.source.pragmas import has_own_pragmas, read_pragmas
from devlint.source.room import with_room
from devlint.source.scout import scout_text
from devlint.source.spots import path_of, span_of

SIGNS = (
    r"^[ \t]*(?:from|import)\b[^\n#]*(?:torch|lightning|accelerate|timm)",
    r"cuda", r"\.to\(", r"\.cpu\(", r"\.numpy\(", r"\.device\b", r"get_device", r"register_buffer",
    r"load_url", r"load_state_dict_from_url",
)  # fmt: skip
"""A file in which none of these patterns occurs holds nothing that a rule reads: it is only parsed
by Python itself."""

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
    neighbours: Neighbours | None
    project: Project | None
    """The files that imports lead to; None where they aren't followed."""


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
    device_types = frozenset(settings.device_types)
    if not settings.follow_imports:
        return Plan(table, pattern, device_types, None, None)
    neighbours = Neighbours(settings.max_file_size)
    project = new_project(neighbours, table, device_types)
    return Plan(table, pattern, device_types, neighbours, project)


def check_source(data: bytes, filename: str, settings: Settings) -> list[Finding]:
    """The findings of one file, in the order of its text, without those it suppresses.

    `filename` stands in the findings; made absolute, it decides on `per-file-ignores`, and its
    imports are followed from there. A file that can't be parsed or decoded, or is too large, is a
    finding of its own. Raises `SettingsError` as `prepare` does.
    """
    return check(data, filename, settings)[0]


def check(data: bytes, filename: str, settings: Settings) -> tuple[list[Finding], set[str]]:
    """The findings of one file as `check_source` gives them, and the paths of what was looked at
    in other files: where nothing has changed there, the findings are the same."""
    plan = prepare(settings)
    if len(data) > settings.max_file_size:
        reason = f"larger than the {settings.max_file_size:,} bytes of `max-file-size`"
        return unreadable(filename, reason, settings), set()
    codes = codes_for(settings, filename, catalogue())
    relevant = plan.signs.search(data) is not None
    if not relevant and not mentions(data, PRAGMA_WORDS):
        error = syntax_error(data, filename)
        return [] if error is None else _of_failure(error, filename, codes), set()
    if not relevant or plan.project is None:
        return _read(data, filename, codes, plan if relevant else None), set()
    with plan.project.visit() as consulted:
        return _read(data, filename, codes, plan), consulted


def _read(data: bytes, filename: str, codes: frozenset[str], plan: Plan | None) -> list[Finding]:
    """The findings of a file; those about comments alone without a plan."""
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
    except RecursionError:
        return _of_failure(SourceError("nested too deeply", _START, "syntax"), filename, codes)


Said = list[tuple[Page, Report]]


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
        said = _say(content, filename, codes, plan)
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


def _say(content: Text, filename: str, codes: frozenset[str], plan: Plan) -> Said:
    """What the rules that are on report, and their pages."""
    path = os.path.abspath(filename)
    rules = _rules(codes)
    facts = interpret(content, plan.table, plan.device_types, path, plan.project)
    here = path_of(content.module.body[0].origin) if content.module.body else None
    said = [
        (page, told)
        for fact in facts
        for page, rule in rules.get(type(fact), ())
        for report in rule.check(fact)
        if (told := brought_home(report, fact.node, here, partial(_told_of, plan))) is not None
    ]
    said.extend(_led(facts, codes, plan))
    return list(_once(said))


def _once(said: Said) -> Iterator[tuple[Page, Report]]:
    """What is said, each cause once."""
    nearest: dict[Located, int] = {}
    for _, report in said:
        if report.cause is not None:
            nearest[report.cause] = min(_distance(report), nearest.get(report.cause, _FAR))
    for page, report in said:
        if report.cause is None or _distance(report) == nearest[report.cause]:
            yield page, report


_FAR = 2


def _distance(report: Report) -> int:
    """How far a report is from saying how its cause is mended."""
    return 0 if report.settles else 1 if report.at is report.cause else _FAR


def _led(facts: Iterable[Fact], codes: frozenset[str], plan: Plan) -> Iterator[tuple[Page, Report]]:
    """What calls lead to in other files, once for each place there and each rule."""
    seen: set[tuple[str, ir.Node]] = set()
    for fact in facts:
        if not isinstance(fact, Elsewhere):
            continue
        for page, rule in _rules(codes).get(type(fact.fact), ()):
            for report in reported(fact, rule.check(fact.fact), partial(_told_of, plan)):
                if (page.code, fact.fact.node) not in seen:
                    seen.add((page.code, fact.fact.node))
                    yield page, report


def _told_of(plan: Plan, path: str) -> frozenset[Located]:
    """The nodes that the findings of a followed file are about, where it is linted itself."""

    def ask(text: Text) -> frozenset[Located]:
        found: set[Located] = set()
        for fact in interpret(text, plan.table, plan.device_types, path, plan.project):
            for rule in all_rules():
                for report in rule.check(fact) if rule.on is type(fact) else ():
                    found.update((fact.node, *nodes_of(report)))
        return frozenset(found)

    return frozenset() if plan.project is None else plan.project.own(path, ask)


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
    if scouted is not None:
        with adopted_origins(scouted.module, document.module) as same:
            if same:
                return [_locate(report, page, document, filename) for page, report in scouted.said]
    content = Text(document.module, role_of_file(filename), speaks_of_devices(document.text))
    said = _say(content, filename, codes, plan)
    return [_locate(report, page, document, filename) for page, report in said]


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
        confidence=report.confidence,
    )


def _trace(report: Report, document: Document | None) -> tuple[Step, ...]:
    if document is None:
        return ()
    return tuple(_step(hop, document) for hop in report.because)


def _step(hop: Hop, document: Document) -> Step:
    """A hop in this file, which LibCST has read, or in one that was followed."""
    span = span_of(hop.node.origin)
    if span is None:
        return Step(document.locate(hop.node.origin), hop.message)
    return Step(span, hop.message, path_of(hop.node.origin) or "")


def _fix(change: Change, document: Document) -> Fix | None:
    if not document.in_one_function(change.together):
        return None
    starts = [document.locate(node.origin).start for node in change.together]
    if change.in_order and starts != sorted(starts):
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
