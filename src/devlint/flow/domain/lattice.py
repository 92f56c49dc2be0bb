"""Where a value may be: devices, and how two of them join.

A `Device` is one of

* `Known`: cpu, cuda, cuda:1, mps ...;
* `Symbol`: the same unknown place whenever its key is the same: a `device` parameter,
  `args.device`, "where self's parameters are", "where argument x is";
* `Guarded`: one device where a condition holds and another where it doesn't;
* `UNKNOWN`: the top of the lattice, about which nothing is ever said.

`Guarded` is a decision diagram: keys stand in ascending order from the root down, and no
node has two equal branches. So equal functions of the conditions are equal objects, and the
join is the pointwise join of the branches: it commutes, is associative, idempotent and
monotone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeGuard

from devlint.flow.domain.keys import (
    ALL_ON_HOST,
    ARGUMENTS_ON_HOST,
    CUDA_AVAILABLE,
    IS_NONE,
    ON_HOST,
    Settled,
    asks_for_accelerator,
    is_local,
    is_stored,
    parts_of,
    shown,
    stands_in,
    worded,
)

_MOST_CONDITIONS = 3
"""A place must follow from so many conditions; what takes more to tell is UNKNOWN."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device that the source names. `index` is None where the source gives none."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    @property
    def is_host(self) -> bool:
        return self.type == "cpu"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A place that only a run can tell. Equal keys are equal places.

    `label` is an expression of the source (`args.device`), or, where it is `described`, words ("the
    device of the module").
    """

    key: str
    label: str = field(compare=False)
    described: bool = field(default=False, compare=False)

    @property
    def is_spelled(self) -> bool:
        """Whether the label is an expression, which can be written where the place is meant."""
        return not self.described and not is_local(self.key)

    def __str__(self) -> str:
        return f"`{self.label}`" if self.is_spelled else shown(self.label)


@dataclass(frozen=True, slots=True)
class Guarded:
    """`yes` where the condition `key` holds, `no` where it doesn't. Made by `choose` only."""

    key: str
    yes: Device
    no: Device

    def __str__(self) -> str:
        if self.key == CUDA_AVAILABLE and self.no == CPU and not isinstance(self.yes, Guarded):
            return f"{self.yes} (or cpu where CUDA is absent)"
        places = [leaf for leaf in leaves(self) if leaf != UNKNOWN]
        *first, last = dict.fromkeys(map(str, places or [UNKNOWN]))
        if not first:
            return last
        either = f"{', '.join(first)} or {last}"
        keys = sorted(conditions(self))
        if all(map(asks_for_accelerator, keys)):
            return f"{either}, as available"
        return f"{either}, depending on {' and '.join(map(_asked, keys))}"


def _asked(key: str) -> str:
    """The same behind "depending on"."""
    return f"whether {worded(key)}" if key.endswith(ON_HOST) else worded(key)


@dataclass(frozen=True, slots=True)
class Unknown:
    def __str__(self) -> str:
        return "an unknown device"


Device = Known | Symbol | Guarded | Unknown

UNKNOWN = Unknown()
CPU = Known("cpu")
CUDA = Known("cuda")
THE_MODULE = Symbol("self.device", "the device of the module", described=True)
"""Where the parameters of `self` are."""


def conditions(device: Device) -> frozenset[str]:
    """The keys of the conditions on which a device depends."""
    if isinstance(device, Guarded):
        return conditions(device.yes) | conditions(device.no) | {device.key}
    return frozenset()


def leaves(device: Device) -> Iterator[Device]:
    """The places that it may be."""
    if isinstance(device, Guarded):
        yield from leaves(device.yes)
        yield from leaves(device.no)
    else:
        yield device


def ways_to(device: Device, way: Settled = ()) -> Iterator[tuple[Settled, Device]]:
    """The places that it may be, each with the conditions under which it is that one."""
    if isinstance(device, Guarded):
        yield from ways_to(device.yes, (*way, (device.key, True)))
        yield from ways_to(device.no, (*way, (device.key, False)))
    else:
        yield way, device


def symbols(device: Device) -> Iterator[Symbol]:
    """The places in it that only a run can tell."""
    return (leaf for leaf in leaves(device) if isinstance(leaf, Symbol))


def is_place_of_argument(device: Device) -> TypeGuard[Symbol]:
    """Whether nothing is known but that it is where an argument is (`x.device`)."""
    return (
        isinstance(device, Symbol) and device.key.endswith(".device") and not is_stored(device.key)
    )


def is_named_by_argument(device: Device) -> TypeGuard[Symbol]:
    """Whether it is what an argument names (`device`)."""
    return isinstance(device, Symbol) and device.key.isidentifier()


def path_of(place: Symbol) -> str:
    """The path of what is there: `x.mask` of `x.mask.device`."""
    return place.key.removesuffix(".device")


def collection_of(place: Symbol) -> str:
    """The path of the whole of which it is the place of a part: `x.rows` of `x.rows[0].device`."""
    return place.key.partition("[")[0]


def parameter_of(place: Symbol) -> str:
    """The parameter of which it is the place, or of a part of which."""
    return place.key.partition(".")[0].partition("[")[0]


def given(device: Device, key: str, holds: bool) -> Device:
    """The device where the condition `key` is known to hold, or known not to."""
    if isinstance(device, Symbol) and holds:
        if key == device.key + IS_NONE:
            return UNKNOWN  # what names it names none
        return CPU if _is_proven_host(device, key) else device
    if not isinstance(device, Guarded):
        return device
    if parts := parts_of(key):
        return _given_all(device, parts, holds)
    if device.key == key:
        return device.yes if holds else device.no
    return _node(device.key, given(device.yes, key, holds), given(device.no, key, holds))


def _given_all(device: Device, parts: Settled, hold: bool) -> Device:
    """The device where several conditions are as they are said to be, or one of them isn't."""
    there, otherwise = device, set[Device]()
    for key, holds in parts:
        otherwise.add(given(there, key, not holds))
        there = given(there, key, holds)
    if hold:
        return there
    return otherwise.pop() if len(otherwise) == 1 else device


def _is_proven_host(place: Symbol, key: str) -> bool:
    if key == ARGUMENTS_ON_HOST or (key.endswith(f".device{ON_HOST}") and not is_stored(key)):
        return is_place_of_argument(place) or place == THE_MODULE
    return key in (ALL_ON_HOST, place.key + ON_HOST)


def choose(key: str, yes: Device, no: Device) -> Device:
    """`yes` where `key` holds, else `no`; UNKNOWN where that hangs on too many conditions."""
    chosen = _choose(key, given(yes, key, True), given(no, key, False))
    return UNKNOWN if len(conditions(chosen)) > _MOST_CONDITIONS else chosen


def rekeyed(device: Device, named: Callable[[str], str]) -> Device:
    """The device where each condition goes by another key."""
    if not isinstance(device, Guarded):
        return device
    yes, no = rekeyed(device.yes, named), rekeyed(device.no, named)
    return choose(named(device.key), yes, no)


def outside(device: Device, other: Device) -> Device:
    """A device where nothing is known of `other`, and UNKNOWN where something is."""
    if isinstance(other, Guarded):
        yes, no = (given(device, other.key, holds) for holds in (True, False))
        return choose(other.key, outside(yes, other.yes), outside(no, other.no))
    return device if other == UNKNOWN else UNKNOWN


def join(a: Device, b: Device) -> Device:
    """What is known where a value is at `a` on one path and at `b` on the other."""
    if a == b:
        return a
    if isinstance(a, Guarded) or isinstance(b, Guarded):
        joined = _merged(a, b, join)
        return _provable(joined) if len(conditions(joined)) > _MOST_CONDITIONS else joined
    return UNKNOWN


def _node(key: str, yes: Device, no: Device) -> Device:
    if yes == CPU and isinstance(no, Symbol) and key == no.key + ON_HOST:
        return no  # the host where it is the host
    return yes if yes == no else Guarded(key, yes, no)


def _choose(key: str, yes: Device, no: Device) -> Device:
    return _merged(yes, no, partial(_node, key), above=key)


_Merge = Callable[[Device, Device], Device]


def _merged(a: Device, b: Device, merge: _Merge, above: str | None = None) -> Device:
    """Two diagrams as one, leaf by leaf; or only as far as their keys stand above another one."""
    keys = [each.key for each in (a, b) if isinstance(each, Guarded)]
    top = min(keys, default=None)
    if top is None or (above is not None and top >= above):
        return merge(a, b)
    yes, no = (
        _merged(given(a, top, holds), given(b, top, holds), merge, above) for holds in (True, False)
    )
    return _node(top, yes, no)


def _provable(device: Device, most: int = _MOST_CONDITIONS) -> Device:
    """The device where `most` conditions or fewer settle it, UNKNOWN elsewhere.

    Joins grow diagrams, so something has to be forgotten. To forget all of a diagram that is too
    large would make the join depend on the order of paths: a later join may shrink it again. What
    takes many conditions to tell takes no fewer after a join, so that can be forgotten at once.
    """
    if not isinstance(device, Guarded):
        return device
    if most == 0:
        return UNKNOWN
    proved: Device = UNKNOWN
    for key in sorted(conditions(device)):
        yes, no = (_provable(given(device, key, holds), most - 1) for holds in (True, False))
        proved = _merged(proved, _choose(key, yes, no), _either)
    return proved


def _either(a: Device, b: Device) -> Device:
    """The place that `a` or `b` knows; where both know, they agree."""
    return b if a == UNKNOWN else a


def completed(a: Device, b: Device) -> Device:
    """Where two things are that are in one place: what is known of the first, else of the other."""
    return _merged(a, b, _either)


def of_one_or_other(a: Device, b: Device) -> Device | None:
    """Where one of two things is of which one is there where a condition holds, and the other one
    where it doesn't; None for things that may both be there."""
    match a, b:
        case Guarded(key, yes, Unknown()), Guarded(other, Unknown(), no) if key == other:
            return choose(key, yes, no)
        case Guarded(_, Unknown(), _), Guarded(_, _, Unknown()):
            return of_one_or_other(b, a)
    return None


def may_be_host(device: Device) -> bool:
    """Whether it is the host in some way."""
    return any(isinstance(leaf, Known) and leaf.is_host for leaf in leaves(device))


def only_host(device: Device) -> bool:
    """Whether it is the host wherever it is known."""
    known = [leaf for leaf in leaves(device) if leaf != UNKNOWN]
    return bool(known) and all(isinstance(leaf, Known) and leaf.is_host for leaf in known)


def off_host(device: Device) -> Device:
    """The device where it isn't the host; UNKNOWN where it is."""
    if isinstance(device, Guarded):
        return _node(device.key, off_host(device.yes), off_host(device.no))
    return UNKNOWN if isinstance(device, Known) and device.is_host else device


def left_out(device: Device) -> Device:
    """The device where every argument that may be left out is left out, and what may be no tensor
    is none: that of its default."""
    for key in conditions(device):
        if stands_in(key):
            device = given(device, key, True)
    return device


def is_chosen(device: Device) -> bool:
    """Whether the source names the place, or leaves it to whoever runs it (`args.device`). Else it
    is where an argument, or the module itself, happens to be."""
    return all(place.is_spelled and not is_place_of_argument(place) for place in symbols(device))


def names_accelerator(device: Device) -> bool:
    """Whether the source names an accelerator, alone or as one of a choice."""
    return any(
        isinstance(leaf, Known) and leaf.type not in ("cpu", "meta") for leaf in leaves(device)
    )


def may_be_accelerator(device: Device) -> bool:
    """Whether there is a reason to think so: a named accelerator, a choice of one, a symbol."""
    return names_accelerator(device) or any(symbols(device))
