"""Objects of which one is meant, and nobody knows which."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import is_

from devlint.flow.domain.lattice import Guarded, join, of_one_or_other
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Heap, Object
from devlint.flow.domain.state_joins import join_objects


class Candidates:
    """What is known of those that were asked about: most don't change from one time to the next,
    and to look through all objects for a few takes long."""

    def __init__(self) -> None:
        self._orders: dict[frozenset[Ref], tuple[Ref, ...]] = {}
        self._known: dict[frozenset[Ref], tuple[list[Object], Object]] = {}

    def as_made(self, heap: Heap, refs: frozenset[Ref]) -> tuple[Ref, ...]:
        """Those of some references that refer to an object, in the order in which these were made:
        a set has another one in each run."""
        if not any(ref in heap for ref in refs):
            return ()
        order = self._orders.get(refs)
        if order is None or any(ref not in heap for ref in order):
            order = tuple(ref for ref in heap if ref in refs)
            if len(order) == len(refs):
                self._orders[refs] = order
        return order

    def one_of(self, heap: Heap, refs: frozenset[Ref]) -> Object | None:
        """What is known of whichever it is; None where one of them refers to nothing."""
        if not refs <= heap.keys():
            return None
        known = [heap[ref] for ref in self.as_made(heap, refs)]
        before, found = self._known.get(refs, ([], None))
        if found is None or not all(map(is_, before, known)):
            found = _joined(known)
            self._known[refs] = known, found
        return found


def _joined(known: list[Object]) -> Object:
    joined = reduce(join_objects, known)
    placed = [found.device for found in known if not found.stateless]
    if placed:  # what holds nothing is wherever the others are
        joined = replace(joined, device=reduce(join, placed))
    apart = of_one_or_other(known[0].device, known[1].device) if len(known) == 2 else None
    if apart is None:
        return joined
    return replace(joined, device=apart, guarded=isinstance(apart, Guarded))
