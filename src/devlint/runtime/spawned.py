"""Processes that a program starts afresh: they share nothing, and are to begin as it did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Start:
    """Calls a function where it is unpickled: in a process that doesn't know the program yet.

    Args:
        function: can be pickled, as its arguments can.
        arguments: of the function.
    """

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._function, self._arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._function, self._arguments
