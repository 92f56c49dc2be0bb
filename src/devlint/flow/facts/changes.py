"""Facts with other operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from devlint.flow.facts.base import Fact, Operand
from devlint.flow.facts.host import HostRead
from devlint.flow.facts.meetings import Draw, Indexing, Join, ModuleCall
from devlint.flow.facts.names import AttributeRead


def changed(fact: Fact, change: Callable[[Operand], Operand]) -> Fact:
    """A fact with other operands."""
    match fact:
        case Join():
            return replace(fact, placed=tuple(map(change, fact.placed)))
        case Indexing():
            return replace(fact, base=change(fact.base), index=change(fact.index))
        case ModuleCall():
            inputs = tuple(map(change, fact.inputs))
            return replace(fact, module=change(fact.module), inputs=inputs)
        case HostRead() | AttributeRead():
            return replace(fact, receiver=change(fact.receiver))
        case Draw(generator=Operand() as generator):
            return replace(fact, generator=change(generator))
    return fact
