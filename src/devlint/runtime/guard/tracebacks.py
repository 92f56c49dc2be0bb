"""What is shown of the way to an error: the program's frames and its libraries', none of ours."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType

from devlint.runtime.explaining.notes import NAME, held_by
from devlint.runtime.explaining.stack import Owner, owner_of
from devlint.runtime.guard.errors import DeviceMismatchError

_HERE = str(Path(__file__).parent)


def hide(error: BaseException) -> None:
    """Take the guard's frames out of an error's traceback, all but the one that has caught it."""
    entries = _entries(error.__traceback__)
    others = (entry for entry in entries[1:] if not _file(entry).startswith(_HERE))
    _link([*entries[:1], *others])
    if isinstance(error, DeviceMismatchError) and not error.torch_message:
        _cut(error.__traceback__, _is_way_to_the_check)
    elif isinstance(error, DeviceMismatchError) or hasattr(error, "devlint_operands"):
        _cut(error.__traceback__, _is_ours)  # an emulation has raised it


def tidy(error: BaseException) -> None:
    """Leave our frames out of the tracebacks of an error, and of those it came from."""
    for link in chain(error):
        hide(link)
        entries = _entries(link.__traceback__)
        kept = _without_ours(entries)
        if kept and len(kept) < len(entries):
            _link(kept)
            link.__traceback__ = kept[0]


def shorten(error: BaseException) -> None:
    """Leave our frames out, and torch's at the end of what has been explained.

    What is to be read is the line that has called torch, and the explanation below it.
    """
    tidy(error)
    for link in chain(error):
        if held_by(link).get(NAME) is not None:
            _cut(link.__traceback__, lambda entry: _owner(entry) in ("torch", "devlint"))


def chain(error: BaseException) -> list[BaseException]:
    """An error, and the others that are shown with it because it came from them."""
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and not any(link is other for other in found):
        found.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return found


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    return entries


def _link(entries: Sequence[TracebackType]) -> None:
    """Have each of some entries of a traceback followed by the next of them."""
    for entry, following in pairwise((*entries, None)):
        if entry is not None:
            entry.tb_next = following


def _cut(trace: TracebackType | None, is_noise: Callable[[TracebackType], bool]) -> None:
    """End a traceback behind the last entry that isn't noise."""
    entries = _entries(trace)
    while len(entries) > 1 and is_noise(entries[-1]):
        entries.pop()
    _link(entries)


def _file(entry: TracebackType) -> str:
    return entry.tb_frame.f_code.co_filename


def _owner(entry: TracebackType) -> Owner:
    return owner_of(_file(entry))


def _is_ours(entry: TracebackType) -> bool:
    return _owner(entry) == "devlint"


def _is_way_to_the_check(entry: TracebackType) -> bool:
    """Whether a frame runs code of devlint, or torch's that calls it before the call of a layer."""
    is_call = _owner(entry) == "torch" and entry.tb_frame.f_code.co_name == "_wrapped_call_impl"
    return is_call or _is_ours(entry)


def _without_ours(entries: list[TracebackType]) -> list[TracebackType]:
    """The entries but ours, and but torch's way to ours. An error that we have made is left."""
    kept: list[TracebackType] = []
    place = 0
    while place < len(entries):
        entry = entries[place]
        if not _is_ours(entry):
            kept.append(entry)
            place += 1
            continue
        end = place
        while end < len(entries) and _is_ours(entries[end]):
            end += 1
        if end == len(entries) and not _hands_over(entries[-1]):
            return kept + entries[place:]
        if kept and kept[-1].tb_frame.f_code.co_name == "handle_torch_function":
            kept.pop()
            again = entries[end].tb_frame.f_code if end < len(entries) else None
            if kept and kept[-1].tb_frame.f_code is again:
                kept.pop()  # the function that has asked us, and that we have called again
        place = end
    return kept


def _hands_over(entry: TracebackType) -> bool:
    """Whether a mode's frame calls what the program has called: torch has raised in it."""
    line = linecache.getline(_file(entry), entry.tb_lineno)
    return "func(*args" in line
