"""What a running test does that doesn't go along to a device, with the lines where it does."""

from __future__ import annotations

from types import FrameType


class Notes:
    """The notes of one test after the other."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], str] = {}

    def begin(self) -> None:
        """Forget the last test."""
        self._lines.clear()

    def add(self, frame: FrameType | None, what: str) -> None:
        """Note what the line does that a frame is at."""
        if frame is not None:
            self._lines[frame.f_code.co_filename, frame.f_lineno] = what

    def at(self, file: str, line: int) -> str:
        """What a line does; "" where nothing was noted."""
        return self._lines.get((file, line), "")
