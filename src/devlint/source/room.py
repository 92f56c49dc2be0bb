"""Room on the stack for deeply nested files.

Code that recurses once or more for every level of a tree runs in `with_room`: first as it is;
and only where that fails, again with a larger stack and a higher recursion limit.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

_STACK_BYTES = 512 * 1024 * 1024  # reserved, not used: only pages that are touched take memory
_RECURSION_LIMIT = 100_000


def with_room(function: Callable[[], T]) -> T:
    """The result of `function`, called a second time with more room if it needs that.

    Raises what the function raises, also a `RecursionError` of the second call.
    """
    try:
        return _in_one_piece(function)
    except RecursionError:
        return in_large_stack(function)


def _in_one_piece(function: Callable[[], T]) -> T:
    """The result of `function`, whose frames lie in one piece of memory as far as they can.

    Python takes the memory of frames in pieces of 16 KiB, and gives one back as soon as the first
    frame in it is left. A loop that calls from the last frame of a piece has the system map and
    clear pages at each call: a sixth of the time of deep analyses went there. A piece is as large
    as the frame that it is taken for needs, rounded up; what is left is for the frames above.
    """
    return function()


_FRAME = 264 * 1024
"""Bytes that the frame below pretends to need: Python takes 512 KiB for that."""
_in_one_piece.__code__ = _in_one_piece.__code__.replace(co_stacksize=_FRAME // 8)


def in_large_stack(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own with a large stack, and wait for it."""
    results: list[T] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function())
        except BaseException as error:  # handed over to the waiting thread, which raises it
            errors.append(error)

    stack = threading.stack_size(_STACK_BYTES)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        # A daemon: Ctrl-C must not wait for it.
        context = copy_context()  # what is asked there is asked as it would be here
        thread = threading.Thread(
            target=context.run, args=(call,), name="devlint-large-stack", daemon=True
        )
        thread.start()
        threading.stack_size(stack)
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
