"""What the rules that are on say of a file: of each of its facts, and of each mistake once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, lru_cache

from devlint import policy
from devlint.config.rulebook import Page, pages
from devlint.flow.contexts import FROM_OUTSIDE, withheld
from devlint.flow.domain.derivation import MOVES, UNTIL_MOVED, Sort
from devlint.flow.facts import Context, DeviceUse, Elsewhere, Fact, KeptModules, Move, Operand
from devlint.flow.frames.coverage import Meetings
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.model import ir
from devlint.model.findings import LESS_CERTAIN
from devlint.model.reports import Hop, Located, Report
from devlint.project.importing import in_project
from devlint.project.plan import Plan
from devlint.rules import Rule, all_rules
from devlint.source.spots import path_of
from devlint.verdict.elsewhere import brought_home, nodes_of, reported
from devlint.verdict.score import FILE, is_certain, score
from devlint.verdict.together import Said, gathered
from devlint.verdict.weighing import weighed

Sieve = Callable[[Page, Report, str], None]
"""Is told what is kept back of what a rule reports, and by what."""


def unasked(page: Page, report: Report, by: str) -> None:
    """Where nobody asks."""


def say(
    content: Text,
    filename: str,
    codes: frozenset[str],
    plan: Plan,
    meetings: Meetings | None = None,
    sieve: Sieve = unasked,
) -> Said:
    """What the rules that are on report, and their pages. `meetings` is told where tensors meet,
    and `sieve` what is kept back."""
    path = os.path.abspath(filename)
    if plan.project is not None:
        plan.project.recount()
    facts = interpret(content, plan.table, plan.device_types, path, plan.project, meetings=meetings)
    return judge(content, facts, path, codes, plan, sieve)


def judge(
    content: Text,
    facts: Sequence[Fact],
    path: str,
    codes: frozenset[str],
    plan: Plan,
    sieve: Sieve = unasked,
) -> Said:
    """What the rules that are on report of a file's facts. `sieve` is told what is kept back."""
    is_silent = _asking(content, path, plan)
    known = policy.of_file(in_project(path), plan.policy_off)
    of_file = tuple(f"{FILE}{row.name}" for row in known)
    said = Said()
    by_policy: list[tuple[Page, Report, str]] = []
    own = _own(facts, path, codes, plan, is_silent, sieve)
    for page, report, fact, row in (*own, *_led(facts, path, codes, plan, is_silent, sieve)):
        if row:
            by_policy.append((page, _derived(report, fact, of_file), row))
        else:
            said.append((page, _derived(report, fact, of_file)))
    told_at = {(page.code, report.at) for page, report in said}
    for page, report, row in by_policy:
        if (page.code, report.at) not in told_at:
            sieve(page, report, row)
    nearest = list(_nearest(said))
    once = list(gathered(nearest))
    _tell(sieve, said, nearest, "same-cause")
    _tell(sieve, nearest, once, "another-place-of-the-same")
    # Last, so that a part is shown of what is shown with `pedantic`, and nothing else.
    certain = [each for each in once if is_certain(score(each[0].code, each[1].sorts), plan.least)]
    _tell(sieve, once, certain, LESS_CERTAIN)
    return certain


def _asking(content: Text, path: str, plan: Plan) -> Callable[[], bool]:
    """Whether neither a file nor one that imports it speaks of devices, asked once at most."""
    project = plan.project

    @cache
    def is_silent() -> bool:
        speaks = content.speaks_of_devices
        return not speaks and (project is None or not project.importers_speak(path))

    return is_silent


def _tell(sieve: Sieve, before: Said, after: Said, by: str) -> None:
    places = {(page.code, report.at) for page, report in after}
    for page, report in before:
        if (page.code, report.at) not in places:
            sieve(page, report, by)


def _nearest(said: Said) -> Iterator[tuple[Page, Report]]:
    """Of what is said of one cause, what tells best how to fix it."""
    nearest: dict[Located, int] = {}
    for _, report in said:
        if report.cause is not None:
            nearest[report.cause] = min(_distance(report), nearest.get(report.cause, _FAR))
    for page, report in said:
        if report.cause is None or _distance(report) == nearest[report.cause]:
            yield page, report


_FAR = 2


def _distance(report: Report) -> int:
    """How far a report is from saying how its cause is fixed."""
    return 0 if report.settles else 1 if report.at is report.cause else _FAR


def _withheld(fact: Fact, path: str, plan: Plan) -> str:
    return "" if plan.project is None else withheld(fact, path, plan.project)


def _placed_outside(fact: Elsewhere, home: str, plan: Plan) -> str:
    """The same for what hangs on the object of the method that calls."""
    found = _withheld(replace(fact.fact, context=fact.context), home, plan)
    return found if found == FROM_OUTSIDE else ""


