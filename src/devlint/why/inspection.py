"""What devlint knows at one line of a file, and what becomes of it: the answer of `devlint why`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.config.rulebook import Page
from devlint.config.selection import catalogue, codes_for
from devlint.config.settings import Settings
from devlint.flow.facts import Context, Elsewhere, Fact, Guard, Role
from devlint.flow.frames.record import Record
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.lint import content_of, in_order, without_suppressed
from devlint.model.findings import LESS_CERTAIN, Finding
from devlint.model.reports import Report
from devlint.model.spans import LineIndex
from devlint.policy import asking, reasons, rows
from devlint.project.plan import Plan, prepare
from devlint.source.errors import SourceError
from devlint.source.reading import document_of, read_script
from devlint.source.room import with_room
from devlint.source.script import Part, Script
from devlint.verdict.locating import locate
from devlint.verdict.saying import Sieve, judge, rules_for
from devlint.verdict.score import is_certain
from devlint.verdict.together import Said
from devlint.why.alternatives import alternatives
from devlint.why.known import Contract, Known, Place, contracts_at, distinct, values_at
from devlint.why.unsettled import advice

if TYPE_CHECKING:
    from devlint.source.document import Document

REASONS = {
    "expected-error": "the code around expects an error there",
    "condition-of-another-file": "it depends on a condition that another file checks itself",
    "calls-from-host": "calls in this file pass it from the host, or it is read there",
    "made-up-for-tests": "tests make up the module, and never move it",
    "unproven-part-of-batch": "nothing proves that this part of a batch is a tensor",
    "first-of-its-cause": "the same cause raises at an earlier line",
    "callers-bring-it-from-the-host": "all calls in the project pass it from the host",
    "for-samples-elsewhere": "another file makes batches or changes samples with it",
    "placed-from-outside": "another file places what it depends on",
    "program-on-the-host": "only programs that never name a device import the file",
    "passed-elsewhere": "another file names the device where it makes one",
    "chosen-elsewhere": "a related file chooses the device of a process",
    "spawned-elsewhere": "a related file says how the worker processes start",
    "on-one-machine": "all processes of the project run on one machine",
    "model-of-its-own": "a program that nobody imports moves its own model before it runs",
    "handed-over-elsewhere": "another file passes the function to something that calls it",
    "reported-in-its-own-file": "it is reported where that file is linted itself",
    "same-cause": "another finding of the same cause has the better fix",
    "another-place-of-the-same": "another finding lists this place",
    "role": "the code around is a test, makes data on the host, or a framework places things",
    "guard": "it only runs where an accelerator was chosen, or is known to be there",
    "suppressed": "a comment suppresses it",
    "not-selected": "the rule is off for this file",
    LESS_CERTAIN: "too few findings like it were true: --pedantic shows it",
    **{row.name: row.reason for row in rows().values()},
}
"""What withholds a finding, in words: last the rows of policy on files, which a setting turns off.
Any row on names may as well."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding at the line. `withheld_by` is one of `REASONS`; "" where it is shown. `hangs_on`
    are the rows of policy on names without which it wouldn't be, and `confidence` is its score:
    None where something withholds it before it has one."""

    code: str
    name: str
    message: str
    withheld_by: str = ""
    hangs_on: tuple[str, ...] = ()
    confidence: int | None = None

    @property
    def reason(self) -> str:
        """What withholds it, in words."""
        if self.withheld_by == LESS_CERTAIN:
            return f"its confidence is {self.confidence}, --pedantic shows it"
        return {**REASONS, **reasons()}.get(self.withheld_by, "")


@dataclass(frozen=True, slots=True)
class Why:
    """All of it. `callers` says of each parameter of the function around the line what the calls
    in the file give; `advice` what would settle what is unknown."""

    place: Place
    source: str
    known: tuple[Known, ...]
    contracts: tuple[Contract, ...]
    callers: tuple[tuple[str, str], ...]
    findings: tuple[Judged, ...]
    advice: tuple[str, ...]


def why(data: bytes, filename: str, settings: Settings, row: int, column: int | None = None) -> Why:
    """What is known at a line of a file, or at what stands at one of its columns (1-based). Of a
    notebook, lines are those of all cells of Python, one below the other.

    Raises `SourceError` where the file can't be read, `SettingsError` as `prepare` does, and
    `TooManyStepsError`.
    """
    plan, path = prepare(settings), str(Path(filename).absolute())
    codes = codes_for(settings, filename, catalogue())
    script = read_script(data, filename, settings.language_of(filename))
    part = _part_at(row, script)
    if column is not None:  # nodes count bytes, see `source.spots`
        column = LineIndex(script.text).utf8_column(row, script.column_of(row, column))
    record = Record(path, range(row, row + 1))
    dropped: list[Judged] = []

    def sieve(page: Page, report: Report, by: str) -> None:
        if record.covers(report.at):
            dropped.append(_judged(page, report, by))

    visit = nullcontext() if plan.project is None else plan.project.visit()
    with asking(plan.policy_off), visit:
        content = content_of(part, filename, plan)
        facts, said = with_room(lambda: _said(content, path, plan, record, sieve))
        document = document_of(script, filename)
        shown = tuple(_shown(said, document, filename, codes, row, settings))
    found = tuple(dict.fromkeys((*shown, *_kept_back(record, facts), *dropped)))
    shown_rows = LineIndex(script.shown)
    return Why(
        Place(path, row),
        shown_rows.row_text(row).strip() if row <= shown_rows.rows else "",
        distinct(values_at(record, row, column)),
        distinct(contracts_at(record)),
        tuple(record.callers.items()),
        _with_names(found, record, part, filename, settings),
        tuple(dict.fromkeys(advice(record, content.module, settings.follow_imports))),
    )


def _part_at(row: int, script: Script) -> Part:
    """The module that a row is in."""
    for part in script.parts:
        if part.rows is None or row in part.rows:
            return part
    index = LineIndex(script.shown)
    start, end = index.row_bounds(row)
    raise SourceError("there is no Python in this line", index.span(start, end), "unreadable")


def _all() -> frozenset[str]:
    return catalogue().codes("ALL")


def _said(
    content: Text, path: str, plan: Plan, record: Record, sieve: Sieve
) -> tuple[list[Fact], Said]:
    if plan.project is not None:
        plan.project.recount()
    facts = interpret(content, plan.table, plan.device_types, path, plan.project, record)
    return facts, judge(content, facts, path, _all(), replace(plan, least=0), sieve)


def _shown(
    said: Said,
    document: Document,
    filename: str,
    codes: frozenset[str],
    row: int,
    settings: Settings,
) -> Iterator[Judged]:
    """The findings of a line that are shown, and those that a setting or a comment withholds."""
    found = [locate(report, page, document, filename) for page, report in said]
    kept = found if settings.ignore_noqa else without_suppressed(in_order(found), document, codes)

    def withheld_by(finding: Finding) -> str:
        if finding.code not in codes:
            return "not-selected"
        if finding not in kept:
            return "suppressed"
        return "" if is_certain(finding.score, settings.least_confidence) else LESS_CERTAIN

    for each in in_order(found):
        if each.span.row == row:
            by, rows = withheld_by(each), _of_policy(each.sorts)
            yield Judged(each.code, each.name, each.message, by, rows, each.score)


def _kept_back(record: Record, facts: Sequence[Fact]) -> Iterator[Judged]:
    """What would be reported of facts at the line but for what withholds them."""
    for withheld in record.withheld:
        for page, report in _reports(withheld.fact):
            yield _judged(page, report, withheld.by)
    for fact in facts:
        if record.covers(fact.node) and not any(_reports(fact)):
            yield from _silenced(fact)


def _silenced(fact: Fact) -> Iterator[Judged]:
    """What the rules would say of a fact elsewhere: in plain code that runs on every machine."""
    inner = fact.fact if isinstance(fact, Elsewhere) else fact
    context = inner.context
    for by, other in (
        ("guard", replace(context, guard=Guard.NONE)),
        ("role", replace(context, role=Role.PLAIN)),
        ("role", Context(context.function)),
    ):
        found = list(_reports(replace(inner, context=other))) if other != context else []
        if found:
            yield from (_judged(page, report, by) for page, report in found)
            return


def _reports(fact: Fact) -> Iterator[tuple[Page, Report]]:
    inner = fact.fact if isinstance(fact, Elsewhere) else fact
    for page, rule in rules_for(_all()).get(type(inner), ()):
        for report in rule.check(inner):
            yield page, report


def _with_names(
    found: tuple[Judged, ...], record: Record, part: Part, filename: str, settings: Settings
) -> tuple[Judged, ...]:
    """Findings with the rows on names by which they are, and those that aren't there by such."""
    hanging: dict[tuple[str, str], set[str]] = {}
    withheld: list[Judged] = []
    for each in alternatives(part, filename, settings, _all()):
        for page, report in each.by_row:
            if record.covers(report.at):
                hanging.setdefault((page.code, report.message), set()).add(each.row)
        for page, report in each.withheld:
            if record.covers(report.at):
                withheld.append(_judged(page, report, each.row))
    named = [_with_rows(each, hanging.get((each.code, each.message), set())) for each in found]
    return (*named, *withheld)


def _with_rows(finding: Judged, rows: set[str]) -> Judged:
    return replace(finding, hangs_on=tuple(sorted(rows | set(finding.hangs_on))))


def _of_policy(sorts: Iterable[str]) -> tuple[str, ...]:
    """The rows of policy among the sorts of a derivation."""
    return tuple(each.removeprefix("policy.") for each in sorts if each.startswith("policy."))


def _judged(page: Page, report: Report, by: str) -> Judged:
    return Judged(page.code, page.name, report.message, by, _of_policy(report.sorts))
