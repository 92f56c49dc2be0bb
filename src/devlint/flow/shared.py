"""What calls of other files' functions give and do, for all linted files of a project.

A function of a file that is followed runs once in a project for each version of what it is given,
whichever linted file leads there first. What it gives hangs on the files that were consulted
meanwhile, as they were.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from devlint.flow.surroundings import Inquiry, Watch

_MOST = 4_000
"""Summaries that are remembered: the one that was used last goes last."""


@dataclass(slots=True)
class _Kept:
    summary: Any
    """What a call gave and did."""
    inquiry: Inquiry
    stamps: dict[str, object]
    """The files that it hangs on, as they were."""
    visit: int
    """The visit in which they were looked at last."""


class Shared:
    """The summaries of a project, by what calls bring."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._kept: OrderedDict[Hashable, list[_Kept]] = OrderedDict()

    @property
    def is_open(self) -> bool:
        """Whether what names stand for is settled: no file is run to find that out."""
        return self._watch.known is not None

    def inquiry(self) -> AbstractContextManager[Inquiry]:
        """Run a function that other linted files may call as well."""
        return self._watch.inquiry(settled=True)

    def rely_on(self, inquiry: Inquiry) -> None:
        """Use what such a run gave."""
        self._watch.rely_on(inquiry)

    def find(self, key: Hashable, answers: Callable[[Any], bool]) -> Any:
        """A summary of calls that bring this which answers one; None where there is none, or where
        a file has changed since."""
        for kept in self._kept.get(key, ()):
            if answers(kept.summary) and self._is_as_it_was(kept):
                self._kept.move_to_end(key)
                return kept.summary
        return None

    def _is_as_it_was(self, kept: _Kept) -> bool:
        if kept.visit == self._watch.visits:
            return True
        same = self._watch.stamped(kept.stamps) == kept.stamps
        if same:
            kept.visit = self._watch.visits
        return same

    def keep(self, key: Hashable, path: str, summary: Any, inquiry: Inquiry) -> None:
        """Remember the summary of a call of a function in the file at `path`."""
        stamps = self._watch.stamped({path, *inquiry.consulted})
        new = _Kept(summary, inquiry, stamps, self._watch.visits)
        others = (each for each in self._kept.get(key, ()) if each.summary.asked != summary.asked)
        self._kept[key] = [new, *others]
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def forget(self, path: str) -> None:
        """A file isn't remembered any more, and nothing that hangs on it either."""
        for key, kept in [*self._kept.items()]:
            self._kept[key] = [each for each in kept if path not in each.stamps]