def _own(
    facts: Iterable[Fact],
    home: str,
    codes: frozenset[str],
    plan: Plan,
    is_silent: Callable[[], bool],
    sieve: Sieve,
) -> Iterator[tuple[Page, Report, Fact, str]]:
    """What happens in the file, with the fact and the row of policy that withholds it."""
    rules = rules_for(codes)
    for fact in facts:
        for page, rule in rules.get(type(fact), ()):
            for report, row in weighed(rule, fact, home, plan.policy_off, is_silent):
                if not row and (by := _withheld(fact, home, plan)):
                    sieve(page, report, by)
                    continue
                told = brought_home(report, fact.node, home)
                if told is None or _is_told_itself(page, report, fact, home, plan):
                    sieve(page, report, "reported-in-its-own-file")
                else:
                    yield page, told, fact, row


def _led(
    facts: Iterable[Fact],
    home: str,
    codes: frozenset[str],
    plan: Plan,
    is_silent: Callable[[], bool],
    sieve: Sieve,
) -> Iterator[tuple[Page, Report, Fact, str]]:
    """What calls lead to in other files, once for each place there and each rule, with what was
    seen there and the row of policy that withholds it."""
    seen: set[tuple[str, ir.Node]] = set()
    for fact in facts:
        if not isinstance(fact, Elsewhere):
            continue
        by = _withheld(fact.fact, path_of(fact.fact.node.origin) or "", plan)
        by = by or _placed_outside(fact, home, plan)
        for page, rule in rules_for(codes).get(type(fact.fact), ()):
            for there, row in weighed(rule, fact, home, plan.policy_off, is_silent):
                if _is_told_itself(page, there, fact.fact, home, plan):
                    continue
                report = reported(fact, there)
                if by:
                    sieve(page, report, by)
                elif row:
                    yield page, report, fact.fact, row
                elif (page.code, fact.fact.node) not in seen:
                    seen.add((page.code, fact.fact.node))
                    yield page, report, fact.fact, ""


def _is_told_itself(page: Page, report: Report, fact: Fact, here: str, plan: Plan) -> bool:
    """Whether another file than this is told itself of what happens there: by a finding that is
    shown, or one that is as certain as what would be told here."""
    there = path_of(fact.node.origin)
    if there in (None, here):
        return False
    own = _told_of(plan, there)
    number = max(own.get(fact.node, -1), own.get(report.at, -1))
    return is_certain(number) or number >= score(page.code, _derived(report, fact, ()).sorts)


def _derived(report: Report, fact: Fact, of_file: Iterable[str]) -> Report:
    """A report with the sorts of the steps by which its fact is known, and what its file is."""
    return replace(report, sorts=tuple(sorted({*_sorts(fact), *of_file} - {""})))


def _sorts(part: object) -> Iterator[str]:
    if isinstance(part, Operand):
        moved = max((at for at, step in enumerate(part.steps) if step.sort in MOVES), default=-1)
        for at, step in enumerate(part.steps):
            if at > moved or step.sort not in UNTIL_MOVED:
                of_name = step.sort is Sort.HYPOTHESIS
                yield f"policy.{step.name}" if of_name else step.sort.value
    elif isinstance(part, Context):
        yield from (f"policy.{row}" for row in part.by)
    elif isinstance(part, Hop):
        yield part.sort
    elif isinstance(part, Fact):
        for field in fields(part):
            yield from _sorts(getattr(part, field.name))
    elif isinstance(part, tuple):
        for each in part:
            yield from _sorts(each)


def _told_of(plan: Plan, path: str) -> Mapping[Located, int]:
    """The nodes that the findings of a followed file are about, where it is linted itself, and how
    these score. How a line names its device says nothing of what goes wrong there."""

    def ask(text: Text) -> Mapping[Located, int]:
        found: dict[Located, int] = {}
        off, is_silent = plan.policy_off, _asking(text, path, plan)
        for fact in interpret(text, plan.table, plan.device_types, path, plan.project):
            for rule in all_rules():
                if rule.on is type(fact) and rule.on not in (Move, DeviceUse):
                    code = pages()[rule.name].code
                    for report, row in weighed(rule, fact, path, off, is_silent):
                        number = score(code, _derived(report, fact, ()).sorts)
                        made = fact.made if isinstance(fact, KeptModules) else ()
                        for node in () if row else (fact.node, *made, *nodes_of(report)):
                            found[node] = max(number, found.get(node, 0))
        return found

    return {} if plan.project is None else plan.project.own(path, ask)


@lru_cache(maxsize=64)
def rules_for(codes: frozenset[str]) -> Mapping[type, tuple[tuple[Page, Rule], ...]]:
    """The rules that are on, with their pages, by the type of fact they read."""
    known = pages()
    by_fact: dict[type, tuple[tuple[Page, Rule], ...]] = {}
    for rule in all_rules():
        page = known[rule.name]
        if page.code in codes:
            by_fact[rule.on] = (*by_fact.get(rule.on, ()), (page, rule))
    return by_fact
