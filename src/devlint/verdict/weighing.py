"""What policy makes of what a rule reports: the one place where its rows are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.keys import ALL_ON_HOST, ARGUMENTS_ON_HOST
from devlint.flow.domain.lattice import given, is_place_of_argument
from devlint.flow.facts import (
    Context,
    Elsewhere,
    Fact,
    Guard,
    Guarded,
    KeptTensor,
    Known,
    Operand,
    Role,
    Symbol,
)
from devlint.model.reports import Report, chain, options
from devlint.policy import Row, of_file
from devlint.project.importing import in_project
from devlint.rules import Rule
from devlint.source.spots import path_of

_BRINGS = frozenset(
    (
        Sort.NAMED, Sort.CHOSEN, Sort.STORED, Sort.MOVE_NAMED, Sort.MOVE_CHOSEN, Sort.MOVE_TYPE,
        Sort.PREPARED,
    )
)  # fmt: skip
"""By these somebody puts something somewhere. What a call brings is told of at the call."""


def weighed(
    rule: Rule, fact: Fact, path: str, off: frozenset[str], is_silent: Callable[[], bool]
) -> Iterator[tuple[Report, str]]:
    """What a rule reports of a fact of a file, and the name of the row that withholds it, "" for
    none: the rule doesn't report it of the same fact as the row has it seen.

    A fact of another file, which a call leads to, is weighed by the names of both files. The rows
    that are `off` are left out. `is_silent` says whether neither the file nor one that imports it
    speaks of devices.
    """
    inner = fact.fact if isinstance(fact, Elsewhere) else fact
    reports = list(rule.check(inner))
    if isinstance(fact, Elsewhere) and fact.here is not None:
        here = list(rule.check(fact.here))
        if len(here) == len(reports):
            reports = [_fixed_here(*each) for each in zip(reports, here, strict=True)]
    withheld: dict[int, str] = {}
    for row, other in _views(inner, path, off, is_silent) if reports else ():
        if other == inner:
            continue
        left = {report.at for report in rule.check(other)}
        for index, report in enumerate(reports):
            if report.at not in left:
                withheld.setdefault(index, row.name)
    for index, report in enumerate(reports):
        yield report, withheld.get(index, "")


def _fixed_here(report: Report, here: Report) -> Report:
    """A report of another file with the fixes besides that can be made at the call."""
    return replace(report, fix=chain((*options(report.fix), *options(here.fix))))


def _views(
    fact: Fact, path: str, off: frozenset[str], is_silent: Callable[[], bool]
) -> Iterator[tuple[Row, Fact]]:
    """A fact as each row has rules look at it that speaks of the linted file, or of the one in
    which it was seen: where that runs on the host, what it is given is there as well, unless the
    caller has chosen another place."""
    for row in of_file(in_project(path), off):
        yield row, seen(fact, row, is_silent)
    there = path_of(fact.node.origin) or path
    for row in of_file(in_project(there), off) if there != path else ():
        if (row.host or row.role == "data") and _sort(fact.context) in row.of:
            yield row, _on_host(fact, ARGUMENTS_ON_HOST)


def seen(fact: Fact, row: Row, is_silent: Callable[[], bool]) -> Fact:
    """A fact as a row has rules look at it."""
    context = fact.context
    if _sort(context) not in row.of:
        return fact
    if row.host or (row.closed and is_silent()):
        return _on_host(fact, ALL_ON_HOST)
    if row.closed:
        return fact if context.role is Role.MODULE else _not_brought_there(fact)
    if row.role:
        return replace(fact, context=replace(context, role=Role[row.role.upper()]))
    if context.guard is Guard.NONE:
        return replace(fact, context=replace(context, guard=Guard[row.guard.upper()]))
    return fact


def _on_host(fact: Fact, key: str) -> Fact:
    """A fact where something that only a run decides is on the host: `key` says what."""
    if isinstance(fact, KeptTensor):
        return replace(fact, uses=())  # nothing that is elsewhere meets it

    def placed(part: Any) -> Any:
        match part:
            case Operand():
                return replace(part, device=given(part.device, key, True))
            case Known() | Symbol() | Guarded():
                return given(part, key, True)
        return part

    return _mapped(fact, placed)


def _not_brought_there(fact: Fact) -> Fact:
    """A fact of a function where no argument is elsewhere that nobody has put there."""

    def brought(part: Any) -> Any:
        match part:
            case Operand() if not _is_brought(part):
                return replace(part, device=given(part.device, ARGUMENTS_ON_HOST, True))
        return part

    return _mapped(fact, brought)


def _mapped(fact: Fact, change: Callable[[Any], Any]) -> Fact:
    """A fact whose parts are changed, those in tuples too."""

    def changed(part: Any) -> Any:
        return tuple(map(changed, part)) if isinstance(part, tuple) else change(part)

    return replace(fact, **{e.name: changed(getattr(fact, e.name)) for e in fields(fact)})


def _is_brought(operand: Operand) -> bool:
    """Whether somebody has put it where it is, other than to where an argument is by itself."""
    steps = operand.steps
    own = any(step.sort in (Sort.TENSOR_BY_USE, Sort.ANNOTATION) for step in steps)
    return any(
        step.sort in _BRINGS and not (own and is_place_of_argument(step.device)) for step in steps
    )


def _sort(context: Context) -> str:
    """What code a row may speak of: "stateless-module" is one of its own."""
    sort = context.role.name.lower()
    return f"stateless-{sort}" if context.stateless else sort
