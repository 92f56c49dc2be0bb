"""Reports that go back to one root: said once, with all places, and fixed at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from devlint.model import ir
from devlint.model.findings import Change, Hop, Located, Report, Rewrite
from devlint.model.trees import key
from devlint.rulebook import Page

Said = list[tuple[Page, Report]]


def gathered(said: Said) -> Iterator[tuple[Page, Report]]:
    """What is said, and of what goes back to one root the report that stands there, else the first,
    which tells the other places."""
    places: dict[Located, dict[Located, Report]] = {}
    for _, report in said:
        if report.root is not None:
            places.setdefault(report.root, {}).setdefault(report.at, report)
    for page, report in said:
        if report.root is None:
            yield page, report
            continue
        group = places[report.root]
        first = group.get(report.root) or next(iter(group.values()))
        if report is first:
            others = [each for each in group.values() if each is not first]
            yield page, _with_others(first, others) if others else first


def _with_others(first: Report, others: list[Report]) -> Report:
    """A report that tells of other places as well. A fix changes all of them, or there is none."""
    also = (Hop(each.at, _words(first.at, each.at)) for each in others)
    fix = _all_of(first.fix, [each.fix for each in others])
    return replace(first, because=(*first.because, *also), fix=fix)


def _words(first: Located, other: Located) -> str:
    if isinstance(first, ir.Expr) and isinstance(other, ir.Expr) and key(first) != key(other):
        return f"and `{ir.render(other)}` here"
    return "and here"


def _all_of(first: Change | None, others: Sequence[Change | None]) -> Change | None:
    """One fix that does what all of these do; None where one of them is missing."""
    if first is None or None in others:
        return None
    also = tuple(_like(each, first) for each in others if each is not None)
    result: Change | None = None
    for option in reversed(list(first.options())):
        result = replace(option, also=also, otherwise=result)
    return result


def _like(change: Change, first: Change) -> Change:
    """A fix that moves another part of what `first` moves a part of: by the same line, if it can,
    in the words of that."""
    parts = {_place(rewrite): rewrite for _, rewrite in _lines(change)}
    result = change
    for option, rewrite in reversed(list(_lines(first))):
        other = parts.get(_place(rewrite))
        if other is not None:
            line = replace(rewrite, part=other.part)
            result = replace(option, rewrites=(line,), otherwise=result)
    return result


def _lines(change: Change) -> Iterator[tuple[Change, Rewrite]]:
    """The options of a fix that put one line below a statement."""
    for option in change.options():
        match option.rewrites:
            case (Rewrite(part=part) as rewrite,) if part is not None:
                yield option, rewrite


def _place(rewrite: Rewrite) -> tuple[Located, str]:
    return rewrite.start.node, rewrite.start.side
