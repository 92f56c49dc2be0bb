"""Reports that go back to one root: said once, with all places, and fixed at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from devlint.config.rulebook import Page
from devlint.model import ir
from devlint.model.findings import Level
from devlint.model.reports import Anchor, Change, Hop, Located, Report, Rewrite, chain, options
from devlint.model.trees import key
from devlint.verdict.score import is_certain, score

Said = list[tuple[Page, Report]]


def gathered(said: Said) -> Iterator[tuple[Page, Report]]:
    """What is said, and of what goes back to one root one report alone, which tells the other
    places: one that is certain, or else stands at the root, or else the first."""
    groups: dict[Located, Said] = {}
    for page, report in said:
        if report.root is not None:
            groups.setdefault(report.root, []).append((page, report))
    told = {root: min(group, key=_rank)[1] for root, group in groups.items()}
    for page, report in said:
        if report.root is None:
            yield page, report
        elif report is told[report.root]:
            group = groups[report.root]
            gravest = any(_level(*each) is Level.ERROR for each in group)
            others = [each for _, each in group if each is not report]
            whole = _with_others(report, others) if others else report
            yield page, replace(whole, level=Level.ERROR) if gravest else whole


def _rank(said: tuple[Page, Report]) -> tuple[bool, bool, bool]:
    page, report = said
    certain = is_certain(score(page.code, report.sorts))
    return not certain, report.at is not report.root, _level(page, report) is not Level.ERROR


def _level(page: Page, report: Report) -> Level:
    return report.level or page.level


def _with_others(first: Report, others: list[Report]) -> Report:
    """A report that tells of other places as well. A fix changes all of them, or there is none."""
    places = {each.at: Hop(each.at, _words(first.at, each.at)) for each in others}
    places.pop(first.at, None)
    fix = _all_of([first.fix, *(each.fix for each in others)])
    return replace(first, because=(*first.because, *places.values()), fix=fix)


def _words(first: Located, other: Located) -> str:
    if isinstance(first, ir.Expr) and isinstance(other, ir.Expr) and key(first) != key(other):
        return f"and `{ir.render(other)}` here"
    return "and here"


def _all_of(fixes: Sequence[Change | None]) -> Change | None:
    """One fix that does what all of these do: at one place that all of them know, in the words of
    any of them; or each at its own. None where one of them is missing."""
    given = [each for each in fixes if each is not None]
    if len(given) < len(fixes) or len(given) < 2:
        return given[0] if len(given) == len(fixes) else None
    common = set.intersection(*({*map(_places, options(each))} for each in given))
    first, *others = given
    also = tuple(_like(each, first) for each in others)
    own = [replace(each, also=also) for each in options(first) if _places(each) not in common]
    ranked = [each for fix in given for each in enumerate(options(fix))]
    ranked.sort(key=lambda each: (each[1].is_guess, each[0]))
    shared = [option for _, option in ranked if _places(option) in common]
    return chain([*shared, *own])


def _places(change: Change) -> tuple[object, ...]:
    return tuple((each.start, each.end, each.part) for each in change.rewrites)


def _like(change: Change, first: Change) -> Change:
    """A fix that moves another part of what `first` moves a part of: by the same line, if it can,
    in the words of that."""
    parts = {_place(rewrite): rewrite for _, rewrite in _lines(change)}
    lines = []
    for option, rewrite in _lines(first):
        other = parts.get(_place(rewrite))
        if other is not None:
            lines.append(replace(option, rewrites=(replace(rewrite, part=other.part),)))
    return chain([*lines, *options(change)]) or change


def _lines(change: Change) -> Iterator[tuple[Change, Rewrite]]:
    """The options of a fix that put a line at the top of a loop."""
    for option in options(change):
        match option.rewrites:
            case (Rewrite(start=Anchor(side="below")) as rewrite,):
                yield option, rewrite


def _place(rewrite: Rewrite) -> tuple[Located, str]:
    return rewrite.start.node, rewrite.start.side
