"""The failures in what pytest prints, in its own styles; the native one is Python's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from devlint.crashes.tracebacks import Crash, Frame, are_marks

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{1,30}Z ")
"""What services put before each line of a log."""
_PLACE = re.compile(
    r"(?P<file>(?:[A-Za-z]:)?[^:\s][^:]{0,4000}):(?P<line>\d{1,9}):"
    r"(?: in (?P<name>\S{1,400})| [A-Za-z_][\w.]{0,200}(?::.*)?)?\s*"
)
"""In the short style above a line of source, and in the long one below the lines of a function."""
_MESSAGE = re.compile(r"E {3,200}(?P<text>\S.*)")
_END = re.compile(
    r"_{2,400} .{1,400} _{2,400}|={3,400}.*"
    r"|During handling of the above.*|The above exception was.*"
)
"""What follows a failure."""
_FUNCTION = re.compile(r"    (?:async )?def (?P<name>\w{1,400})")
_MOST_LINES = 1000
"""Lines of a function that are looked at."""
_MOST_FRAMES = 200


def failures_in(lines: Sequence[str]) -> Iterator[Crash]:
    """The failures of tests in the lines of a text, with their errors."""
    frames: list[Frame] = []
    message: list[str] = []
    above: list[str] = []
    start = 0
    bare = [_STAMP.sub("", line, count=1) for line in lines]
    for index, line in enumerate(bare):
        place = _PLACE.fullmatch(line)
        error = _MESSAGE.fullmatch(line)
        if place is not None and place["name"] is not None:
            frames.append(_short(place, bare[index + 1 : index + 3]))
        elif place is not None:
            frames.append(_long(place, above))
        elif error is not None:
            start = index if not message else start
            message.append(error["text"])
        else:
            above.append(line)
        is_end = place is not None and place["name"] is None and message
        if is_end or _END.fullmatch(line):
            if frames and message:
                yield _crash(frames, message, start)
            if is_end or message:
                frames, message = [], []
        if place is not None or len(above) > _MOST_LINES:
            above = []
    if frames and message:
        yield _crash(frames, message, start)


def _crash(frames: Sequence[Frame], message: Sequence[str], start: int) -> Crash:
    return Crash(tuple(frames[-_MOST_FRAMES:]), "\n".join(message), "", start + 1)


def _short(place: re.Match[str], below: Sequence[str]) -> Frame:
    """A frame of which one line of source is shown, below its place."""
    shown, marks = [*below, "", ""][:2]
    if not shown.startswith("    "):
        shown = marks = ""
    return Frame(place["file"], int(place["line"]), place["name"], shown, are_marks(marks))


def _long(place: re.Match[str], above: Sequence[str]) -> Frame:
    """A frame of which the function is shown as far as the line that failed."""
    number = int(place["line"])
    failed = next((n for n in reversed(range(len(above))) if above[n].startswith(">")), None)
    if failed is None:
        return Frame(place["file"], number, "<module>")
    near: dict[int, str] = {}
    name = "<module>"
    for distance, line in enumerate(reversed(above[:failed]), 1):
        if line.strip() and not line.startswith("    "):
            break
        near[number - distance] = line
        if function := _FUNCTION.match(line):
            name = function["name"]
            break
    marks = above[failed + 1] if failed + 1 < len(above) else ""
    shown = " " + above[failed][1:]
    return Frame(place["file"], number, name, shown, are_marks(marks), near)
