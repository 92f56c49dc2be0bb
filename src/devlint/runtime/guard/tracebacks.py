"""What is shown of the way to an error: the program's frames and its libraries', none of ours."""

from __future__ import annotations

import linecache
from types import TracebackType

from devlint.runtime.explaining.notes import NAME, held_by
from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.guard.errors import cut, hide, is_ours


def tidy(error: BaseException) -> None:
    """Leave our frames out of the tracebacks of an error, and of those it came from."""
    for link in chain(error):
        hide(link)
        entries = _entries(link.__traceback__)
        kept = _without_ours(entries)
        if kept and len(kept) < len(entries):
            for entry, following in zip(kept, (*kept[1:], None), strict=True):
                entry.tb_next = following
            link.__traceback__ = kept[0]


def shorten(error: BaseException) -> None:
    """Leave our frames out, and torch's at the end of what has been explained.

    What is to be read is the line that has called torch, and the explanation below it.
    """
    tidy(error)
    for link in chain(error):
        if held_by(link).get(NAME) is not None:
            cut(link.__traceback__, _is_torchs)


def _is_torchs(entry: TracebackType) -> bool:
    return owner_of(entry.tb_frame.f_code.co_filename) in ("torch", "devlint")


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


def _without_ours(entries: list[TracebackType]) -> list[TracebackType]:
    """The entries but ours, and but torch's way to ours. An error that we have made is left."""
    kept: list[TracebackType] = []
    place = 0
    while place < len(entries):
        entry = entries[place]
        if not is_ours(entry):
            kept.append(entry)
            place += 1
            continue
        end = place
        while end < len(entries) and is_ours(entries[end]):
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
    line = linecache.getline(entry.tb_frame.f_code.co_filename, entry.tb_lineno)
    return "func(*args" in line
