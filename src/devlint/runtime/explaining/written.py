"""Tracebacks that are text: workers and compilers send no frames.

A line of such a text has a file, a number and the name of a function; from Python 3.11 on there are
marks below the part that fails. With the source that makes a spot like a frame's, without values.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, cast

from devlint.crashes.messages import read_words
from devlint.runtime.explaining.definitions import parsed
from devlint.runtime.explaining.stack import Owner, Spot, owner_of

_FILE = re.compile(r'\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>\S+))?')
_HEADER = re.compile(r"(?:Original )?Traceback \(most recent call last\):|from user code:")
_MARKS = re.compile(r"[ ~^]*[~^][ ~^]*")
_SENDERS = (
    re.compile(r"Caught \w+ in (.{1,60}?)\.\n"),
    re.compile(r"-- (Process \d+) terminated with the following error"),
)
_MOST = 200
"""Lines of a traceback that are looked at."""


@dataclass(frozen=True, slots=True)
class Written:
    """A traceback in a text, with the error at its end."""

    stack: tuple[Spot, ...]
    message: str
    sender: str
    """Who has sent it, as in `DataLoader worker process 0`; empty where the text doesn't say."""


@dataclass(frozen=True)
class WrittenSpot(Spot):
    """A line of a traceback that is text. There is no frame, so no name has a value."""

    written_code: CodeType
    known: Mapping[str, Any]
    """Names of the module that are known all the same: what it has imported from torch."""

    @property
    def code(self) -> CodeType:
        return self.written_code

    @property
    def file(self) -> str:
        return self.written_code.co_filename

    @property
    def names(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {}

    @property
    def globals(self) -> Mapping[str, Any]:
        return self.known

    @property
    def owner(self) -> Owner:
        return _owner(self.file)


def read_written(text: str) -> Written | None:
    """The first traceback in a text that ends with an error about devices."""
    if 'File "' not in text or _HEADER.search(text) is None:
        return None
    sender = next((found[1] for each in _SENDERS if (found := each.search(text))), "")
    lines = [line.lstrip("| ") if line.startswith("  |") else line for line in text.split("\n")]
    headers = [index for index, line in enumerate(lines) if _HEADER.search(line)]
    for start, end in zip(headers, [*headers[1:], len(lines)], strict=True):
        entries, rest = _entries(lines[start + 1 : end])
        # A compiler says first what went wrong, and then where.
        is_first = "from user code" in lines[start]
        message = "\n".join(lines[:start] if is_first else lines[rest + start + 1 : end]).strip()
        if entries and read_words(message) is not None:
            return Written(_stack(entries[-_MOST:]), message, sender)
    return None


def is_told(text: str) -> bool:
    """Whether a text has an explanation in it already: the worker's own emulation has told it."""
    return "\ndevlint: " in text or "  more       devlint rule " in text


_Entry = tuple[str, int, str, str, str]
"""A file, a line, a function, and the two lines of text below."""


def _entries(lines: list[str]) -> tuple[list[_Entry], int]:
    """The lines of a traceback, and where what follows it begins."""
    found: list[_Entry] = []
    rest = 0
    for index, line in enumerate(lines):
        match = _FILE.match(line)
        if match is not None:
            below = [*lines[index + 1 : index + 3], "", ""]
            name = match["name"] or "<module>"
            found.append((match["file"], int(match["line"]), name, below[0], below[1]))
            rest = index + 1
        elif found and line[:1] not in ("", " "):
            return found, index  # the error itself begins at the margin
    return found, rest


def _stack(entries: list[_Entry]) -> tuple[Spot, ...]:
    """The spots of a traceback. Of those that are asked about, the source is compiled."""
    owners = [_owner(file) for file, *_ in entries]
    asked = {_last(owners, "program"), _last(owners, "program", "library"), _last(owners, "python")}
    return tuple(
        _spot(*entry) if index in asked else _mere_spot(*entry[:3])
        for index, entry in enumerate(entries)
        if owners[index] != "devlint"
    )


def _last(owners: list[Owner], *wanted: Owner) -> int:
    return max((index for index, owner in enumerate(owners) if owner in wanted), default=-1)


def _owner(file: str) -> Owner:
    """Whose a file is; a text may come from a machine where torch is elsewhere."""
    return "torch" if "-packages/torch/" in file.replace("\\", "/") else owner_of(file)


def _mere_spot(file: str, line: int, name: str) -> WrittenSpot:
    return WrittenSpot(_NO_FRAME, line, -1, _empty_code(file, line, name), {})


_NO_FRAME = cast(FrameType, None)


def _spot(file: str, line: int, name: str, shown: str, marks: str) -> WrittenSpot:
    tree = parsed("".join(linecache.getlines(file)))
    if tree is None:
        return _mere_spot(file, line, name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(tree, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _mere_spot(file, line, name)
    found = [code for code in _codes(module) if code.co_name == name and _has(code, line)]
    if not found:
        return _mere_spot(file, line, name)
    instruction = _instruction(found[-1], line, _marked(file, line, shown, marks))
    return WrittenSpot(_NO_FRAME, line, instruction, found[-1], _imported(tree))


def _empty_code(file: str, line: int, name: str) -> CodeType:
    code = compile("", file, "exec", dont_inherit=True)
    return code.replace(co_name=name, co_firstlineno=line)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside, the outer ones first."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _has(code: CodeType, line: int) -> bool:
    return any(found == line for _, _, found in code.co_lines())


def _marked(file: str, line: int, shown: str, marks: str) -> tuple[int, int] | None:
    """The columns that are marked, in bytes of the file's line."""
    if not shown.strip() or _MARKS.fullmatch(marks) is None:
        return None
    start = len(marks) - len(marks.lstrip()) - (len(shown) - len(shown.lstrip()))
    end = start + len(marks.strip())
    text = linecache.getline(file, line)
    stripped = text.strip()
    if stripped != shown.strip() or start < 0 or end > len(stripped):
        return None
    before = len(text) - len(text.lstrip())
    return before + len(stripped[:start].encode()), before + len(stripped[:end].encode())


def _instruction(code: CodeType, line: int, columns: tuple[int, int] | None) -> int:
    """An instruction that stands for what is marked; -1 where there is none."""
    positions = getattr(code, "co_positions", None)  # from Python 3.11 on
    if columns is None or positions is None:
        return -1
    for index, found in enumerate(positions()):
        if found == (line, line, *columns):
            return 2 * index
    return -1


def _imported(tree: ast.Module) -> Mapping[str, Any]:
    """What the imports of a file give, as far as it is torch's; nothing is imported for it."""
    names: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                if _is_torch(whole):
                    names[alias.asname or whole] = sys.modules.get(whole)
        elif isinstance(node, ast.ImportFrom) and _is_torch(node.module or ""):
            held = vars(sys.modules.get(node.module or "", ast))
            for alias in node.names:
                names[alias.asname or alias.name] = held.get(alias.name)
    return {name: value for name, value in names.items() if value is not None}


def _is_torch(module: str) -> bool:
    return module == "torch" or module.startswith("torch.")
