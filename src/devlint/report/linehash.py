"""The hash by which GitHub tells a code-scanning alert of one upload from those of another.

`primaryLocationLineHash` is a rolling hash over the hundred characters, blanks left out, from
the start of a line on. GitHub's upload action computes it too and complains where a file says
something else, so the same arithmetic is done here.
"""

from __future__ import annotations

from collections import Counter, deque

_WINDOW = 100
_BASE = 37
_MASK = (1 << 64) - 1
_OUT = pow(_BASE, _WINDOW, 1 << 64)  # the weight of the character that leaves the window
_END = 0xFFFF  # stands for the end of the file


def line_hashes(text: str) -> list[str]:
    """One hash a line: hexadecimal digits, a colon, and which of the lines with them it is."""
    units = _units(text)
    window: deque[int] = deque([0] * _WINDOW, _WINDOW)
    waiting: deque[int] = deque()  # the places at which lines start whose window isn't full yet
    hashes: list[str] = []
    seen: Counter[str] = Counter()
    value = 0
    starts = True
    for place, unit in enumerate((*units, *[0] * _WINDOW)):
        if waiting and waiting[0] == place - _WINDOW:
            waiting.popleft()
            digits = f"{value:x}"
            seen[digits] += 1
            hashes.append(f"{digits}:{seen[digits]}")
        if starts and place < len(units):
            waiting.append(place)
        starts = unit == 0x0A
        value = (value * _BASE + unit - _OUT * window[0]) & _MASK
        window.append(unit)
    return hashes


def _units(text: str) -> list[int]:
    """UTF-16 code units without blanks, every kind of line end as one line feed, and the end."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    data = unified.encode("utf-16-le", "surrogatepass")
    return [*memoryview(data).cast("H"), _END]
