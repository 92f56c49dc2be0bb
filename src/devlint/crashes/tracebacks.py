"""The errors in a text: of Python, of workers, of compiled code, of notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from devlint.crashes.lines import lines_of, without_prefix

_HEADER = re.compile(r"Traceback \(most recent call last\):?|from user code:")
_BEFORE = re.compile(
    r"(?:(?!Original |Exception Group |[A-Za-z_][\w.]{0,100}\s{2,200}Traceback"
    r"|Traceback|from user).){0,400}"
)
"""What stands before a header."""
_NOTEBOOK = re.compile(
    r"(?P<kind>[A-Za-z_][\w.]{0,100})\s{2,200}Traceback \(most recent call last\)"
)
_FILE = re.compile(
    r'\s{0,200}File "(?P<file>[^"\n]{1,4096})", line (?P<line>\d{1,9})(?:, in (?P<name>\S{1,400}))?'
)
_CELL = re.compile(r"(?:Cell |Input )?In ?\[(?P<cell>[\d ]{1,9})\]")
_ARROW = re.compile(r"-{1,20}> ?(?P<line>\d{1,9}) ?(?P<text>.{0,10000})")
_NEAR = re.compile(r" {1,40}(?P<line>\d{1,9}) ?(?P<text>.{0,10000})")
_MARKS = re.compile(r"[ ~^]{0,10000}[~^]")
_ERROR = re.compile(r"[A-Za-z_][\w.]{0,200}(?:: .*|:)?")
_END = re.compile(
    r"Exception raised from |frame #\d|C\+\+ CapturedTraceback|During handling of the above|"
    r"The above exception was|Set TORCH|You can suppress"
)
"""What follows a message and is none of it."""
_SENDERS = (
    re.compile(r"Caught \w{1,100} in (.{1,60}?)\."),
    re.compile(r"-- (Process \d{1,9}) terminated with the following error"),
    re.compile(r"Exception in thread (.{1,60}?):?$"),
)

_WIDEST_HEADER = 400
_MOST_HEADERS = 2000
_MOST_BELOW = 1000
"""Lines that are looked at below a header."""
_FAR = 5
"""Lines above a header in which it may be said who has raised the error."""
_MOST_FRAMES = 200
_MOST_LINES = 100
"""Of a message."""
_MOST_CRASHES = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of a traceback."""

    file: str
    line: int
    name: str
    """Of the function."""
    shown: str = ""
    """The line of source that stands below it, as it is printed."""
    marks: str = ""
    """What marks a part of it."""
    near: Mapping[int, str] = field(default_factory=dict)
    """Other lines of the file that are shown, by their numbers."""

    @property
    def source(self) -> str:
        """The line of source without its indentation."""
        return self.shown.strip()

    @property
    def marked(self) -> str:
        """The part of it that failed; all of it where nothing is marked."""
        if not self.marks:
            return self.source
        start = len(self.marks) - len(self.marks.lstrip())
        return self.shown[start : len(self.marks.rstrip())].strip() or self.source


@dataclass(frozen=True, slots=True)
class Crash:
    """An error in a text, with the way to it."""

    frames: tuple[Frame, ...]
    """The outermost first; none where only the error itself is there."""
    message: str
    sender: str = ""
    """Who has raised it: a worker, a thread; empty where the text doesn't say."""
    line: int = 1
    """Of the text, where it begins."""


def crashes_in(text: str) -> Iterator[Crash]:
    """The tracebacks in a text, with their errors, at most two hundred."""
    return islice(_crashes(lines_of(text)), _MOST_CRASHES)


def _crashes(lines: list[str]) -> Iterator[Crash]:
    headers = (index for index, line in enumerate(lines) if _HEADER.search(line[:_WIDEST_HEADER]))
    last = 0
    waiting: Crash | None = None
    for index in islice(headers, _MOST_HEADERS):
        header = lines[index][:_WIDEST_HEADER]
        notebook = _NOTEBOOK.search(header)
        body = _body(lines, index, header)
        frames, rest = _frames(body) if notebook is None else _notebook_frames(body)
        if "from user code" in header:  # a compiler says first what went wrong, and then where
            message = _message_before(lines, index)
            if waiting is not None and waiting.message in message:
                frames, waiting = [*waiting.frames, *frames], None
        else:
            message = _message(body[rest:])
        if frames and message:
            if waiting is not None:
                yield waiting
            sender = _sender(lines[max(last, index - _FAR) : index + 1])
            waiting = Crash(tuple(frames[-_MOST_FRAMES:]), message, sender, index + 1)
        last = index
    if waiting is not None:
        yield waiting


