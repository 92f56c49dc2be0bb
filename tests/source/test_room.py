"""Room on the stack."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable

import pytest

from devlint.source.room import with_room


def _leaf(a: int, b: int, c: int) -> int:
    d = a + b
    e = d + c
    return d + e


def _calls(depth: int) -> int:
    """Call a function again and again from so many frames further up."""
    if depth:
        return _calls(depth - 1)
    for number in range(100):
        _leaf(number, 1, 2)
    return 0


def _faults(run: Callable[[Callable[[], int]], object]) -> int:
    """The pages that the system has to find for calls from anywhere in several pieces."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(400):
        run(lambda depth=depth: _calls(depth))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames lie on the heap there")
def test_frames_lie_in_one_piece() -> None:
    def in_one(depths: Callable[[], int]) -> object:
        return depths()

    few = 100  # as many as it is where Python keeps a piece for the next call
    assert with_room(lambda: _faults(in_one)) < max(few, _faults(in_one) / 4)


def test_what_needs_more_room_is_called_again() -> None:
    assert with_room(lambda: _calls(50_000)) == 0
