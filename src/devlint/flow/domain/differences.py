"""When two devices differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from devlint.flow.domain.keys import CUDA_AVAILABLE, ON_HOST, Settled
from devlint.flow.domain.lattice import (
    Device,
    Guarded,
    Known,
    Symbol,
    given,
    names_accelerator,
    only_host,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two devices differ.

    `certain`: both are named in the source. Otherwise one of them is a place that only a run
    can tell, and they differ as soon as that place is an accelerator. `when`: the conditions
    (key, holds) under which they differ; empty where nothing else is needed.
    """

    certain: bool
    when: Settled = ()


def difference(a: Device, b: Device) -> Difference | None:
    """How `a` and `b` differ, or None where they agree or where it isn't known.

    A host device differs from a symbol (it breaks as soon as that place is an accelerator);
    two symbols, or an accelerator and a symbol, may agree. `cuda` and `cuda:0` may agree too.
    Where CUDA is absent nothing is on it: whoever moves something there has failed before. And
    what only a run can tell is most likely on the host there, and where that is on the host, CUDA
    is absent most likely.
    Where the host is what is left of a choice of an accelerator, a symbol is most likely what
    the same choice gave elsewhere.
    """
    return _difference(a, b, a, b)


_ANY_ACCELERATOR = "torch.accelerator.is_available()"
"""The key of the condition without which no place is an accelerator."""


def _difference(a: Device, b: Device, whole_a: Device, whole_b: Device) -> Difference | None:
    if isinstance(a, Guarded) or isinstance(b, Guarded):
        top = min(d.key for d in (a, b) if isinstance(d, Guarded))
        yes, no = (
            _difference(given(a, top, holds), given(b, top, holds), whole_a, whole_b)
            for holds in (True, False)
        )
        if top == CUDA_AVAILABLE and no is not None and not _is_there(no, a, b, (top, False)):
            no = None
        if top.endswith(ON_HOST) and yes is not None and yes.certain:
            yes = yes if _is_there(yes, a, b, (top, True)) else None
        if yes is not None and yes == no and _are_same(a, b, top, yes.when):
            return yes
        if yes is not None:
            return Difference(yes.certain, ((top, True), *yes.when))
        if no is not None and (no.certain or top != _ANY_ACCELERATOR):
            return Difference(no.certain, ((top, False), *no.when))
        return None
    if isinstance(a, Known) and isinstance(b, Known):
        if a.type != b.type:
            return None if "meta" in (a.type, b.type) else Difference(certain=True)
        indexed = a.index is not None and b.index is not None
        return Difference(certain=True) if indexed and a.index != b.index else None
    for one, other, whole in ((a, b, whole_a), (b, a, whole_b)):
        if isinstance(one, Known) and one.is_host and isinstance(other, Symbol):
            return None if names_accelerator(whole) else Difference(certain=False)
    return None


def _is_there(found: Difference, a: Device, b: Device, absent: tuple[str, bool]) -> bool:
    """Whether two devices that differ where CUDA is absent are both there."""
    when = (*found.when, absent)
    ends = (device_at(a, when), device_at(b, when))
    return found.certain and not any(isinstance(e, Known) and e.type == "cuda" for e in ends)


def device_at(device: Device, when: Settled) -> Device:
    """The device where the conditions are as `when` says."""
    while isinstance(device, Guarded):
        device = device.yes if (device.key, True) in when else device.no
    return device


def chosen_apart(when: Settled, *devices: Device) -> Settled:
    """Of the conditions under which devices differ those that part them: without each of the others
    all of them are on the host, so that it only says whether there is an accelerator."""
    return tuple(
        (key, holds)
        for key, holds in when
        if not all(only_host(given(each, key, not holds)) for each in devices)
    )


def _are_same(a: Device, b: Device, key: str, when: Settled) -> bool:
    """Whether each of two devices is the same, if a condition holds and if not, under others."""

    def at(device: Device, holds: bool) -> Device:
        return reduce(lambda found, each: given(found, *each), when, given(device, key, holds))

    return all(at(each, True) == at(each, False) for each in (a, b))
