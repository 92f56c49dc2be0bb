"""Tracebacks that are text: workers and compilers send no frames.

A line of such a text has a file, a number and the name of a function; from Python 3.11 on there are
marks below the part that fails. With the source that makes a spot like a frame's, without values.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, cast

from devlint.crashes.messages import read_words
from devlint.crashes.tracebacks import Frame, crashes_in
from devlint.runtime.explaining.definitions import parsed
from devlint.runtime.explaining.stack import Owner, Spot, owner_of


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
    if 'File "' not in text:
        return None
    for crash in crashes_in(text):
        if crash.frames and read_words(crash.message) is not None:
            return Written(_stack(crash.frames), crash.message, crash.sender)
    return None


def is_told(text: str) -> bool:
    """Whether a text has an explanation in it already: the worker's own emulation has told it."""
    return "\ndevlint: " in text or "  more       devlint rule " in text


def _stack(frames: Sequence[Frame]) -> tuple[Spot, ...]:
    """The spots of a traceback. Of those that are asked about, the source is compiled."""
    owners = [_owner(frame.file) for frame in frames]
    asked = {_last(owners, "program"), _last(owners, "program", "library"), _last(owners, "python")}
    return tuple(
        _spot(frame) if index in asked else _mere_spot(frame)
        for index, frame in enumerate(frames)
        if owners[index] != "devlint"
    )


def _last(owners: list[Owner], *wanted: Owner) -> int:
    return max((index for index, owner in enumerate(owners) if owner in wanted), default=-1)


def _owner(file: str) -> Owner:
    """Whose a file is; a text may come from a machine where torch is elsewhere."""
    return "torch" if "-packages/torch/" in file.replace("\\", "/") else owner_of(file)


def _mere_spot(frame: Frame) -> WrittenSpot:
    code = compile("", frame.file, "exec", dont_inherit=True)
    named = code.replace(co_name=frame.name, co_firstlineno=frame.line)
    return WrittenSpot(_NO_FRAME, frame.line, -1, named, {})


_NO_FRAME = cast(FrameType, None)


def _spot(frame: Frame) -> WrittenSpot:
    tree = parsed("".join(linecache.getlines(frame.file)))
    if tree is None:
        return _mere_spot(frame)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(tree, frame.file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _mere_spot(frame)
    line = frame.line
    found = [code for code in _codes(module) if code.co_name == frame.name and _has(code, line)]
    if not found:
        return _mere_spot(frame)
    instruction = _instruction(found[-1], line, _marked(frame))
    return WrittenSpot(_NO_FRAME, line, instruction, found[-1], _imported(tree))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside, the outer ones first."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _has(code: CodeType, line: int) -> bool:
    return any(found == line for _, _, found in code.co_lines())


def _marked(frame: Frame) -> tuple[int, int] | None:
    """The columns that are marked, in bytes of the file's line."""
    text, shown = linecache.getline(frame.file, frame.line), frame.shown
    if not frame.marks or text.strip() != frame.source:
        return None
    start = len(frame.marks) - len(frame.marks.lstrip()) - (len(shown) - len(shown.lstrip()))
    end = start + len(frame.marks.strip())
    if start < 0 or end > len(frame.source):
        return None
    before = len(text) - len(text.lstrip())
    return before + len(frame.source[:start].encode()), before + len(frame.source[:end].encode())


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