def _body(lines: Sequence[str], index: int, header: str) -> list[str]:
    """What follows a header and belongs to it, as Python has printed it."""
    window = lines[index + 1 : index + 1 + _MOST_BELOW]
    before = _BEFORE.match(header)
    prefix = _group_prefix(window) or ("" if before is None else before[0])
    found: list[str] = []
    for line in without_prefix(window, prefix):
        if _HEADER.search(line[:_WIDEST_HEADER]):
            break
        found.append(line)
    return found


def _group_prefix(lines: Sequence[str]) -> str:
    """What stands before the lines of a group of errors."""
    match = re.match(r" {1,40}\| ", lines[0]) if lines else None
    return "" if match is None else match[0]


def _sender(lines: Sequence[str]) -> str:
    for line in reversed(lines):
        for pattern in _SENDERS:
            if match := pattern.search(line):
                return match[1]
    return ""


def _frames(lines: Sequence[str]) -> tuple[list[Frame], int]:
    """The frames of a traceback, and where what follows them begins."""
    found: list[Frame] = []
    rest = 0
    for index, line in enumerate(lines):
        match = _FILE.match(line)
        if match is not None:
            shown, marks = [*lines[index + 1 : index + 3], "", ""][:2]
            if _FILE.match(shown) or not shown.startswith(" "):
                shown = marks = ""
            name = match["name"] or "<module>"
            found.append(Frame(match["file"], int(match["line"]), name, shown, are_marks(marks)))
            rest = index + 1
        elif found and line[:1] not in ("", " "):
            return found, index  # the error itself begins at the margin
    return found, rest


def are_marks(line: str) -> str:
    """A line, if it marks a part of the one above it; empty otherwise."""
    return line if _MARKS.fullmatch(line.rstrip()) else ""


def _notebook_frames(lines: Sequence[str]) -> tuple[list[Frame], int]:
    """The frames of a traceback of IPython, and where what follows them begins."""
    found: list[Frame] = []
    file, name = "<unknown>", ""
    near: dict[int, str] = {}
    for index, line in enumerate(lines):
        if match := _ARROW.match(line):
            found.append(Frame(file, int(match["line"]), name, match["text"], "", near))
        elif match := _NEAR.match(line):
            near[int(match["line"])] = match["text"]
        elif head := _notebook_head(line.rstrip()):
            (file, name), near = head, {}
        elif found and _ERROR.match(line):
            return found, index
    return found, len(lines)


def _notebook_head(line: str) -> tuple[str, str] | None:
    """The file and the function of a line that stands above lines of source."""
    if match := _CELL.match(line):
        return f"cell {match['cell'].strip()}", "<module>"
    place, separator, call = line.partition(", in " if line.startswith("File ") else " in ")
    if not separator or line[:1] in ("", " "):
        return None
    file = place.removeprefix("File ")
    before, _, number = file.rpartition(":")
    return before if number.isdigit() else file, call.partition("(")[0]


def _message(lines: Sequence[str]) -> str:
    """An error's own text."""
    found: list[str] = []
    for line in lines[:_MOST_LINES]:
        if _END.match(line.strip()) or (found and not line.strip()):
            break
        if line.strip():
            found.append(line)
    return "\n".join(found).strip()


def _message_before(lines: Sequence[str], index: int) -> str:
    """What is said of an error before the code of the user that it comes from."""
    found: list[str] = []
    for line in reversed(lines[max(0, index - _MOST_LINES) : index]):
        if _FILE.match(line) or _HEADER.search(line):
            break
        found.append(line)
    return _message([line for line in reversed(found) if line.strip()])
