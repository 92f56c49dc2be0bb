"""Lints one file: from its bytes and the settings to findings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING

from devlint import policy
from devlint.config.rulebook import Page, pages
from devlint.config.selection import catalogue, codes_for, fixable, levels
from devlint.config.settings import Settings
from devlint.flow.facts import IdleSuppression, Unparsable, Unreadable
from devlint.flow.frames.coverage import Meetings
from devlint.flow.frames.steps import MOST_STEPS, TooManyStepsError
from devlint.flow.surroundings import Text
from devlint.model.findings import LESS_CERTAIN, NOTHING_MEETS, Coverage, Finding, Level, Span
from devlint.model.reports import Located, Report
from devlint.project.neighbours import Neighbours
from devlint.project.plan import Plan, prepare
from devlint.project.purpose import speaks_of_devices
from devlint.safety.files import (
    LARGEST_SOURCE,
    MARKDOWN,
    NOTEBOOK,
    PYTHON,
    most_bytes,
    seems_markdown,
    suffix,
)
from devlint.source.encoding import decode, searchable, searchable_text
from devlint.source.errors import SourceError
from devlint.source.lower import lower
from devlint.source.pragmas import has_own_pragmas, read_pragmas, rows_of_own
from devlint.source.reading import document_of, mentions, read_script, syntax_error
from devlint.source.room import with_room
from devlint.source.script import Part, Script
from devlint.source.sparse import sparse
from devlint.verdict.elsewhere import rows_of
from devlint.verdict.locating import locate, no_files
from devlint.verdict.saying import rules_for, say
from devlint.verdict.together import Said

if TYPE_CHECKING:
    from devlint.source.document import Document

PRAGMA_WORDS = (b"devlint", b"DEV")
"""Without these, none of our suppression comments either."""

TOO_MUCH = (
    f"too much to analyse: the file, with what it imports, takes more than {MOST_STEPS:,} steps; "
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
    `coverage` says how much of the file is decided, and `withheld_by` how many findings each row of
    policy withholds, and how many are withheld as less certain.
    """

    findings: list[Finding]
    consulted: frozenset[str] = frozenset()
    refused: tuple[tuple[str, str], ...] = ()
    coverage: Coverage = NOTHING_MEETS
    withheld_by: Mapping[str, int] = field(default_factory=dict)


def check(data: bytes, filename: str, settings: Settings) -> Checked:
    """The findings of one file as `check_source` gives them."""
    with policy.asking(settings.policy_off):
        checked = _check(data, filename, settings)
    return replace(checked, findings=_as_asked(checked.findings, settings))


def _as_asked(findings: list[Finding], settings: Settings) -> list[Finding]:
    """Findings with the levels and the fixes that the settings leave them."""
    if settings.levels and findings:
        given = levels(settings.selectors, catalogue())
        findings = [replace(f, level=given.get(f.code, f.level)) for f in findings]
    if settings.fix_selectors and any(finding.fix for finding in findings):
        codes = fixable(settings, catalogue())
        findings = [f if f.code in codes else replace(f, fix=None) for f in findings]
    return findings


def _check(data: bytes, filename: str, settings: Settings) -> Checked:
    plan = prepare(settings)
    codes = codes_for(settings, filename, catalogue())
    language = settings.language_of(filename)
    own = suffix(filename)
    if seems_markdown(filename) and own not in dict(settings.extension):
        reason = f"Markdown, whose Python is read with `--extension {own}:{MARKDOWN}`"
        return Checked(unreadable(filename, reason, settings))
    if language == PYTHON:
        return _check_python(data, None, filename, settings, plan, codes)
    if len(data) > most_bytes(language, settings.max_file_size):
        return Checked(unreadable(filename, too_large(settings, filename), settings))
    try:
        script = read_script(data, filename, language)
    except SourceError as error:
        return Checked(_of_failure(error, filename, codes))
    code = script.text.encode("utf-8", "surrogatepass")
    checked = _check_python(code, script, filename, settings, plan, codes)
    broken = [each for error in script.errors for each in _of_failure(error, filename, codes)]
    found = in_order([*broken, *checked.findings])
    return replace(checked, findings=[*map(script.placed, found)])


def _check_python(
    data: bytes,
    script: Script | None,
    filename: str,
    settings: Settings,
    plan: Plan,
    codes: frozenset[str],
) -> Checked:
    """The findings of a file of Python, or of the Python that a script has: `data` is that."""
    if len(data) > settings.max_file_size:
        return Checked(unreadable(filename, too_large(settings), settings))
    searched = searchable(data) if script is None else searchable_text(script.text)
    relevant = plan.concerns(searched)
    heed = not settings.ignore_noqa
    if not relevant and not (heed and mentions(data, PRAGMA_WORDS)):
        error = None if script is not None else syntax_error(data)
        return Checked([] if error is None else _of_failure(error, filename, codes))
    consulted: set[str] = set()
    meetings, withheld_by = Meetings(), Counter[str]()
    if plan.neighbours is not None:
        plan.neighbours.refused.clear()
    try:
        script = decode(data) if script is None else script
        if not relevant or plan.project is None:
            asked = plan if relevant else None
            read = _read(script, filename, codes, asked, heed, meetings, withheld_by)
            return Checked(read, coverage=meetings.coverage(), withheld_by=withheld_by)
        with plan.project.visit() as consulted:
            findings = _read(script, filename, codes, plan, heed, meetings, withheld_by)
    except SourceError as error:
        findings = _of_failure(error, filename, codes)
    except TooManyStepsError:
        findings = unreadable(filename, TOO_MUCH, settings)
    refused = {} if plan.neighbours is None else plan.neighbours.refused
    coverage = meetings.coverage()
    return Checked(findings, frozenset(consulted), tuple(refused.items()), coverage, withheld_by)


