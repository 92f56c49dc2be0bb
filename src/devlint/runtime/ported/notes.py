"""What a running test does that doesn't go along to a device, with the lines where it does."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType

from devlint.runtime.operands import Site

_OFTEN = 16
"""Tensors of one line of which each is asked about."""


class Notes:
    """The notes of one test after the other."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], str] = {}
        self._near: dict[tuple[CodeType, int], tuple[int, Site | None]] = {}
        self.on_host = ""
        """Why tensors of the test are on the CPU on purpose; "" where none is."""
        self.handed: Site | None = None
        """The line of the project that has made, on the CPU though it had something of the device
        at hand, what the test has called a module with."""

    def begin(self) -> None:
        """Forget the last test."""
        self._lines.clear()
        self._near.clear()
        self.on_host, self.handed = "", None

    def add(self, frame: FrameType | None, what: str) -> None:
        """Note what the line does that a frame is at."""
        if frame is not None:
            self._lines[frame.f_code.co_filename, frame.f_lineno] = what

    def at(self, file: str, line: int) -> str:
        """What a line does; "" where nothing was noted."""
        return self._lines.get((file, line), "")

    def near(self, frame: FrameType, ask: Callable[[], Site | None]) -> Site | None:
        """What `ask` says of what a line makes; of a line that makes much, it is asked ever more
        seldom."""
        where = frame.f_code, frame.f_lasti
        count, site = self._near.get(where, (0, None))
        if count < _OFTEN or not count & (count - 1):
            site = ask()
        self._near[where] = count + 1, site
        return site
