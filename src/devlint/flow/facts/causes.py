"""Findings that have one cause, of which the first is enough.

`model.cuda()` whatever was asked for, and inputs on the device that a flag chooses: where the flag
asks for the host, the first line at which the two meet raises. Nobody gets to the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from devlint.flow.domain.differences import difference
from devlint.flow.domain.keys import CUDA_AVAILABLE
from devlint.flow.domain.lattice import Known
from devlint.flow.facts import Elsewhere, Fact, Indexing, Operand
from devlint.flow.facts.meetings import met
from devlint.model import ir


def first_of_each(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those that a flag can only bring about after it has raised before."""
    told: dict[tuple[str, str], ir.Node] = {}
    for fact in facts:
        flag = _flag(fact.fact if isinstance(fact, Elsewhere) else fact)
        if not flag or told.setdefault((fact.context.function, flag), fact.node) is fact.node:
            yield fact


def _flag(fact: Fact) -> str:
    """The condition that takes one side of a meeting to the host, where nothing takes the other
    side away from its accelerator; "" where it isn't so."""
    for one, other in combinations(() if isinstance(fact, Indexing) else met(fact), 2):
        found = difference(one.device, other.device)
        keys = () if found is None else tuple(key for key, _ in found.when)
        if keys and CUDA_AVAILABLE not in keys and any(_is_fixed(each) for each in (one, other)):
            return keys[0]
    return ""


def _is_fixed(operand: Operand) -> bool:
    return isinstance(operand.device, Known) and not operand.device.is_host
