"""What the interpreter sees at some lines of a file, and what it keeps back: for `devlint why`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.values import TENSORS, Kind
from devlint.flow.facts import Fact, Operand
from devlint.flow.syntax.walk import function_around
from devlint.model import ir
from devlint.model.reports import Located


@dataclass(frozen=True, slots=True)
class Seen:
    """What an expression is, as one run of its function sees it. `site` are the calls that led
    there, outermost first: none where the function runs on its own."""

    operand: Operand
    site: tuple[ir.Node, ...]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A fact of which nothing is reported, and what withholds it."""

    fact: Fact
    by: str


@dataclass(frozen=True, slots=True)
class Meeting:
    """Operands of which all must be in one place, those that may be tensors."""

    node: ir.Node
    op: str
    operands: tuple[Operand, ...]
    site: tuple[ir.Node, ...]

    @property
    def outcome(self) -> str:
        """Whether the operands "differ" or "agree", or whether that is "unknown"."""
        places = [each.device for each in self.operands if _has_place(each)]
        pairs = list(combinations(places, 2))
        if any(difference(one, other) is not None for one, other in pairs):
            return "differ"
        return "agree" if UNKNOWN not in places and len(set(places)) < 2 else "unknown"


def _has_place(operand: Operand) -> bool:
    """Whether it is, or may be, a tensor or a module that must be where the others are."""
    if operand.kind in (Kind.UNKNOWN, Kind.MODULE):
        return True
    return operand.kind in TENSORS and operand.value.scalar is not True


@dataclass(slots=True)
class Record:
    """What is seen at some lines of a file.

    `path` is the file's, `rows` its lines, counted from 1.
    """

    path: str
    rows: range
    seen: dict[tuple[ir.Expr, tuple[ir.Node, ...]], Seen] = field(default_factory=dict)
    bound: dict[tuple[ir.Node, tuple[ir.Node, ...]], Seen] = field(default_factory=dict)
    """What names get, by their targets, and parameters of functions that run on their own."""
    meetings: dict[tuple[ir.Node, tuple[ir.Node, ...]], Meeting] = field(default_factory=dict)
    withheld: list[Withheld] = field(default_factory=list)
    callers: dict[str, str] = field(default_factory=dict)
    """What the calls in the file give to the parameters of the function around these lines."""

    def covers(self, node: Located) -> bool:
        """Whether a node begins at one of these lines."""
        origin = node.origin
        return isinstance(origin, tuple) and origin[0] == self.path and origin[1] in self.rows

    def see(self, operand: Operand, site: tuple[ir.Node, ...]) -> None:
        """An expression was evaluated. Later rounds of a loop know more than the first."""
        self.seen[operand.node, site] = Seen(operand, site)

    def bind(self, target: ir.Node, operand: Operand, site: tuple[ir.Node, ...]) -> None:
        """A name got a value. Later rounds of a loop know more than the first."""
        self.bound[target, site] = Seen(operand, site)

    def meet(self, meeting: Meeting) -> None:
        """Values meet."""
        self.meetings[meeting.node, meeting.site] = meeting

    def withhold(self, fact: Fact, by: str) -> None:
        """Nothing is reported of a fact."""
        if self.covers(fact.node):
            self.withheld.append(Withheld(fact, by))

    def hear(self, body: ir.Body, given: Mapping[ir.Function, Mapping[str, bool]]) -> None:
        """What the calls in the file give to the function around these lines: for each of its
        parameters, whether that may be on an accelerator."""
        function = function_around(body, self.rows.start)
        known = None if function is None else given.get(function)
        if function is not None and known is not None:
            self.callers = {each.name: _GIVEN[known.get(each.name)] for each in function.params}

    def lost(self, before: list[Fact], after: list[Fact], by: str) -> None:
        """What some sieve has kept back of facts."""
        kept = {id(fact) for fact in after}
        for fact in before:
            if id(fact) not in kept:
                self.withhold(fact, by)


_GIVEN = {
    True: "may be on an accelerator",
    False: "only ever on the host",
    None: "no call in this file",
}
