"""The conditions that are settled at one point of a program, and which of them were asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, ItemsView, KeysView, Mapping
from functools import lru_cache

from devlint.flow.domain.keys import IS_NONE, ON_HOST, parts_of
from devlint.flow.domain.lattice import Device, conditions, symbols

ALL = "all that is settled"
"""Stands among what was asked for where that was every condition."""


class Conditions:
    """Conditions by their keys, and whether they hold. `read` is what was asked for of them, here
    or in a copy: what is found out hangs on no other."""

    __slots__ = ("_settled", "read")

    def __init__(
        self, settled: Mapping[str, bool] | None = None, read: set[Hashable] | None = None
    ) -> None:
        self._settled = dict(settled) if settled else {}
        self.read = set() if read is None else read

    def __len__(self) -> int:
        return len(self._settled)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: str, holds: bool) -> None:
        self._settled[key] = holds

    def get(self, key: str) -> bool | None:
        """Whether a condition holds; None where that isn't settled."""
        self.read.add(key)
        return self._settled.get(key)

    def told(self, key: str) -> bool | None:
        """The same, for what is only told: nothing that is found out hangs on it."""
        return self._settled.get(key)

    def any(self, test: Callable[[str, bool], bool]) -> bool:
        """Whether a test is true of any of them."""
        self.read.add(ALL)
        return any(test(key, holds) for key, holds in self._settled.items())

    def of_place(self, device: Device) -> ItemsView[str, bool]:
        """Those that may say where a device is that hangs on conditions, or on a run."""
        self.read |= _about(device)
        return self._settled.items()

    def literals(self) -> ItemsView[str, bool]:
        """All of them, for who hands them on."""
        return self._settled.items()

    def names(self) -> KeysView[str]:
        """Their keys, as well."""
        return self._settled.keys()

    def update(self, learnt: Mapping[str, bool]) -> None:
        self._settled.update(learnt)

    def pop(self, key: str) -> None:
        self._settled.pop(key, None)

    def copy(self) -> Conditions:
        """The same, which can be changed alone."""
        other = Conditions(read=self.read)
        other._settled = self._settled.copy()
        return other

    def common(self, other: Conditions) -> Conditions:
        """Those that are settled the same way in both."""
        others = other._settled
        both = {key: holds for key, holds in self._settled.items() if others.get(key) is holds}
        return Conditions(both, self.read)


@lru_cache(maxsize=4096)
def _about(device: Device) -> frozenset[str]:
    """The conditions that may say where a device is."""
    absent = (each.key + IS_NONE for each in symbols(device))
    return conditions(device).union(absent, (ON_HOST,) if any(symbols(device)) else ())


def about(settled: Mapping[str, bool], question: str) -> Hashable:
    """What is settled of what was asked for."""
    if question == ALL:
        return frozenset(settled.items())
    if question == ON_HOST:
        return frozenset(each for each in settled.items() if each[0].endswith(ON_HOST))
    whole = (
        (key, holds)
        for key, holds in settled.items()
        if any(part == question for part, _ in parts_of(key))
    )
    return settled.get(question), frozenset(whole)
