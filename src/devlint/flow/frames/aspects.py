"""What a function may ask of how it was called, besides what it is given: what it gives then hangs
on that, and on nothing else of the call."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import NamedTuple


class Aspect(Enum):
    """A question of which there is one."""

    HEARD = 0
    """Is what goes wrong in it written down?"""
    DEPTH = 1
    """How many calls have led to it, up to where that is far?"""
    ROLE = 2
    """What is its code for?"""
    GUARD = 3
    """What is known of accelerators wherever the calling code runs?"""
    MAKER = 4
    """Which constructor runs around all of it, if one does?"""


class Around(NamedTuple):
    """Does a function of this name run, here or in what has called it?"""

    name: str


class Hidden(NamedTuple):
    """Is the condition of this key about something else in it than where it is called?"""

    key: str


Asked = dict[Hashable, Hashable]
"""Questions, with the answers: an `Aspect`, `Around`, `Hidden`, or a string about conditions that
are settled (`domain.settled`)."""


def asked_by_caller(question: Hashable) -> Hashable:
    """What a function has asked whose callee asks this."""
    return question.key if isinstance(question, Hidden) else question