def _read(
    script: Script,
    filename: str,
    codes: frozenset[str],
    plan: Plan | None,
    heed: bool,
    meetings: Meetings,
    withheld_by: Counter[str],
) -> list[Finding]:
    """The findings of a file; those about comments alone without a plan. `heed` says whether
    comments suppress; `withheld_by` is told how many are withheld, and by what.

    LibCST reads it where something is reported, or a comment of ours is to be judged.
    """
    try:
        contents = [content_of(part, filename, plan) for part in script.parts]
        withheld: dict[tuple[str, Located], tuple[Page, Report, str]] = {}

        def sieve(page: Page, report: Report, by: str) -> None:
            if by == LESS_CERTAIN or by in policy.rows():
                withheld.setdefault((page.code, report.root or report.at), (page, report, by))

        def said_of(plan: Plan) -> Said:
            every = (say(each, filename, codes, plan, meetings, sieve) for each in contents)
            return [*chain.from_iterable(every)]

        said = [] if plan is None else with_room(partial(said_of, plan))
        has_own = heed and has_own_pragmas(script.text)
        if not has_own:
            withheld_by.update(row for _, _, row in withheld.values())
        if not said and not has_own:
            return []
        reports = [report for _, report, *_ in (*said, *(withheld.values() if has_own else ()))]
        document = document_of(script, filename, _read_for(reports, contents, script, filename))
        around = None if plan is None else plan.neighbours
        files = no_files if around is None else around.file
        documents = no_files if around is None else cache(partial(_document_there, around))
        found = [
            locate(report, page, document, filename, files, documents) for page, report in said
        ]
        if not heed:
            return in_order(found)
        if not has_own or not withheld:
            return in_order(_after_pragmas(found, document, codes, filename))
        # A comment for what is withheld is of use where the row is off, or with `pedantic`.
        shown = {(each.code, each.span) for each in found}
        rows: dict[tuple[str, Span], str] = {}
        for page, report, row in withheld.values():
            finding = locate(report, page, document, filename, files, documents)
            if (finding.code, finding.span) not in shown:
                rows[finding.code, finding.span] = row
                found.append(finding)
        kept = in_order(_after_pragmas(found, document, codes, filename))
        withheld_by.update(rows[f.code, f.span] for f in kept if (f.code, f.span) in rows)
        return [each for each in kept if (each.code, each.span) not in rows]
    except SourceError as error:
        return _of_failure(error, filename, codes)


def _document_there(neighbours: Neighbours, path: str) -> Document | None:
    """A file that was followed, to be fixed there."""
    script = neighbours.script(path)
    try:
        return None if script is None else document_of(script, path)
    except SourceError:
        return None


def _read_for(
    reports: list[Report], contents: list[Text], script: Script, filename: str
) -> str | None:
    """What LibCST reads of a text for what is reported of it, and for its comments; None for all,
    where there is more than one module."""
    if len(contents) != 1 or script.parts[0].rows is not None:
        return None
    path = os.path.abspath(filename)
    rows = {row for report in reports for row in rows_of(report, path)}
    return sparse(script.text, contents[0].module, rows.union(rows_of_own(script.text)))


def content_of(part: Part, filename: str, plan: Plan | None) -> Text:
    """The intermediate form of a module, and what its words tell. Raises `SourceError`."""
    path, text = os.path.abspath(filename), part.text
    if plan is not None and plan.neighbours is not None and part.rows is None:
        return plan.neighbours.content(path, text)
    module = lower(text, path, part.rows)
    return Text(module, speaks_of_devices(text, module))


def too_large(settings: Settings, filename: str = "") -> str:
    """Why a file isn't read that has more bytes than the settings allow, or its code."""
    if filename and settings.language_of(filename) == NOTEBOOK:
        return f"larger than {LARGEST_SOURCE:,} bytes, up to which notebooks are read"
    return f"larger than the {settings.max_file_size:,} bytes of `max-file-size`"


def unreadable(filename: str, reason: str, settings: Settings) -> list[Finding]:
    """The finding for a file that can't be read; none where the settings ignore it."""
    codes = codes_for(settings, filename, catalogue())
    found = _findings(Unreadable(Place(_START), reason), codes, None, filename)
    return _as_asked(list(found), settings)


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
    kept, idle = pragmas.apply(in_order(found), codes)
    for comment in idle:
        fact = IdleSuppression(Place(comment.origin), comment.codes, comment.remaining)
        kept.extend(_findings(fact, codes, document, filename))
    page = pages()[UNUSED_SUPPRESSION]
    if page.code in codes:
        reports = (Report(Place(item.origin), item.message) for item in pragmas.problems)
        kept.extend(locate(report, page, document, filename) for report in reports)
    return kept


def without_suppressed(
    found: list[Finding], document: Document, codes: frozenset[str]
) -> list[Finding]:
    """Findings, in the order of the text, without those that a comment suppresses."""
    return read_pragmas(document, _known()).apply(found, codes)[0]


@lru_cache(maxsize=1)
def _known() -> Mapping[str, tuple[str, ...]]:
    """Every code and every name, with its code; what rules were called before, with the codes that
    it stands for."""
    found: dict[str, tuple[str, ...]] = {}
    for page in pages().values():
        for word in (page.code, page.name, *page.formerly):
            found[word] = (*found.get(word, ()), page.code)
    return found


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """By place; of those of one rule at one place the gravest, with a fix before the others."""
    turned = reversed(list(found))
    best_last = sorted(turned, key=lambda f: (f.level is Level.ERROR, f.fix is not None))
    unique = {(finding.code, finding.span): finding for finding in best_last}
    return sorted(
        unique.values(),
        key=lambda finding: (finding.span.row, finding.span.column, finding.code),
    )
