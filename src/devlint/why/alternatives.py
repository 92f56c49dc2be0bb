"""What would be found in a file if rows of policy on names were off.

What hangs on a name is known by that, also where a name is why nothing is found, and how many steps
ever lie between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

from devlint.config.rulebook import Page
from devlint.config.settings import Settings
from devlint.lint import content_of
from devlint.model.reports import Report
from devlint.policy import asking
from devlint.project.plan import prepare
from devlint.source.room import with_room
from devlint.source.script import Part
from devlint.verdict.saying import say

Place = tuple[str, object]
"""The code of a finding, and where it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is found in a file, and the rows on names that spoke meanwhile."""

    found: dict[Place, tuple[Page, Report]]
    spoke: frozenset[str]


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a row makes of a file: `by_row` is found for it, and `withheld` isn't, for it."""

    row: str
    by_row: tuple[tuple[Page, Report], ...]
    withheld: tuple[tuple[Page, Report], ...]


def without(settings: Settings, rows: Iterable[str]) -> Settings:
    """The settings with rows of policy turned off."""
    switches = {**dict(settings.policy), **dict.fromkeys(rows, False)}
    return replace(settings, policy=tuple(sorted(switches.items())))


def read(part: Part, filename: str, settings: Settings, codes: frozenset[str]) -> Reading:
    """What the rules that are on find in a module."""
    plan = prepare(settings)
    visit = nullcontext() if plan.project is None else plan.project.visit()
    with asking(settings.policy_off) as asked, visit:
        content = content_of(part, filename, plan)
        said = with_room(lambda: say(content, filename, codes, plan))
    found = {(page.code, report.at.origin): (page, report) for page, report in said}
    return Reading(found, frozenset(asked.spoke))


def alternatives(
    part: Part, filename: str, settings: Settings, codes: frozenset[str]
) -> Iterator[Alternative]:
    """The rows of policy on names on which something hangs that is found, or isn't."""
    settings = replace(settings, pedantic=True)  # what is less certain hangs on names as well
    now = read(part, filename, settings, codes)
    for row in sorted(now.spoke):
        then = read(part, filename, without(settings, (row,)), codes)
        by_row = tuple(now.found[each] for each in now.found.keys() - then.found.keys())
        withheld = tuple(then.found[each] for each in then.found.keys() - now.found.keys())
        if by_row or withheld:
            yield Alternative(row, by_row, withheld)
